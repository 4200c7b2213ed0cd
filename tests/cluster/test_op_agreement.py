"""Ops that tasks and clients must agree on: a user's own, Headrace's of another version, and what calls Python."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster.ports import free_addresses

import headrace as tf
from headrace import extend
from headrace.cluster import op_agreement
from headrace.cluster.connection import close_client_endpoint
from headrace.core.fingerprint import built_in_digest, fingerprint
from headrace.core.registry import REGISTRY
from headrace.passes.portable import Portable

DOUBLE = "Double(x: T) -> (y: T)"
PS = "/job:ps/replica:0/task:0"


def declare(signature: str = DOUBLE, **traits: Any) -> Any:
    made = extend.op(signature, **traits)
    made.shape(lambda x, *more: x)
    made.kernel(lambda x, *more: x * 2)
    return made


@pytest.fixture
def double() -> Iterator[Any]:
    yield declare()
    extend.remove_op("Double")


class TestFingerprints:
    def test_what_they_cover(self, double: Any) -> None:
        first = fingerprint(double)
        assert first.signature == DOUBLE and "test_op_agreement.py" in first.location
        digests = {first.digest}
        for signature, traits in ((DOUBLE, {"stateful": True}), ("Double(x: T; n: int = 1) -> (y: T)", {})):
            extend.remove_op("Double")
            digests.add(fingerprint(declare(signature, **traits)).digest)
        extend.remove_op("Double")
        assert fingerprint(declare()).digest == first.digest
        assert len(digests) == 3

    def test_a_users_op_does_not_change_headraces_own(self) -> None:
        before = built_in_digest.__wrapped__()
        declare()
        try:
            assert built_in_digest.__wrapped__() == before == built_in_digest()
        finally:
            extend.remove_op("Double")


class TestChecks:
    def test_another_version(self) -> None:
        op_agreement.check_version(PS, "host:1", op_agreement.own_version())
        mine = built_in_digest()[:8]
        says = rf"{PS} at host:1 runs Headrace 9.9 \(ops abcdefgh\), and this process runs .* \(ops {mine}\): all tasks"
        with pytest.raises(tf.errors.FailedPreconditionError, match=says) as raised:
            op_agreement.check_version(PS, "host:1", ["9.9", "abcdefghijkl"])
        assert "test_op_agreement.py" in str(raised.value)

    def test_another_signature(self, double: Any) -> None:
        node = {"name": "y", "op": "Double", "source": 0}
        data = Portable([{"nodes": [node]}], [("train.py", 12, "f")])
        assert list(op_agreement.user_ops(data)) == ["Double"]
        op_agreement.check_user_ops(PS, data, op_agreement.user_ops(data))
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            op_agreement.check_user_ops(PS, data, {"Double": ["?", "Double(x: T, y: T) -> (z: T)", "lib.py:3"]})
        said = str(raised.value)
        assert f"op 'Double' on {PS} is not that of the client: it is {DOUBLE} there" in said
        assert "Double(x: T, y: T) -> (z: T) at the client" in said and "the client's at lib.py:3" in said
        assert "[[node y (Double) made at train.py:12]]" in said
        with pytest.raises(tf.errors.InvalidArgumentError, match="their traits or types differ"):
            op_agreement.check_user_ops(PS, data, {"Double": ["?", DOUBLE, "lib.py:3"]})


@pytest.fixture
def start_ps(tmp_path: Path) -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """Starts a parameter server in a process of its own, after some lines of the user's."""
    processes = []

    def start(lines: str, cluster: dict[str, Any]) -> None:
        script = tmp_path / "ps.py"
        script.write_text(
            f"import headrace as tf\nfrom headrace import extend\n{textwrap.dedent(lines)}\n"
            f"tf.train.Server({cluster!r}, 'ps', 0).join()\n"
        )
        environment = {**os.environ, "HEADRACE_JOIN_SECONDS": "60"}
        processes.append(subprocess.Popen([sys.executable, str(script)], env=environment))

    yield start
    for process in processes:
        process.kill()
        process.wait()
    close_client_endpoint()


def test_a_users_op_on_a_task_that_lacks_it(double: Any, start_ps: Any) -> None:
    """The error comes before anything runs, and goes when the task imports what declares the op."""
    for lines in ("", f"extend.op('{DOUBLE}').kernel(lambda x: x * 2)"):
        address = free_addresses(1)[0]
        start_ps(lines, {"ps": [address]})
        with tf.Graph().as_default(), tf.device("/job:ps"):
            x = tf.placeholder(tf.float32, [2])
            y = extend.raw_ops.Double(x, name="twice")
            with tf.Session(f"grpc://{address}") as session:
                if lines:
                    assert session.run(y, {x: [1.0, 2.0]}).tolist() == [2.0, 4.0]
                    continue
                with pytest.raises(tf.errors.NotFoundError) as raised:
                    session.run(y, {x: [1.0, 2.0]})
                assert raised.value.op is y.op
                said = str(raised.value)
                assert f"op 'Double' is not registered on {PS}. The client declares it at {__file__}" in said
                assert f"[[node twice (Double) made at {__file__}:" in said
    assert "Double" in REGISTRY


def test_a_task_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"ps": [free_addresses(1)[0]], "worker": [free_addresses(1)[0]]}
    servers = [tf.train.Server(cluster, job, 0) for job in ("ps", "worker")]
    try:
        servers[0]._service.version = ["0.0.1", "other ops"]
        with pytest.raises(tf.errors.FailedPreconditionError, match=f"{PS} at localhost:.* runs Headrace 0.0.1"):
            tf.Session(servers[1].target)
    finally:
        for server in servers:
            server._stop()


class TestPython:
    @pytest.fixture
    def servers(self) -> Iterator[list[tf.train.Server]]:
        cluster = {"ps": [free_addresses(1)[0]], "worker": [free_addresses(1)[0]]}
        made = [tf.train.Server(cluster, job, 0, config=tf.ConfigProto(compile="off")) for job in ("ps", "worker")]
        yield made
        for server in made:
            server._stop()
        close_client_endpoint()

    def test_it_runs_on_the_clients_task(self, servers: list[tf.train.Server]) -> None:
        with tf.device("/job:ps"):
            x = tf.constant(3.0) + 1.0
        y = tf.py_func(lambda a: a * np.float32(10.0), [x], tf.float32)
        with tf.Session(servers[1].target) as session:
            assert session.run(y) == 40.0

    def test_on_another_task_it_is_refused_with_its_line(self, servers: list[tf.train.Server]) -> None:
        with tf.device("/job:ps"):
            y = tf.py_func(lambda: np.float32(1.0), [], tf.float32, name="ask")
        says = rf"node 'ask' cannot run on another task, {PS}.*stays on the client's task"
        with tf.Session(servers[1].target) as session, pytest.raises(tf.errors.InvalidArgumentError, match=says) as e:
            session.run(y)
        assert f"made at {__file__}:" in str(e.value) and e.value.op is y.op

    def test_a_client_that_is_no_task_has_no_place_for_it(
        self, servers: list[tf.train.Server], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("headrace.client.session.find", lambda target: None)
        y = tf.py_func(lambda: np.float32(1.0), [], tf.float32)
        says, task = "a client that is no task of the cluster has none", tf.Session(servers[1].target)
        with task as session, pytest.raises(tf.errors.InvalidArgumentError, match=says):
            session.run(y)
