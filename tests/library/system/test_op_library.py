"""Ops loaded from a file, as TF1 programs load compiled ones."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf
from headrace import extend
from headrace.library.system import op_library

LIBRARY = """
import torch
import headrace as tf
from headrace import extend

LIMIT = 2.0
op = extend.op("{name}(x: T; limit: float = 2.0) -> (y: T)", T=[tf.float32, tf.float64], view=False)


@op.kernel
def _(x, limit):
    return torch.clamp(x, max=limit)
"""
_numbers = itertools.count()


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Writes a library that declares one op; afterwards the op is forgotten."""
    names = []

    def make(name: str, text: str = LIBRARY) -> Path:
        names.append(name)
        path = tmp_path / f"library_{next(_numbers)}.py"
        path.write_text(text.replace("{name}", name))
        return path

    yield make
    for name in names:
        extend.remove_op(name)


def test_a_loaded_op_is_a_function_of_the_module(write: Callable[..., Path]) -> None:
    module = tf.load_op_library(str(write("CapAt2D")))
    assert isinstance(module, ModuleType) and module.LIMIT == 2.0
    x = tf.placeholder(tf.float32, [None, 2])
    y = module.cap_at2d(x, limit=1.0, name="capped")
    (slope,) = tf.gradients(y, x)
    assert y.name == "capped:0" and y.op.type == "CapAt2D" and y.shape.as_list() == [None, 2]
    with tf.Session() as sess:
        value, gradient = sess.run([y, slope], {x: [[0.5, 3.0]]})
    np.testing.assert_array_equal(value, [[0.5, 1.0]])
    np.testing.assert_array_equal(gradient, [[1.0, 0.0]])
    with tf.eager_mode():
        assert module.cap_at2d(tf.constant(5.0)).numpy() == 2.0


def test_a_library_is_run_once(write: Callable[..., Path]) -> None:
    path = write("RunOnce")
    loaded: list[ModuleType] = []
    run_threads(*[lambda: loaded.append(tf.load_op_library(path))] * 4)
    assert len(loaded) == 4 and all(module is loaded[0] for module in loaded)
    assert tf.load_op_library(path.parent / "." / path.name) is loaded[0]


def test_a_library_that_fails_can_be_mended_and_loaded_again(write: Callable[..., Path]) -> None:
    path = write("Mended", LIBRARY + "\nraise RuntimeError('half way')\n")
    with pytest.raises(RuntimeError, match="half way"):
        tf.load_op_library(path)
    path.write_text(LIBRARY.replace("{name}", "Mended"))
    assert callable(tf.load_op_library(path).mended)


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"no file '.*missing.so'.*\(at .*test_op_library.py"):
        tf.load_op_library(str(tmp_path / "missing.so"))
    compiled = tmp_path / "compiled.so"
    compiled.write_bytes(b"\x7fELF")
    with pytest.raises(tf.errors.UnimplementedError, match=r"compiled for TensorFlow.*docs/add_an_op.md.*\(at .*\.py"):
        tf.load_op_library(str(compiled))
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="declares no ops"):
        tf.load_op_library(empty)


@pytest.mark.parametrize(
    ("op", "function"),  # as TensorFlow names the functions of its own ops
    [
        ("ZeroOut", "zero_out"),
        ("Conv2DBackpropInput", "conv2d_backprop_input"),
        ("BatchFFT3D", "batch_fft3d"),
        ("Relu6Grad", "relu6_grad"),
        ("AccumulateNV2", "accumulate_nv2"),
        ("LRNGrad", "lrn_grad"),
    ],
)
def test_names_of_functions(op: str, function: str) -> None:
    assert op_library.function_name(op) == function
