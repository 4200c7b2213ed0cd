"""The rules of simplify: before -> after as types of nodes, and the same values through a session."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passes.steps import lines, piped, step
from running import run

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.rules import RULES
from headrace.passes.simplify import simplify


def kinds(graph):  # type: ignore[no-untyped-def]
    """The types of the nodes that compute."""
    return [n.type for n in graph.nodes if n.type not in ("_Feed", "Const", "Placeholder", "VariableV2")]


def matrix(dtype=tf.float32, shape=(2, 3)):  # type: ignore[no-untyped-def]
    return tf.placeholder(dtype, list(shape), name="x")


def bools():  # type: ignore[no-untyped-def]
    return matrix(tf.bool)


ints = lambda: matrix(tf.int32)  # noqa: E731
EXACT = {  # name: (input, function, types that are left)
    "x * 1": (matrix, lambda x: x * 1.0, []),
    "1 * x": (matrix, lambda x: np.ones((1, 3), np.float32) * x, []),
    "x * ones of a larger shape": (matrix, lambda x: raw_ops.Mul(x, np.ones((2, 2, 3), np.float32)), ["Mul"]),
    "x - 0": (matrix, lambda x: x - 0.0, []),
    "x - -0.": (matrix, lambda x: raw_ops.Sub(x, np.float32(-0.0)), ["Sub"]),
    "x + 0 of integers": (ints, lambda x: x + 0, []),
    "x + -0.": (matrix, lambda x: raw_ops.AddV2(x, np.float32(-0.0)), []),
    "x / 1": (matrix, lambda x: x / 1.0, []),
    "x ** 1": (matrix, lambda x: x**1.0, []),
    "x & True": (bools, lambda x: tf.logical_and(x, True), []),
    "x | False": (bools, lambda x: tf.logical_or(x, False), []),
    "x & False": (bools, lambda x: tf.logical_and(x, False), ["LogicalAnd"]),
    "cast to the same": (matrix, lambda x: raw_ops.Cast(x, DstT=tf.float32), []),
    "reshape to the same": (matrix, lambda x: tf.reshape(x, [2, -1]), []),
    "reshape to its own shape": (
        lambda: matrix(shape=(None, None)),
        lambda x: raw_ops.Reshape(x, raw_ops.Shape(x)),
        [],
    ),
    "reshape with one unknown": (lambda: matrix(shape=(None, 3)), lambda x: tf.reshape(x, [-1, 3]), []),
    "reshape that may fail": (lambda: matrix(shape=(None, 3)), lambda x: tf.reshape(x, [2, 3]), ["Reshape"]),
    "sum to its own shape": (matrix, lambda x: raw_ops._SumToShape(x, [2, 3]), []),
    "sum to another shape": (matrix, lambda x: raw_ops._SumToShape(x, [1, 3]), ["_SumToShape"]),
    "sum to what may be its shape": (
        lambda: matrix(shape=(None, 3)),
        lambda x: raw_ops._SumToShape(x, [2, 3]),
        ["_SumToShape"],
    ),
    "reshape twice": (matrix, lambda x: tf.reshape(tf.reshape(x, [6]), [3, 2]), ["Reshape"]),
    "reshape back": (matrix, lambda x: tf.reshape(tf.expand_dims(x, 1), [2, 3]), []),
    "gather in order": (matrix, lambda x: tf.gather(x, [0, 1, 2], axis=1), []),
    "gather some": (matrix, lambda x: tf.gather(x, [0, 1], axis=1), ["GatherV2"]),
}
ROUNDED = {
    "x + 0.": (matrix, lambda x: x + 0.0, []),
    "sum with zeros": (matrix, lambda x: tf.add_n([x, raw_ops.ZerosLike(x), tf.abs(x)]), ["Abs", "AddN"]),
    "sum of x and zeros": (matrix, lambda x: tf.add_n([raw_ops.ZerosLike(x), x]), []),
    "sum of zeros": (matrix, lambda x: tf.add_n([raw_ops.ZerosLike(x)] * 2), ["ZerosLike", "AddN"]),
    "factors": (matrix, lambda x: 2.0 * (x * 0.3), ["Mul"]),
    "factors that overflow": (matrix, lambda x: (x * 3e38) * 10.0, ["Mul", "Mul"]),
    "x ** 2": (matrix, lambda x: x**2.0, ["Square"]),
    "x ** 3": (matrix, lambda x: x**3.0, ["_PowerOf"]),
    "x ** 7": (matrix, lambda x: x**7.0, ["_PowerOf"]),
    "x ** 0.5": (matrix, lambda x: x**0.5, ["Pow"]),
    "x ** -2": (matrix, lambda x: x**-2.0, ["Pow"]),
    "x ** 2.5": (matrix, lambda x: x**2.5, ["Pow"]),
    "x ** 1e4": (matrix, lambda x: x**1e4, ["Pow"]),
    "x ** nan": (matrix, lambda x: x ** float("nan"), ["Pow"]),
    "x ** threes of a larger shape": (matrix, lambda x: x ** np.full((2, 2, 3), 3.0, np.float32), ["Pow"]),
    "x ** 3 of integers": (ints, lambda x: x**3, ["Pow"]),
    "pads side by side": (
        matrix,
        lambda x: tf.pad(x, [[0, 2], [0, 0]]) + tf.pad(tf.exp(x), [[2, 0], [0, 0]]),
        ["Exp", "ConcatV2"],
    ),
    "three pads, along the second axis": (
        matrix,
        lambda x: tf.add_n([tf.pad(x, [[0, 0], [a, 6 - a]]) for a in (3, 0, 6)]),
        ["ConcatV2"],
    ),
    "pads that are broadcast": (
        matrix,
        lambda x: tf.pad(x, [[0, 2], [0, 0]]) + tf.pad(x[:, :1], [[2, 0], [0, 0]]),
        ["Pad", "StridedSlice", "Pad", "AddV2"],
    ),
    "pads that overlap": (
        matrix,
        lambda x: tf.pad(x, [[0, 1], [0, 0]]) + tf.pad(x, [[1, 0], [0, 0]]),
        ["Pad", "Pad", "AddV2"],
    ),
    "pads with a gap": (
        matrix,
        lambda x: tf.pad(x, [[0, 3], [0, 0]]) + tf.pad(x, [[3, 0], [0, 0]]),
        ["Pad", "Pad", "AddV2"],
    ),
    "pads along two axes": (
        matrix,
        lambda x: tf.pad(x, [[0, 2], [0, 3]]) + tf.pad(x, [[2, 0], [3, 0]]),
        ["Pad", "Pad", "AddV2"],
    ),
    "matmul of a transpose": (matrix, lambda x: tf.matmul(tf.transpose(x), x), ["MatMul"]),
}


def _example(x):  # type: ignore[no-untyped-def]
    shape = [2 if n is None else n for n in x.shape.as_list()]
    values = np.random.RandomState(0).randn(*shape) * 3
    return (values > 0) if x.dtype == tf.bool else values.astype(x.dtype.as_numpy_dtype)


class TestRules:
    @pytest.mark.parametrize("name", EXACT)
    def test_same_bits(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        make, function, left = EXACT[name]
        x = make()
        y = function(x)
        assert kinds(piped([y], [x], rewrite=False)) == left
        got = []
        for off in ("arrays", "arrays,simplify"):  # one kernel of Exp for both
            monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
            got.append(run(y, {x: _example(x)}))
        assert got[0].dtype == got[1].dtype
        np.testing.assert_array_equal(got[0], got[1], strict=True)

    @pytest.mark.parametrize("name", ROUNDED)
    def test_same_up_to_rounding(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        make, function, left = ROUNDED[name]
        x = make()
        y = function(x)
        assert kinds(piped([y], [x])) == left
        assert len(kinds(piped([y], [x], rewrite=False))) >= len(left)
        got = []
        for off in ("", "simplify"):
            monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
            got.append(run(y, {x: _example(x)}))
        np.testing.assert_allclose(got[0], got[1], rtol=1e-5)

    def test_every_rule_says_what_it_does(self) -> None:
        assert RULES
        assert all(" -> " in (r.call.__doc__ or "") for r in RULES)


class TestWhatStays:
    def test_infinities_and_nans(self) -> None:
        x = tf.placeholder(tf.float32, [3], name="x")
        values = run([x * 1.0 - 0.0, tf.negative(-x), x**2.0], {x: [np.inf, -np.inf, np.nan]})
        np.testing.assert_array_equal(values[0], [np.inf, -np.inf, np.nan])
        np.testing.assert_array_equal(values[1], [np.inf, -np.inf, np.nan])
        np.testing.assert_array_equal(values[2], [np.inf, np.inf, np.nan])

    def test_x_times_zero_may_be_nan(self) -> None:
        x = matrix()
        assert kinds(step([x * 0.0], [x], [], simplify)) == ["Mul"]

    def test_a_write_before_the_factor_that_is_dropped_happens(self, session: tf.Session) -> None:
        v = tf.Variable(1.0, use_resource=False)
        x = tf.placeholder(tf.float32, [])
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            one = tf.constant(1.0)
        y = x * one
        session.run(v.initializer)
        assert session.run(y, {x: 5.0}) == 5.0
        assert session.run(v) == 2.0

    def test_what_a_node_waits_for_still_runs_first(self, session: tf.Session) -> None:
        v = tf.Variable(1.0, use_resource=False)
        x = tf.placeholder(tf.float32, [])
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            y = x * 1.0
        session.run(v.initializer)
        assert session.run(y, {x: 3.0}) == 3.0
        assert session.run(v) == 2.0

    def test_a_value_taken_before_a_write_keeps_it(self, session: tf.Session) -> None:
        """v * 1, taken before the write, is not the variable's value after it."""
        v = tf.Variable(1.0)
        before = v * 1.0
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            after = before + tf.constant(10.0)
        session.run(v.initializer)
        assert session.run(after) == 11.0

    def test_a_fetched_variable_is_a_copy(self, session: tf.Session) -> None:
        v = tf.Variable([1.0, 2.0])
        y = v * 1.0
        session.run(v.initializer)
        first = session.run(y)
        session.run(tf.assign_add(v, [1.0, 1.0]))
        np.testing.assert_array_equal(first, [1.0, 2.0])

    def test_fed_and_fetched_tensors_keep_their_meaning(self) -> None:
        x = matrix()
        inner = x * 1.0
        outer = inner + 0.0
        got = run([outer, inner], {inner: np.full((2, 3), 4.0)})
        assert got[0][0, 0] == 4.0 and got[1][0, 0] == 4.0

    def test_targets_and_waiting_for_what_is_gone(self) -> None:
        x = matrix()
        y = tf.multiply(x, 1.0, name="y")
        with tf.control_dependencies([y]):
            done = tf.no_op(name="done")
        assert lines(step([], [x], [done, y.op], simplify))[-2:] == [
            "%done = NoOp() ^%_feed/x/0",
            "run %done, %_feed/x/0",
        ]
        assert run([done, y.op], {x: _example(x)}) == [None, None]

    def test_errors_name_the_user_s_node(self) -> None:
        x = tf.placeholder(tf.float32, [None, None], name="x")
        y = tf.matmul(tf.transpose(x), tf.placeholder(tf.float32, [None, None], name="z"), name="mine")
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="mine"):
            session.run(y, {x: [[1.0, 2.0]], "z:0": [[1.0], [2.0]]})

    def test_in_a_loop_and_a_branch(self, session: tf.Session) -> None:
        x = tf.placeholder(tf.float32, [])
        loop = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.negative(-(y * 1.0)) + 2.0), [0, x])[1]
        branch = tf.cond(x > 0, lambda: (x * 2.0) * 3.0, lambda: x / 1.0)
        assert session.run([loop, branch], {x: 1.0}) == [7.0, 6.0]
        assert session.run([loop, branch], {x: -1.0}) == [5.0, -1.0]

    def test_an_unknown_pass_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HEADRACE_PASSES_OFF", "simplify,nonsense")
        with tf.Session() as session, pytest.raises(ValueError, match="nonsense.*can be left out are.*simplify"):
            session.run(tf.constant(1.0) + 1.0)


