"""The decorators and questions of TensorFlow's ``framework.test_util``: in which mode a test runs, and whether it runs at all.

A decorator leaves the test as it is where it turns off what Headrace does not have (XLA, sanitizers, a second form of control
flow), or what changes no result (cuDNN's search).
"""

from __future__ import annotations

import functools
import inspect
import os
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from headrace.eager.context import eager_mode
from headrace.graph import context, raw_ops
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.testing.test_case import is_built_with_cuda, is_built_with_rocm, is_gpu_available

Test = Callable[..., Any]
Decorator = Callable[[Any], Any]


# ---- graphs or eager execution


def deprecated_graph_mode_only(func: Any) -> Any:
    """Runs a test, or every test of a class, in a graph even where the program executes eagerly."""
    if inspect.isclass(func):
        return _decorate_tests(func, deprecated_graph_mode_only, and_too=("setUp",))

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if not context.executing_eagerly():
            return func(*args, **kwargs)
        with Graph().as_default():
            return func(*args, **kwargs)

    return decorated


run_deprecated_v1 = deprecated_graph_mode_only
run_all_in_deprecated_graph_mode_only = deprecated_graph_mode_only


def run_v1_only(func: Any = None, reason: str | None = None) -> Any:
    """Leaves a test, or a class of tests, as it is: this is TensorFlow 1.  May be called with a reason first."""
    return func if callable(func) else _unchanged


def run_v2_only(func: Any = None, reason: str | None = None) -> Any:
    """Skips a test, or a class of tests, that needs TensorFlow 2."""
    skip = unittest.skip(reason or "Test is only compatible with v2")
    return skip(func) if callable(func) else skip


