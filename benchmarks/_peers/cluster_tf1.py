"""One task of a cluster, for `cluster.py`: the same text for Headrace and TensorFlow (compat.v1).

`python -m benchmarks._peers.cluster_tf1 headrace|tensorflow JOB INDEX PS_HOSTS WORKER_HOSTS`.  A parameter server runs until its
standard input ends.  A worker reads commands from there, one a line, and answers each with a line of JSON: `prepare NAME` builds
a case and initialises its variables where nobody has, `run NAME SECONDS` runs steps for so long.
"""

import importlib
import json
import sys
import time

import numpy as np

SCALARS = 16
ROWS, WIDTH = 32, 128  # rows of a step, numbers in a row
DRAWS = 64  # sets of rows that a worker draws from
RATE = 1e-9
MEGABYTE = 1 << 20


def main(library, job, index, ps_hosts, worker_hosts):
    """Runs the task."""
    tf = importlib.import_module("tensorflow.compat.v1" if library == "tensorflow" else library)
    if library == "tensorflow":
        tf.disable_v2_behavior()
    cluster = tf.train.ClusterSpec({"ps": ps_hosts.split(","), "worker": worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=job, task_index=int(index))
    print(json.dumps({"version": tf.__version__}), flush=True)
    if job == "ps":
        sys.stdin.read()  # ends with the benchmark, however that ends
    else:
        answer_commands(Task(tf, server, cluster, int(index)))


def answer_commands(task):
    """Does what standard input asks for."""
    for line in sys.stdin:
        command, case, *arguments = line.split()
        reply = task.prepare(case) if command == "prepare" else task.run(case, *map(float, arguments))
        print(json.dumps(reply), flush=True)


class Task:
    """A worker: the graphs of its cases, and a session for each."""

    def __init__(self, tf, server, cluster, index):
        self._tf, self._server, self._cluster, self._index = tf, server, cluster, index
        self._cases = {}

    def prepare(self, case):
        tf = self._tf
        if case not in self._cases:
            with tf.Graph().as_default() as graph:
                builder = Builder(tf, self._cluster.num_tasks("ps"), self._index)
                with tf.device(f"/job:worker/task:{self._index}"):
                    step = builder.build(case)
                initialise = tf.variables_initializer(builder.variables)
                missing = tf.report_uninitialized_variables(builder.variables)
            config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{self._index}"])
            session = tf.Session(self._server.target, graph=graph, config=config)
            if len(session.run(missing)):
                session.run(initialise)
            run = session.make_callable(step)
            run()
            self._cases[case] = run
        return {}

    def run(self, case, seconds):
        """Steps of about that many seconds: how long they took together, and the median and the slowest in a hundred."""
        run, ends = self._cases[case], [time.perf_counter()]
        while ends[-1] - ends[0] < seconds:
            run()
            ends.append(time.perf_counter())
        median, slow = np.percentile(np.diff(ends), [50, 99])
        return {"steps": len(ends) - 1, "seconds": ends[-1] - ends[0], "median": median, "p99": slow}


class Builder:
    """Null steps: a worker reads parameters, scales them, and the parameter servers subtract the result."""

    def __init__(self, tf, servers, index):
        self._tf, self._servers = tf, servers
        self._random = np.random.RandomState(index)
        self.variables = []

    def build(self, case):
        kind, _, megabytes = case.partition("_")
        if kind == "scalar":
            return self._dense("scalar", [[]] * SCALARS)
        if kind == "dense":
            return self._dense(case, [[int(megabytes) * MEGABYTE // 4 // self._servers]] * self._servers)
        return self._sparse(case, int(megabytes) * MEGABYTE // 4 // WIDTH)

    def _variable(self, name, number, shape):
        tf = self._tf
        with tf.device(f"/job:ps/task:{number % self._servers}"):
            variable = tf.get_variable(
                f"{name}_{number}_of_{self._servers}", shape, initializer=self._zeros, use_resource=False
            )
        self.variables.append(variable)
        return variable

    def _zeros(self, shape, dtype, partition_info=None):
        """Zeros whose pages are committed when they are touched, if they are many."""
        tf = self._tf
        if "tensorflow" in tf.__name__ and shape and shape[0] > MEGABYTE:
            return tf.raw_ops.Empty(shape=shape, dtype=dtype, init=False)  # its zeros would write all pages
        return tf.zeros(shape, dtype)

    def _dense(self, name, shapes):
        tf = self._tf
        variables = [self._variable(name, i, shape) for i, shape in enumerate(shapes)]
        updates = []
        for variable in variables:
            change = variable.read_value() * RATE
            with tf.colocate_with(variable):
                updates.append(variable.assign_sub(change).op)
        return tf.group(*updates)

    def _sparse(self, name, rows):
        """Rows of a table over all servers."""
        tf = self._tf
        shards = [self._variable(name, i, [rows // self._servers, WIDTH]) for i in range(self._servers)]
        draws = tf.constant(self._random.randint(0, rows, [DRAWS, ROWS]))
        ids = tf.gather(draws, tf.random_uniform([], maxval=DRAWS, dtype=tf.int32))
        values = tf.nn.embedding_lookup(shards, ids)
        updates = []
        for shard, change in zip(shards, tf.gradients(values, shards, grad_ys=values * RATE), strict=True):
            with tf.colocate_with(shard):
                updates.append(tf.scatter_sub(shard, change.indices, change.values).op)
        return tf.group(*updates)


if __name__ == "__main__":
    main(*sys.argv[1:])
