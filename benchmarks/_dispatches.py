"""How many times a second one task runs a small subgraph that it has cached, several under way: for `cluster.py`.

Both by the clock and by the processor time of this process, which other work on the machine disturbs less.  Over sockets
this process is the client only.
"""

import itertools
import subprocess
import sys
import threading
import time

import headrace as tf
from headrace.cluster.addresses import Addresses
from headrace.cluster.connection import ClusterConnection, close_client_endpoint, connect
from headrace.cluster.requests import DECODERS
from headrace.cluster.service import TaskService
from headrace.cluster.transport.in_process import InProcessEndpoint
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.session.master import Master

UNDER_WAY = 16
COUNT = 3000
PATIENCE_S = 120.0
TASK = "/job:worker/replica:0/task:0"
CONFIG = tf.ConfigProto(compile="off")
SERVER = """
import sys, headrace as tf
server = tf.train.Server({"worker": [sys.argv[1]]}, "worker", 0, config=tf.ConfigProto(compile="off"))
print("ready", flush=True)
sys.stdin.read()
"""


def in_process():
    """Dispatches a second over the in-process transport."""
    network = {}
    worker = LocalWorker(CONFIG, TASK)
    service = TaskService(worker, Addresses({TASK: "localhost:1"}))
    service.endpoint = InProcessEndpoint(service.handle, network, "localhost:1", service.lost, decoders=DECODERS)
    client = InProcessEndpoint(None, network)
    try:
        return _measure(ClusterConnection(client, {TASK: "localhost:1"}, CONFIG, TASK, None))
    finally:
        client.close()
        service.close()
        worker.close()


def over_sockets(address):
    """Dispatches a second to another process."""
    command = [sys.executable, "-c", SERVER, address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            server.stdout.readline()
            return _measure(connect(f"grpc://{address}", CONFIG))
        finally:
            close_client_endpoint()
            server.kill()


def _measure(connection):
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0)
        y = v + 1.0
    master = Master(graph, CONFIG, cluster=connection)
    try:
        master.run(master.plan([], [], [v.initializer]), [])
        (member,) = master.plan([], [y], []).partitions.members
        _dispatch(member, COUNT // 10)
        begin, used = time.perf_counter(), time.process_time()
        _dispatch(member, COUNT)
        return {"elapsed": COUNT / (time.perf_counter() - begin), "processor": COUNT / (time.process_time() - used)}
    finally:
        master.close()


_steps = itertools.count(1 << 40)


def _dispatch(member, count):
    """Runs the subgraph that many times."""
    room, errors = threading.Semaphore(UNDER_WAY), []

    for _ in range(count):
        if not room.acquire(timeout=PATIENCE_S):
            raise RuntimeError("no answer")
        step = next(_steps)

        def done(results, error, step=step):
            if error is not None:
                errors.append(error)
            member.worker.end(step)
            room.release()

        member.worker.run(member.handle, step, [], done, None)
    for _ in range(UNDER_WAY):
        room.acquire(timeout=PATIENCE_S)
    if errors:
        raise errors[0]
