"""``tf.test.TestCase``: a fresh default graph, fixed seeds and sessions; and what tests ask of the machine."""

from __future__ import annotations

import atexit
import os
import random
import shutil
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from headrace.client.session import Session
from headrace.core.config import ConfigProto, OptimizerOptions
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.graph.structures import SparseTensor, SparseTensorValue
from headrace.library import nest
from headrace.library.testing.assertion import Assertions
from headrace.runtime.host.device import built_with, cuda_capability, local_devices

DEFAULT_GRAPH_SEED = 87654321

_temporary: list[str] = []


# ---- the machine


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Whether a GPU can be used, with at least the given CUDA compute capability if one is given.

    Args:
      cuda_only: Whether only GPUs with CUDA count.
      min_cuda_compute_capability: The least capability, a pair such as (7, 0); None for any.

    Returns:
      True or False.

    Example: ``device = "/gpu:0" if tf.test.is_gpu_available() else "/cpu:0"``
    """
    torch_types = {
        d.torch_device.type for d in local_devices() if d.device_type != "CPU" and d.torch_device.type != "cpu"
    }
    if cuda_only or min_cuda_compute_capability is not None:
        capability = cuda_capability()
        return "cuda" in torch_types and (
            not min_cuda_compute_capability or capability >= tuple(min_cuda_compute_capability)
        )
    return bool(torch_types)


def gpu_device_name() -> str:
    """The name of the first GPU, such as '/device:GPU:0'; the empty string when there is none.

    Returns:
      A string.

    Example: ``with tf.device(tf.test.gpu_device_name()): ...``
    """
    for device in local_devices():
        if device.device_type == "GPU":
            return "/device:" + device.name.rpartition("/device:")[2]
    return ""


def is_built_with_cuda() -> bool:
    """Whether the kernels were built with CUDA support; a GPU need not be present.

    Returns:
      True or False.

    >>> tf.test.is_built_with_cuda() in (True, False)
    True
    """
    return built_with("cuda")


def is_built_with_rocm() -> bool:
    """Whether the kernels were built with ROCm support; a GPU need not be present.

    Returns:
      True or False.

    >>> tf.test.is_built_with_rocm() in (True, False)
    True
    """
    return built_with("hip")


def is_built_with_gpu_support() -> bool:
    """Whether the kernels were built for some GPU.

    Returns:
      True or False.

    >>> tf.test.is_built_with_gpu_support() in (True, False)
    True
    """
    return is_built_with_cuda() or is_built_with_rocm()


def get_temp_dir() -> str:
    """A directory for the files of this process's tests; removed when the process ends.

    Returns:
      A path, the same one in every call.

    Example: ``os.path.join(tf.test.get_temp_dir(), "model")``
    """
    if not _temporary:
        directory = tempfile.mkdtemp(prefix="headrace_test_")
        _temporary.append(directory)
        atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return _temporary[0]


def test_src_dir_path(relative_path: str) -> str:
    """The path of a file of the source tree where Bazel runs a test: below ``TEST_SRCDIR/TEST_WORKSPACE/tensorflow``.

    Args:
      relative_path: The path below that folder.

    Returns:
      The whole path; KeyError outside Bazel.

    Example: ``tf.test.test_src_dir_path("core/testdata/image.png")``
    """
    missing = [name for name in ("TEST_SRCDIR", "TEST_WORKSPACE") if name not in os.environ]
    if missing:
        raise KeyError(f"{missing[0]}: test_src_dir_path needs the environment of a Bazel test")
    return os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tensorflow", relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]  # not itself a test


def main(argv: list[str] | None = None) -> None:
    """Runs the tests of the calling program.

    Args:
      argv: The arguments of the command line; None for those of the program.

    Example: ``if __name__ == "__main__": tf.test.main()``
    """
    unittest.main(argv=argv)


def test_config() -> ConfigProto:
    """TF1's configuration of test sessions: nothing is folded or merged, so that every kernel runs."""
    config = ConfigProto()
    config.graph_options.optimizer_options.opt_level = OptimizerOptions.L0
    return config


test_config.__test__ = False  # type: ignore[attr-defined]  # not itself a test


# ---- the case