# ---- random expressions

UNARY = [
    tf.negative, tf.abs, tf.square, tf.nn.relu, tf.sin, tf.floor, tf.identity, tf.stop_gradient,
    lambda x: tf.transpose(x, list(range(x.shape.ndims))[::-1]),
    lambda x: tf.reshape(x, [-1]), lambda x: tf.reshape(x, [2, 3]), lambda x: tf.expand_dims(x, 0),
    lambda x: tf.cast(tf.cast(x, tf.float64), tf.float32), lambda x: tf.tile(x, [1] * x.shape.ndims),
    lambda x: tf.pad(x, [[0, 0]] * x.shape.ndims), lambda x: tf.stack(tf.unstack(x)),
    lambda x: tf.concat(tf.split(x, x.shape.as_list()[-1], -1), -1),
    lambda x: tf.gather(x, list(range(x.shape.as_list()[0]))), lambda x: tf.reverse(x, [0]),
    lambda x: 1.0 / tf.sqrt(tf.square(x) + 1.0), lambda x: x**2.0,
]  # fmt: skip
BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, lambda x, y: x + -y, lambda x, y: x - -y, lambda x, y: -x * -y]
CONSTANTS = [0.0, -0.0, 1.0, 2.0, -1.5]


@st.composite
def programs(draw):  # type: ignore[no-untyped-def]
    """Instructions: (kind, which function, which earlier values, which constant)."""
    count = draw(st.integers(1, 12))
    pick = st.integers(0, 10**6)
    return [draw(st.tuples(st.sampled_from("ubc"), pick, pick, pick)) for _ in range(count)]


