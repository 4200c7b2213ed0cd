"""Random programs with loops, conditionals and variables, cut at random places over three processes: the results of one."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from cluster.ports import free_addresses
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runtime.session.test_partitioned_random import Program

import headrace as tf

EXAMPLES = int(os.environ.get("HEADRACE_RANDOM_GRAPHS", "6"))
SERVER = """
    import sys
    import headrace as tf
    hosts = sys.argv[2].split(",")
    spec = tf.train.ClusterSpec({"task": hosts})
    server = tf.train.Server(spec, "task", int(sys.argv[1]), config=tf.ConfigProto(compile="off"))
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def three_processes() -> Iterator[tf.train.Server]:
    """The server of this process; the two others are tasks 1 and 2."""
    hosts = free_addresses(3)
    with ExitStack() as stack:
        others = []
        for index in (1, 2):
            command = [sys.executable, "-c", textwrap.dedent(SERVER), str(index), ",".join(hosts)]
            environment = {**os.environ, "HEADRACE_COMPILE": "off", "OMP_NUM_THREADS": "1"}
            other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
            stack.enter_context(other)
            stack.callback(other.kill)
            others.append(other)
        for other in others:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
        spec = tf.train.ClusterSpec({"task": hosts})
        server = tf.train.Server(spec, "task", 0, config=tf.ConfigProto(compile="off"))
        stack.callback(server._stop)
        yield server


class Spread(Program):
    """The program of the same seed, each node on a task of its own drawing."""

    def on(self, build: Callable[..., Any], *arguments: Any) -> Any:
        with tf.device(f"/job:task/task:{self.random.randrange(self.devices)}"):
            return build(*arguments)


def run(program_class: type[Program], seed: int, devices: int, target: str, config: tf.ConfigProto) -> list[Any]:
    with tf.Graph().as_default():
        program = program_class(seed, devices)
        with tf.Session(target, config=config) as session:
            session.run(tf.global_variables_initializer())
            results = [session.run(program.fetches, {program.x: [0.3, -0.2, 0.5 + 0.1 * i]}) for i in range(2)]
            results.append(session.run(program.variables))
            if target:
                plan = session._master.plan([program.x], program.fetches, [])
                assert plan.partitions is not None
                assert len({member.name for member in plan.partitions.members}) > 1
    return results


def test_results_over_processes_are_those_of_one_process() -> None:
    """HEADRACE_RANDOM_GRAPHS says how many programs."""
    with three_processes() as server:

        @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(seed=st.integers(0, 10**6), devices=st.integers(2, 3))
        def agree(seed: int, devices: int) -> None:
            one = run(Program, seed, devices, "", tf.ConfigProto(compile="off", allow_soft_placement=True))
            many = run(Spread, seed, devices, server.target, tf.ConfigProto())
            for a, b in zip(one, many, strict=True):
                for x, y in zip(a, b, strict=True):
                    np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-12)
            tf.Session.reset(server.target)

        agree()