class TestCase(Assertions, unittest.TestCase):
    """Each test starts with an empty default graph; its seed, Python's and numpy's are fixed.

    Args:
      methodName: The method that is the test; `unittest` passes it.

    >>> class AddTest(tf.test.TestCase):
    ...     def test_add(self):
    ...         with self.session() as sess:
    ...             self.assertEqual(sess.run(tf.add(1, 2)), 3)
    """

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._directory: str | None = None
        self._cached: Session | None = None
        self._cached_arguments: dict[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        self._close_cached_session()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        in_eager_block = context.executing_eagerly() and context.inside_graph()  # which has no graph to clear
        if not in_eager_block:
            context.reset_default_graph()
        context.get_default_graph().seed = DEFAULT_GRAPH_SEED

    def tearDown(self) -> None:
        for thread in self._threads:
            thread.check_termination()
        self._close_cached_session()
        super().tearDown()

    def _close_cached_session(self) -> None:
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    def get_temp_dir(self) -> str:
        """A directory of this test's own, the same at every call."""
        if self._directory is None:
            self._directory = tempfile.mkdtemp(dir=get_temp_dir())
        return self._directory

    @contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[CapturedWrites]:
        """What is written to a stream with a file descriptor (``sys.stdout``) inside a block, by whoever writes to it."""
        stream.flush()
        number, path = tempfile.mkstemp(dir=self.get_temp_dir())
        original = os.dup(stream.fileno())
        os.dup2(number, stream.fileno())
        try:
            yield CapturedWrites(path)
        finally:
            stream.flush()
            os.dup2(original, stream.fileno())
            os.close(original)
            os.close(number)

    # ---- sessions

    @contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """A new session, the default one inside the block.  Without ``use_gpu``, ops made inside go to the CPU."""
        if context.executing_eagerly():
            yield EagerSession(self)  # type: ignore[misc]
            return
        with self._session(graph, config, force_gpu) as session, _placed(session, use_gpu, force_gpu):
            yield session

    @contextmanager
    def cached_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """The test's one session: the first call makes it, later calls enter it again and must pass the same arguments."""
        if context.executing_eagerly():
            yield EagerSession(self)  # type: ignore[misc]
            return
        session = self._cached_session(graph=graph, config=config, force_gpu=force_gpu)
        for name, value in (("graph", graph), ("config", config), ("force_gpu", force_gpu)):
            if self._cached_arguments[name] is not value:
                raise ValueError(
                    f"The {name} used to get the cached session is different than the one that was used to create the session "
                    f"({value!r}, not {self._cached_arguments[name]!r}). Maybe create a new session with self.session()"
                )
        with session.graph.as_default(), session.as_default(), _placed(session, use_gpu, force_gpu):
            yield session

    def test_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Any:
        """TF1's older spelling: the test's one session whatever the other arguments, or a new one for a given graph."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")  # unittest goes by its name
        if graph is not None:
            return self.session(graph, config, use_gpu, force_gpu)
        return self._enter_cached_session(config, use_gpu, force_gpu)

    test_session.__test__ = False  # type: ignore[attr-defined]  # pytest: not a test, whatever its name

    @contextmanager
    def _enter_cached_session(self, config: ConfigProto | None, use_gpu: bool, force_gpu: bool) -> Iterator[Session]:
        if context.executing_eagerly():
            yield EagerSession(self)  # type: ignore[misc]
            return
        session = self._cached_session(graph=None, config=config, force_gpu=force_gpu)
        with session.graph.as_default(), session.as_default(), _placed(session, use_gpu, force_gpu):
            yield session

    def _cached_session(self, **arguments: Any) -> Session:
        if self._cached is None:
            self._cached = self._session(**arguments)
            self._cached_arguments = arguments
        return self._cached

    def _session(self, graph: Graph | None, config: ConfigProto | None, force_gpu: bool) -> Session:
        session_config = test_config()
        if config is not None:
            session_config.CopyFrom(config)
        else:
            session_config.allow_soft_placement = not force_gpu
        return Session(graph=graph, config=session_config)

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the default session, or in the test's own; of eager ones, the values they have."""
        if context.executing_eagerly():
            return nest.map_structure(_value, tensors)
        session = context.get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as own:
            return own.run(tensors)

    # ---- threads

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> CheckedThread:
        """A thread that must be joined before the test ends; an exception in it fails the test at ``join``."""
        thread = CheckedThread(self, target, tuple(args or ()), dict(kwargs or {}))
        self._threads.append(thread)
        return thread


TensorFlowTestCase = TestCase  # its name in tensorflow.python.framework.test_util


def _placed(session: Session, use_gpu: bool, force_gpu: bool) -> Any:
    if force_gpu:
        return session.graph.device(gpu_device_name() or "/device:GPU:0")
    return nullcontext() if use_gpu else session.graph.device("/device:CPU:0")


def _value(tensor: Any) -> Any:
    tensor = tensor() if callable(tensor) else tensor
    if isinstance(tensor, SparseTensor):
        parts: Any = (tensor.indices, tensor.values, tensor.dense_shape)
        return SparseTensorValue(*[part.numpy() for part in parts])
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor


class EagerSession:
    """What stands for the session of a test that runs eagerly: it tells the values of what has been computed."""

    def __init__(self, case: TestCase) -> None:
        self._case = case

    def run(self, fetches: Any, *args: Any, **kwargs: Any) -> Any:
        """The values of eager tensors."""
        if args or kwargs.get("feed_dict"):
            raise RuntimeError("a test that runs eagerly has no session to feed: pass values to the ops")
        return self._case.evaluate(fetches)


class CapturedWrites:
    """What was written to a stream."""

    def __init__(self, path: str) -> None:
        self._path = path

    def contents(self) -> str:
        """All that was written, as text."""
        with open(self._path, encoding="utf-8") as file:
            return file.read()


class CheckedThread:
    """A thread whose exception surfaces in the test that made it."""

    def __init__(
        self, case: TestCase, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._case = case
        self._error: Exception | None = None
        self._joined = False
        self._thread = threading.Thread(target=self._run, args=(target, args, kwargs))

    def _run(self, target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            target(*args, **kwargs)
        except Exception as e:  # handed over to the test's own thread
            self._error = e

    def start(self) -> None:
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> None:
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error}")

    def check_termination(self) -> None:
        """Fails the test if the thread was never joined."""
        if not self._joined:
            self._case.fail("A checked thread was not joined.")
        if self.is_alive():
            raise RuntimeError("Thread was not joined with main thread, and is still running when the test finished.")