@settings(max_examples=60, deadline=None)
@given(programs())
def test_random_expressions_keep_their_value(program) -> None:  # type: ignore[no-untyped-def]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3])
        values = [x]
        for kind, which, first, second in program:
            a, b = values[first % len(values)], values[second % len(values)]
            if kind == "u":
                values.append(UNARY[which % len(UNARY)](a))
            elif kind == "b":
                values.append(BINARY[which % len(BINARY)](a, tf.reshape(b, a.shape)))
            else:
                values.append(BINARY[which % 3](a, CONSTANTS[second % len(CONSTANTS)]))
        feed = {x: np.random.RandomState(1).randn(2, 3).astype(np.float32)}
        fetches = [values[-1], values[len(values) // 2]]
        got = []
        with pytest.MonkeyPatch.context() as patch:
            for off in ("", "simplify,cse,fold,fold_shapes,trim"):
                patch.setenv("HEADRACE_PASSES_OFF", off)
                with tf.Session(config=tf.ConfigProto(compile="off")) as session:
                    got.append(session.run(fetches, feed))
    for left, right in zip(*got, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4 * (1 + np.nanmax(np.abs(right), initial=0)))


def test_where_of_shapes_that_turn_out_to_differ_is_refused(session: tf.Session) -> None:
    """A condition that is known does not hide it: ``tf.where`` does not broadcast."""
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    chosen = tf.where(tf.constant([True, True]), x, y)
    known = tf.where(tf.constant([True, True]), tf.identity([1.0, 2.0]), tf.identity([3.0, 4.0]))
    assert session.run(chosen, {x: [1.0, 2.0], y: [3.0, 4.0]}).tolist() == [1.0, 2.0]
    assert session.run(known).tolist() == [1.0, 2.0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(chosen, {x: [1.0, 2.0], y: [3.0]})


def test_the_unread_end_of_an_index_is_not_computed() -> None:
    x, i = matrix(), tf.placeholder(tf.int32, [], name="i")
    assert kinds(simplify(step([x[:, i]], [x, i]))) == ["Pack", "StridedSlice"]
    assert kinds(simplify(step([x[i:, i]], [x, i]))) == ["Pack", "StridedSlice"]
    assert kinds(simplify(step([x[:i, i]], [x, i]))).count("Pack") == 2
