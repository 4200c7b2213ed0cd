"""Corners in which kernels on arrays once differed from those on tensors: layouts, scalars, odd numbers, bad input, races."""

from functools import partial

import numpy as np
import pytest
import torch
from resources.calls import run_threads
from running import initialized_session

import headrace as tf
from headrace.core import dtypes
from headrace.core.registry import REGISTRY
from headrace.passes.step_graph import Node
from headrace.resources.state.variable import Variable
from headrace.runtime.code.codegen import generate
from headrace.runtime.host.registered import RegisteredGraph
from headrace.runtime.host.worker import LocalWorker

OFF = tf.ConfigProto(compile="off")


def both(build, monkeypatch, feed=()):
    """What a step gives on arrays and on tensors."""
    found = []
    for off in ("", "arrays"):
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        with tf.Graph().as_default(), tf.Session(config=OFF) as session:
            fed = [tf.placeholder(np.asarray(value).dtype, np.shape(value)) for value in feed]
            result = build(*fed)
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            found.append(session.run(result, dict(zip(fed, feed, strict=True))))
    return found


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("perm", [[0, 2, 1, 3], [3, 1, 2, 0], [2, 3, 0, 1]])
def test_averages_of_what_lies_in_another_order(perm, padding, monkeypatch):
    x = np.arange(4 * 5 * 6 * 3, dtype=np.float32).reshape(4, 5, 6, 3)

    def build():
        turned = tf.transpose(tf.Variable(x) * 1.5, perm)
        return tf.nn.avg_pool(turned, [1, 2, 2, 1], [1, 1, 1, 1], padding)

    np.testing.assert_allclose(*both(build, monkeypatch), rtol=1e-5)


def test_a_running_sum_along_no_axis():
    x, axis = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.placeholder(tf.int32, [])
    total = tf.cumsum(x, axis, reverse=True) * 2.0
    with initialized_session(config=OFF) as session:
        assert session.run(total, {axis: -1}).tolist() == [[6.0, 4.0], [14.0, 8.0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected scan axis in the range"):
            session.run(total, {axis: 5})


def test_a_leak_of_nothing_keeps_infinity(monkeypatch):
    x = np.array([np.inf, 2.0, -3.0, np.nan], np.float32)
    found, wanted = both(lambda: tf.nn.leaky_relu(tf.Variable(x), 0.0) + 0.0, monkeypatch)
    np.testing.assert_array_equal(found, wanted)
    assert found[0] == np.inf


@pytest.mark.parametrize("first", [0, 7, 2**63 - 80, 2**64 - 100])
def test_distinct_numbers_without_a_sign(first, monkeypatch):
    x = np.array([first + i % 40 for i in range(90)], np.uint64)
    found, wanted = both(lambda: tf.unique(tf.Variable(x)), monkeypatch)
    assert found[0].tolist() == wanted[0].tolist() == [first + i for i in range(40)]
    assert found[1].tolist() == wanted[1].tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("build", [tf.matrix_inverse, lambda x: tf.matrix_solve(x, x), tf.cholesky])
def test_rounding_decides_whether_a_matrix_is_singular(build, dtype):
    """Whatever is said of it is not said of the kernel on arrays alone."""
    x = np.array([[-3.0, 3.0, 2.0], [-4.0, -1.0, 0.0], [-14.0, 4.0, 4.0]], dtype)
    given = tf.Variable(x @ x.T if build is tf.cholesky else x)
    with initialized_session(config=OFF) as session:
        try:
            assert session.run(build(given)).shape == (3, 3)
        except tf.errors.InvalidArgumentError as error:
            assert "not invertible" in error.message or "Cholesky decomposition was not successful" in error.message


def test_a_computed_key_finds_a_vector(monkeypatch):
    def build():
        table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
        keys = tf.Variable(np.array([1, 2], np.int64))
        with tf.control_dependencies([table.insert(tf.constant([1, 2], tf.int64), [[1.0, 2.0], [3.0, 4.0]])]):
            return table.lookup(tf.reduce_max(keys)) * 2.0

    found, wanted = both(build, monkeypatch)
    assert found.tolist() == wanted.tolist() == [6.0, 8.0]


def test_a_computed_default_of_an_example(monkeypatch):
    missing = tf.train.Example(features=tf.train.Features(feature={})).SerializeToString()

    def build():
        default = tf.reduce_max(tf.Variable(np.array([4, 9], np.int64)))
        feature = tf.FixedLenFeature([], tf.int64, default)
        return tf.parse_example(tf.constant([missing, missing]), {"n": feature})["n"]

    found, wanted = both(build, monkeypatch)
    assert found.tolist() == wanted.tolist() == [9, 9]


def test_an_array_is_never_of_an_old_buffer():
    for i in range(200):
        variable = Variable("v", dtypes.float32, torch.device("cpu"))
        variable.assign(torch.zeros(2), False)

        def read(variable=variable):
            for _ in range(3):
                variable.array  # noqa: B018 - made when it is asked for

        def write(size, variable=variable):
            variable.assign(torch.zeros(size), False)

        run_threads(read, partial(write, 3), partial(write, 4))
        assert variable.array.ctypes.data == variable.value.data_ptr(), i
        assert variable.array.shape == tuple(variable.value.shape)


def test_a_buffer_replaced_while_its_array_is_made():
    variable = Variable("v", dtypes.float32, torch.device("cpu"))

    class Replaced(torch.Tensor):
        def numpy(self):
            variable.hold(torch.ones(3))
            return super().numpy()

    variable.hold(torch.zeros(2).as_subclass(Replaced))
    assert variable.array.tolist() == [1.0, 1.0, 1.0]
    variable.clear()
    with pytest.raises(AttributeError):
        variable.array  # noqa: B018 - made when it is asked for


def test_a_variable_elsewhere_is_brought_to_the_host_first(monkeypatch):
    """Its own array would be one of memory that is not the host's."""
    worker = RegisteredGraph(LocalWorker(OFF))
    monkeypatch.setattr(worker, "torch_device", lambda name: torch.device("cuda" if "GPU" in name else "cpu"))
    variable = Variable("v", dtypes.float32, torch.device("cuda"))
    monkeypatch.setattr(worker, "state", lambda node: variable)
    ref = Node("v", REGISTRY.get("VariableV2"), [], {}, 0, [], "/device:GPU:0", "here", None)
    ref.add_outputs([(dtypes.float32._as_ref, tf.TensorShape([2]))])
    read = Node("r", REGISTRY.get("_Read"), ref.outputs, {"T": dtypes.float32}, 1, [], "/device:GPU:0", "here", None)
    read.add_outputs([(dtypes.float32, tf.TensorShape([2]))])
    negated = Node("n", REGISTRY.get("Neg"), read.outputs, {"T": dtypes.float32}, 2, [], "/device:CPU:0", "here", None)
    negated.add_outputs([(dtypes.float32, tf.TensorShape([2]))])
    kernel = negated.op_def.find_array_kernel(negated.attrs)
    program = generate([ref, read, negated], [], negated.outputs, worker, "test", arrays={negated: kernel})
    assert ".array" not in program.source and ".to(" in program.source and ".numpy()" in program.source
