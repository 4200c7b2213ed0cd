"""tf.config: what sessions have that are given no ConfigProto."""

from collections.abc import Callable
from typing import Any

import pytest

import headrace as tf
from headrace.runtime.planning.tier import compile_mode


def made(config: tf.ConfigProto | None = None) -> Any:
    """A session that is closed again."""
    with tf.Session(graph=tf.Graph(), config=config) as session:
        return session


def test_sessions_have_the_threads_that_were_set() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(3)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    worker = made()._master.worker
    assert (worker.threads, worker.gate is not None) == (3, True)
    assert tf.config.threading.get_intra_op_parallelism_threads() == 3
    assert tf.config.threading.get_inter_op_parallelism_threads() == 1


def test_a_session_with_a_configuration_ignores_what_was_set() -> None:
    """As in TensorFlow, where ``tf.config`` is the ConfigProto of a session that is given none."""
    tf.config.threading.set_intra_op_parallelism_threads(3)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.set_soft_device_placement(True)
    config = tf.ConfigProto(intra_op_parallelism_threads=2)
    session = made(config)
    worker = session._master.worker
    assert (worker.threads, worker.gate is not None) == (2, False)
    assert not session._config.allow_soft_placement
    assert config == tf.ConfigProto(intra_op_parallelism_threads=2)  # is left as it was


def test_a_session_that_was_there_before_stays_as_it_is() -> None:
    with tf.Session(graph=tf.Graph()) as session:
        before = session._master.worker.threads
        tf.config.threading.set_intra_op_parallelism_threads(before + 3)
        assert session._master.worker.threads == before


def test_soft_placement() -> None:
    with tf.device("/gpu:7"):
        x = tf.constant(3.0)
    assert not tf.config.get_soft_device_placement()
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="no such device"):
        sess.run(x)
    tf.config.set_soft_device_placement(True)
    assert tf.config.get_soft_device_placement()
    with tf.Session() as sess:
        assert sess.run(x) == 3.0


def test_soft_placement_of_ops_that_run_eagerly(accelerator: None) -> None:
    tf.config.set_soft_device_placement(True)
    with tf.eager_mode(), tf.device("/gpu:7"):
        assert tf.add(1, 2).numpy() == 3


def test_jit_is_how_sessions_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_COMPILE", raising=False)
    assert tf.config.optimizer.get_jit() is False
    for enabled, mode in ((True, "always"), (False, "off")):
        tf.config.optimizer.set_jit(enabled)
        assert tf.config.optimizer.get_jit() is enabled
        assert compile_mode(made()._config) == mode
    tf.config.optimizer.set_jit(True)
    assert compile_mode(made(tf.ConfigProto())._config) == "auto"


def test_rewrites() -> None:
    set_options, options = tf.config.optimizer.set_experimental_options, tf.config.optimizer.get_experimental_options
    set_options({"constant_folding": True, "min_graph_nodes": 3})
    set_options({"remapping": False, "disable_meta_optimizer": True})
    assert options() == {  # as TensorFlow says after the same calls
        "constant_folding": True,
        "remapping": False,
        "disable_model_pruning": False,
        "disable_meta_optimizer": True,
        "min_graph_nodes": 3,
    }
    rewrites = made()._config.graph_options.rewrite_options
    assert (rewrites.constant_folding, rewrites.remapping) == (rewrites.ON, rewrites.OFF)
    assert rewrites.disable_meta_optimizer and rewrites.min_graph_nodes == 3


def test_the_log_of_placement() -> None:
    assert not tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    assert made()._config.log_device_placement


def test_functions_that_run_eagerly() -> None:
    calls = []

    @tf.function
    def twice(x: Any) -> Any:
        calls.append(x)
        return 2 * x

    with tf.eager_mode():
        twice(tf.constant(1)), twice(tf.constant(2))
        assert len(calls) == 1
        tf.config.experimental_run_functions_eagerly(True)
        assert [twice(tf.constant(1)).numpy(), twice(tf.constant(2)).numpy()] == [2, 4]
        assert len(calls) == 3
    twice(
        tf.constant(1),
    )
    assert len(calls) == 4 and twice.trace_count == 1


def test_threads_cannot_be_set_once_devices_are_known() -> None:
    tf.config.experimental.list_logical_devices()
    tf.config.threading.set_intra_op_parallelism_threads(0)  # as it is
    for setter in (
        tf.config.threading.set_intra_op_parallelism_threads,
        tf.config.threading.set_inter_op_parallelism_threads,
    ):
        with pytest.raises(
            RuntimeError, match=r"cannot be modified after being initialized.*\(at .*test_session_setting"
        ):
            setter(2)
    tf.config.set_soft_device_placement(True)  # may change at any time
    tf.config.optimizer.set_jit(True)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.config.threading.set_intra_op_parallelism_threads(-1), ValueError, "0 or more, got -1"),
        (lambda: tf.config.threading.set_inter_op_parallelism_threads("2"), ValueError, "0 or more, got '2'"),
        (lambda: tf.config.optimizer.set_jit("autoclustering"), ValueError, "True or False, got 'autoclustering'"),
        (lambda: tf.config.optimizer.set_experimental_options(["a"]), TypeError, "a dictionary, got"),
        (lambda: tf.config.optimizer.set_experimental_options({"a": True}), ValueError, "no rewrite 'a'; accepted are"),
        (lambda: tf.config.optimizer.set_experimental_options({"remapping": 2}), ValueError, "True or False, got 2"),
        (lambda: tf.config.experimental_run_functions_eagerly(None), ValueError, "True or False, got None"),
        (
            lambda: tf.config.experimental_connect_to_cluster(None, "worker", 1),
            tf.errors.UnimplementedError,
            r"\(None, 'worker', 1\) is not supported.*tf.train.Server.*tf.train.ClusterSpec",
        ),
        (
            lambda: tf.config.experimental_connect_to_host("host:1"),
            tf.errors.UnimplementedError,
            r"\('host:1', 'worker'\) is not supported.*tf.train.Server",
        ),
    ],
)
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=rf"{words}.*\(at .*test_session_setting"):
        call()
