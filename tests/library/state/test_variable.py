"""tf.Variable: making one, reading it, changing it, and what it refuses."""

import copy
import inspect

import numpy as np
import pytest

import headrace as tf
from headrace.core import errors
from headrace.graph.operation import Tensor
from headrace.library.state.variable import OPERATORS, Variable


def run(fetches, *inits):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for init in inits:
            sess.run(init)
        return sess.run(fetches)


def test_properties() -> None:
    v = tf.Variable([[1.0, 2.0]], name="v")
    assert repr(v) == "<tf.Variable 'v:0' shape=(1, 2) dtype=float32_ref>"
    assert (v.name, v.op.name, v.initializer.name) == ("v:0", "v", "v/Assign")
    assert v.dtype.base_dtype == tf.float32 and v.dtype != tf.float32
    assert v.shape.as_list() == v.get_shape().as_list() == [1, 2]
    assert v.graph is tf.get_default_graph() and v.device == ""
    assert v.trainable and v.constraint is None
    assert v.initial_value.name == "v/initial_value:0"
    assert v.synchronization is tf.VariableSynchronization.AUTO
    assert v.aggregation is tf.VariableAggregation.NONE
    assert v.value() is v._AsTensor() and v.value().name == "v/read:0"
    assert v.value().dtype == tf.float32


def test_the_signature_is_that_of_the_constructor() -> None:
    class Scaled(tf.Variable):
        def __init__(self, scale: float, unit: float = 1.0) -> None:
            super().__init__(scale * unit)

    assert list(inspect.signature(tf.Variable).parameters)[:3] == ["initial_value", "trainable", "collections"]
    assert list(inspect.signature(Scaled).parameters) == ["scale", "unit"]
    assert list(inspect.signature(tf.VariableAggregation).parameters) == ["value"]


def test_a_variable_is_itself() -> None:
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    assert v == v and v != w and len({v, w, v}) == 2
    assert copy.copy(v) is v and copy.deepcopy([v])[0] is v
    with pytest.raises(TypeError, match="not iterable"):
        iter(v)


def test_every_operator_of_tensors_works_on_variables() -> None:
    missing = {o for o in Tensor.OVERLOADABLE_OPERATORS if o not in OPERATORS} - {"__eq__", "__ne__"}
    assert not missing
    v = tf.Variable([4.0, 9.0])
    i = tf.Variable([5, 6])
    b = tf.Variable([True, False])
    m = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    got = run(
        [v + 1.0, 1.0 - v, v * v, 2.0 / v, v // 2.0, v**2.0, -v, abs(-v), v > 5.0, v <= 4.0, v[1], i % 4, ~b, b & True,
         b | True, b ^ True, m @ m, 2.0**v]
    )  # fmt: skip
    x, n, f, mat = (
        np.array([4.0, 9.0], np.float32),
        np.array([5, 6]),
        np.array([True, False]),
        np.array([[1.0, 2], [3, 4]]),
    )
    want = [
        x + 1, 1 - x, x * x, 2 / x, x // 2, x**2, -x, abs(x), x > 5, x <= 4, x[1], n % 4, ~f, f & True, f | True,
        f ^ True, mat @ mat, 2**x,
    ]  # fmt: skip
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w)


def test_numpy_arrays_on_the_left_give_tensors() -> None:
    v = tf.Variable(np.ones(2))
    np.testing.assert_allclose(run(np.array([1.0, 2.0]) + v), [2.0, 3.0])


def test_assignments(session: tf.Session) -> None:
    v = tf.Variable([1.0, 2.0])
    steps = [
        v.assign([5.0, 6.0]), v.assign_add([1.0, 1.0]), v.assign_sub([0.5, 0.5]), tf.assign(v, [0.0, 1.0]),
        tf.assign_add(v, [2.0, 2.0]), tf.assign_sub(v, v),
    ]  # fmt: skip
    want = [[5, 6], [6, 7], [5.5, 6.5], [0, 1], [2, 3], [0, 0]]
    session.run(v.initializer)
    for step, value in zip(steps, want, strict=True):
        np.testing.assert_allclose(session.run(step), value)
        np.testing.assert_allclose(session.run(v), value)
    assert isinstance(v.assign([1.0, 1.0], read_value=False), tf.Operation)
    assert v.assign([1.0, 1.0]).dtype._is_ref_dtype


def test_assign_refuses_other_shapes_and_dtypes(session: tf.Session) -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="must be equal"):
        v.assign([1.0])
    with pytest.raises(TypeError, match="float32"):
        tf.assign(v, tf.constant([1, 2]))
    with pytest.raises(TypeError, match="mutable tensor"):
        tf.assign(tf.constant(1.0), 2.0)
    fed = tf.placeholder(tf.float32)
    session.run(v.initializer)
    with pytest.raises(errors.InvalidArgumentError, match="shape"):
        session.run(v.assign(fed), {fed: [1.0, 2.0, 3.0]})
    with pytest.raises(errors.InvalidArgumentError, match="must be the same size"):
        session.run(v.assign_add(fed), {fed: 1.0})


def test_shape_may_change_without_validation() -> None:
    v = tf.Variable([1.0], validate_shape=False)
    assert v.shape.ndims is None
    grow = tf.assign(v, [1.0, 2.0], validate_shape=False)
    assert run(v, grow).tolist() == [1.0, 2.0]
    v.set_shape([2])
    assert v.value().shape.as_list() == [2]