def run_in_graph_and_eager_modes(
    func: Any = None, config: Any = None, use_gpu: bool = True, assert_no_eager_garbage: bool = False
) -> Any:
    """Runs a test twice: in a graph with a default session, then eagerly after ``tearDown`` and ``setUp``."""

    def decorate(test: Test) -> Test:
        if inspect.isclass(test):
            raise ValueError(
                "`run_in_graph_and_eager_modes` only supports test methods. Did you mean to use "
                "`run_all_in_graph_and_eager_modes`?"
            )

        @functools.wraps(test)
        def decorated(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                with self.subTest("graph_mode"), self.test_session(use_gpu=use_gpu, config=config):
                    test(self, *args, **kwargs)
            except unittest.SkipTest:
                pass  # the eager half may still run
            self.tearDown()
            with eager_mode(), self.subTest("eager_mode"):
                self.setUp()
                test(self, *args, **kwargs)

        return decorated

    return decorate(func) if func is not None else decorate


def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """Runs every test of a class in a graph and eagerly, but for those named ``testSkipEager...``."""
    return _decorate_tests(cls, run_in_graph_and_eager_modes, but=("testSkipEager", "test_skip_eager", "test_scope"))


def for_all_test_methods(decorator: Callable[..., Decorator], *args: Any, **kwargs: Any) -> Callable[[type], type]:
    """Makes a decorator of classes from a decorator of tests that takes arguments."""
    return lambda cls: _decorate_tests(cls, decorator(*args, **kwargs))


def _decorate_tests(cls: type, decorator: Decorator, but: tuple[str, ...] = (), and_too: tuple[str, ...] = ()) -> type:
    tests = [name for name in dir(cls) if name.startswith("test") and not name.startswith(("test_session", *but))]
    for name in [*tests, *(name for name in and_too if name in vars(cls))]:
        if callable(getattr(cls, name)):
            setattr(cls, name, decorator(getattr(cls, name)))
    return cls


# ---- whether a test runs


def run_gpu_only(func: Test) -> Test:
    """Skips a test where no GPU can be used."""
    return _needs(is_gpu_available, "Test requires GPU", func)


def run_cuda_only(func: Test) -> Test:
    """Skips a test where no CUDA GPU can be used."""
    return _needs(functools.partial(is_gpu_available, cuda_only=True), "Test requires CUDA GPU", func)


def _needs(available: Callable[[], bool], otherwise: str, test: Test) -> Test:
    @functools.wraps(test)
    def decorated(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not available():
            self.skipTest(otherwise)
        return test(self, *args, **kwargs)

    return decorated


def skip_if(condition: Any) -> Decorator:
    """A decorator that makes a test do nothing where ``condition``, or what it returns, is true."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            if not (condition() if callable(condition) else condition):
                return test(*args, **kwargs)

        return decorated

    return decorate


# ---- precision


def run_without_tensor_float_32(description: str) -> Decorator:
    """A decorator with a reason: sessions that the test makes multiply float32 on GPUs with all its digits."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with mock.patch.dict(os.environ, HEADRACE_PRECISION="highest"):
                return test(*args, **kwargs)

        return decorated

    return decorate


def run_all_without_tensor_float_32(description: str) -> Decorator:
    """A decorator with a reason: `run_without_tensor_float_32` for every test of a class."""
    return for_all_test_methods(run_without_tensor_float_32, description)


# ---- what there is nothing of to turn on or off


def _unchanged(test: Any) -> Any:
    return test


def _with_description(description: str) -> Decorator:
    """A decorator that takes the reason for which TensorFlow turns something off."""
    return _unchanged


disable_xla = disable_mlir_bridge = disable_tfrt = no_xla_auto_jit = xla_allow_fallback = _with_description
disable_control_flow_v2 = disable_asan = disable_msan = disable_tsan = disable_ubsan = _with_description
enable_control_flow_v2 = with_control_flow_v2 = enable_c_shapes = with_c_shapes = _unchanged
disable_cudnn_autotune = enable_tf_xla_constant_folding = _unchanged


def is_xla_enabled() -> bool:
    """False: there is no XLA."""
    return False


is_mlir_bridge_enabled = IsMklEnabled = IsBuiltWithXLA = is_xla_enabled


# ---- devices and layouts


def IsGoogleCudaEnabled() -> bool:
    """Whether the kernels were built with CUDA support."""
    return is_built_with_cuda()


def IsBuiltWithROCm() -> bool:
    """Whether the kernels were built with ROCm support."""
    return is_built_with_rocm()


def GpuSupportsHalfMatMulAndConv() -> bool:
    """Whether products and convolutions of float16 run on a GPU."""
    return is_gpu_available()


@contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """Ops made in the block are on the first GPU, if one is wanted and there, else on the CPU."""
    chosen = "/device:GPU:0" if use_gpu and is_gpu_available() else "/device:CPU:0"
    with context.get_default_graph().device(chosen):
        yield


def use_gpu() -> Any:
    """Ops made in the block are on the first GPU if there is one."""
    return device(True)


def force_gpu() -> Any:
    """Ops made in the block must be on the first GPU."""
    return context.get_default_graph().device("/device:GPU:0")


def force_cpu() -> Any:
    """Ops made in the block must be on the CPU."""
    return context.get_default_graph().device("/device:CPU:0")


def NHWCToNCHW(input_tensor: Any) -> Any:
    """A tensor, or the list of its sizes, with the channels behind the batch instead of last."""
    return _with_axes(input_tensor, {3: [0, 2, 1], 4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def NCHWToNHWC(input_tensor: Any) -> Any:
    """A tensor, or the list of its sizes, with the channels last instead of behind the batch."""
    return _with_axes(input_tensor, {3: [0, 2, 1], 4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


def _with_axes(of: Any, orders: dict[int, list[int]]) -> Any:
    if isinstance(of, Tensor):
        return raw_ops.Transpose(of, orders[of.shape.ndims or 0])
    return [of[axis] for axis in orders[len(of)]]


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Graph) -> dict[str, Operation]:
    """The nodes of the given names; ValueError if one is missing or has another op than the one beside its name."""
    nodes = {node.name: node for node in graph.get_operations() if node.name in expected_ops}
    for name, node in nodes.items():
        if node.type != expected_ops[name]:
            raise ValueError(f"Expected op for node {name} is different. {expected_ops[name]} vs {node.type}")
    if len(nodes) != len(expected_ops):
        raise ValueError(f"Not all expected ops are present. Expected {list(expected_ops)}, found {list(nodes)}")
    return nodes