def test_constructor_errors() -> None:
    with pytest.raises(ValueError, match="initial_value must be specified"):
        tf.Variable()
    with pytest.raises(ValueError, match="must have a shape specified"):
        tf.Variable(tf.placeholder(tf.float32))
    with pytest.raises(ValueError, match="must be a list, tuple, or set"):
        tf.Variable(1.0, collections="variables")
    with pytest.raises(ValueError, match="constraint.*callable"):
        tf.Variable(1.0, constraint=3)
    with pytest.raises(ValueError, match="ON_READ"):
        tf.Variable(1.0, trainable=True, synchronization=tf.VariableSynchronization.ON_READ)
    with pytest.raises(ValueError, match="synchronization mode"):
        tf.Variable(1.0, synchronization=7)
    with pytest.raises(ValueError, match="aggregation mode"):
        tf.Variable(1.0, aggregation="sum")
    with pytest.raises(ValueError, match="Incompatible type conversion"):
        tf.convert_to_tensor(tf.Variable(1.0), tf.int32)


def test_options() -> None:
    clip = tf.identity
    v = tf.Variable(3, dtype=tf.float64, trainable=False, constraint=clip, use_resource=True)
    assert v.dtype.base_dtype == tf.float64 and not v.trainable and v.constraint is clip
    assert not tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ).trainable
    assert tf.trainable_variables() == []


def test_uninitialised_reads_say_so() -> None:
    v = tf.Variable([1.0], name="lonely")
    with tf.Session() as sess, pytest.raises(errors.FailedPreconditionError, match="uninitialized value lonely"):
        sess.run(v + 1.0)


def test_initial_values_may_use_other_variables_in_any_order(session: tf.Session) -> None:
    a = tf.Variable([1.0, 2.0], name="a")
    b = tf.Variable(a * 2.0, name="b")
    c = tf.Variable(lambda: b.initialized_value() + a, name="c")
    d = tf.Variable(b.value(), name="d")
    session.run(tf.variables_initializer([d, c, b, a]))
    assert [x.tolist() for x in session.run([a, b, c, d])] == [[1, 2], [2, 4], [3, 6], [2, 4]]
    session.run(a.assign([10.0, 10.0]))
    session.run(b.initializer)  # a has a value now, so that is what counts
    assert session.run(b).tolist() == [20.0, 20.0]
    assert session.run(a.initialized_value()).tolist() == [10.0, 10.0]


def test_a_random_start_is_drawn_once() -> None:
    a = tf.Variable(tf.random_uniform([4]))
    b = tf.Variable(a.initialized_value())
    x, y = run([a, b])
    assert x.tolist() == y.tolist()


def test_load_and_eval() -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="session"):
        v.load([1.0, 1.0])
    nodes = len(tf.get_default_graph().get_operations())
    with tf.Session():
        v.load([3.0, 4.0])
        assert v.eval().tolist() == [3.0, 4.0]
    assert len(tf.get_default_graph().get_operations()) == nodes


def test_reads_are_snapshots() -> None:
    v = tf.Variable(1.0)
    before = v.value() * 1.0
    with tf.control_dependencies([before]):
        bump = v.assign_add(1.0)
    with tf.control_dependencies([bump]):
        after = v.read_value()
    assert run([before, after]) == [1.0, 2.0]


def test_slices_can_be_assigned(session: tf.Session) -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    session.run(v.initializer)
    assert session.run(v[0:1].assign([[9.0, 8.0]])).tolist() == [[9, 8], [3, 4]]
    assert session.run(v[::-1, 1].assign([5.0, 6.0])).tolist() == [[9, 6], [3, 5]]
    assert session.run(v[0].assign(7.0)).tolist() == [[7, 7], [3, 5]]
    assert session.run(v[..., 0, tf.newaxis].assign([[1.0], [2.0]])).tolist() == [[1, 7], [2, 5]]
    assert session.run(v[0:1]).tolist() == [[1, 7]]
    assert not hasattr((v + 1.0)[0], "assign")


def test_definition_finds_the_variable_again() -> None:
    with tf.variable_scope("s"):
        v = tf.get_variable("v", initializer=[1.0, 2.0], trainable=False)
    again = Variable.from_proto(v.to_proto())
    assert again is not v and again.op is v.op and again.initializer is v.initializer and not again.trainable
    assert v.to_proto("elsewhere") is None
    inner = v.to_proto("s")
    assert inner.variable_name == "v:0" and inner.initializer_name == "v/Assign"
    assert Variable.from_proto(inner, import_scope="s").value() is v.value()


def test_creators_wrap_each_other() -> None:
    seen = []

    def note(label):
        def creator(next_creator, **kwargs):
            seen.append((label, kwargs["name"]))
            return next_creator(**kwargs)

        return creator

    with tf.variable_creator_scope(note("outer")), tf.variable_creator_scope(note("inner")):
        tf.Variable(1.0, name="v")
    tf.Variable(1.0, name="free")
    assert seen == [("inner", "v"), ("outer", "v")]


def test_variables_live_in_their_container() -> None:
    with tf.container("shelf"):
        v = tf.Variable(1.0)
    assert v.op.get_attr("container") == b"shelf" and tf.Variable(1.0).op.get_attr("container") == b""


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool", "complex64"]
)
def test_dtypes(dtype: str) -> None:
    value = np.array([0, 1, 1]).astype(dtype)
    got = run(tf.Variable(value).assign(value[::-1].copy()))
    assert got.dtype == value.dtype and got.tolist() == value[::-1].tolist()


def test_strings() -> None:
    v = tf.Variable(["a", "b"])
    assert run(v, tf.scatter_update(v, [1], ["c"])).tolist() == [b"a", b"c"]
