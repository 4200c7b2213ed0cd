"""Prune, fold, fold_shapes and cse as text: the step graph before -> after."""

import numpy as np
import pytest
from passes.steps import lines, options, piped, step
from running import run

import headrace as tf
from headrace.graph import raw_ops
from headrace.passes.cse import cse
from headrace.passes.fold import fold
from headrace.passes.fold_shapes import fold_shapes


def placeholder(shape=None, name="x", dtype=tf.float32):  # type: ignore[no-untyped-def]
    return raw_ops.Placeholder(dtype=dtype, shape=shape, name=name)


def folded(graph):  # type: ignore[no-untyped-def]
    return fold(graph, options().evaluate)


class TestPrune:
    def test_only_what_lies_between_feeds_and_fetches(self) -> None:
        """Fig. 6 of the white paper: feeds {b}, fetches {f:0} -> d and e do not run."""
        a = raw_ops.Neg(placeholder([2], "x"), name="a")
        b = raw_ops.Neg(a, name="b")
        raw_ops.Neg(a, name="d")
        c = raw_ops.Neg(b, name="c")
        f = raw_ops.Add(c, b, name="f")
        raw_ops.Neg(f, name="e")
        assert lines(step([f], [b])) == [
            "%_feed/b/0 = _Feed() {dtype=float32, shape=(2)} : float32[2]",
            "%c = Neg(%_feed/b/0) : float32[2]",
            "%f = Add(%c, %_feed/b/0) : float32[2]",
            "fetch %f",
        ]

    def test_a_fed_fetch_is_the_feed(self) -> None:
        x = placeholder([2])
        assert lines(step([x], [x])) == [
            "%_feed/x/0 = _Feed() {dtype=float32, shape=(2)} : float32[2]",
            "fetch %_feed/x/0",
        ]

    def test_control_inputs_come_along(self) -> None:
        first = raw_ops.NoOp(name="first")
        with tf.control_dependencies([first]):
            second = raw_ops.NoOp(name="second")
        assert lines(step(targets=[second])) == ["%first = NoOp()", "%second = NoOp() ^%first", "run %second"]

    def test_one_fed_output_of_several(self) -> None:
        x = placeholder([4])
        left, right = raw_ops.Split(0, x, 2, name="split")
        total = raw_ops.Add(left, right, name="total")
        text = lines(step([total], [x, left]))
        assert "%total = Add(%_feed/split/0, %split:1) : float32[2]" in text

    def test_an_op_all_of_whose_outputs_are_fed_is_not_waited_for(self) -> None:
        x = placeholder([2])
        with tf.control_dependencies([x.op]):
            y = tf.constant(1.0, name="y")
        assert lines(step([y], [x]))[-2:] == ["%y = Const() {dtype=float32, value=1.0} : float32[]", "fetch %y"]

    def test_deep_graphs_do_not_overflow_the_stack(self) -> None:
        x = placeholder([])
        for _ in range(3000):
            x = raw_ops.Neg(x)
        assert len(step([x], []).nodes) == 3001


class TestFold:
    def test_constants_are_computed_while_planning(self) -> None:
        product = raw_ops.Mul(tf.constant(2.0), tf.constant(3.0), name="product")
        total = raw_ops.Add(product, placeholder([]), name="total")
        assert lines(step([total], [], [], folded)) == [
            "%product = Const() {dtype=float32, value=6.0} : float32[]",
            "%x = Placeholder() {dtype=float32, shape=()} : float32[]",
            "%total = Add(%product, %x) : float32[]",
            "fetch %total",
        ]

    def test_several_outputs(self) -> None:
        left, right = raw_ops.Split(0, tf.constant([1.0, 2.0]), 2, name="split")
        assert lines(step([right, left], [], [], folded)) == [
            "%split = Const() {dtype=float32, value=[1.0]} : float32[1]",
            "%split/output_1 = Const() {dtype=float32, value=[2.0]} : float32[1]",
            "fetch %split/output_1, %split",
        ]

    def test_stateful_and_random_nodes_stay(self) -> None:
        noise = raw_ops.RandomUniform([2], dtype=tf.float32, name="noise")
        assert "%noise = RandomUniform" in lines(step([noise], [], [], folded))[1]

    def test_what_must_wait_stays(self) -> None:
        before = raw_ops.NoOp(name="before")
        with tf.control_dependencies([before]):
            one = tf.constant(1.0, name="one")
            minus = raw_ops.Neg(one, name="minus")  # waits through its input
        assert lines(step([minus], [], [], folded)) == [
            "%before = NoOp()",
            "%minus = Const() {dtype=float32, value=-1.0} ^%before : float32[]",
            "fetch %minus",
        ]

    def test_waiting_for_a_folded_node(self) -> None:
        six = raw_ops.Mul(tf.constant(2.0), tf.constant(3.0), name="six")
        with tf.control_dependencies([six]):
            after = raw_ops.NoOp(name="after")
        assert lines(step([], [], [after, six.op], folded)) == [
            "%six = Const() {dtype=float32, value=6.0} : float32[]",
            "%after = NoOp() ^%six",
            "run %after, %six",
        ]
        assert run([after, six]) == [None, 6.0]

    def test_large_results_stay(self) -> None:
        big = raw_ops.Fill([2000, 2000], 1.0, name="big")
        assert "%big = Fill" in lines(step([big], [], [], folded))[2]

    def test_kernels_that_fail_while_planning_fail_when_run(self) -> None:
        x = raw_ops.Reshape(tf.constant([1.0, 2.0, 3.0]), placeholder([1], "n", tf.int32))
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Reshape"):
            session.run(x, {"n:0": [2]})

    def test_bfloat16_is_left_to_its_kernel(self) -> None:
        wide = tf.constant(1.001, dtype=tf.bfloat16)
        back = raw_ops.Cast(wide, DstT=tf.float32)
        assert run(back) == 1.0


class TestFoldShapes:
    def test_static_shapes_are_constants(self) -> None:
        x = placeholder([4, 3])
        size = raw_ops.Shape(raw_ops.Neg(x), name="size")
        assert lines(step([size], [], [], fold_shapes)) == [
            "%size = Const() {dtype=int32, value=[4, 3]} : int32[2]",
            "fetch %size",
        ]

    def test_unknown_shapes_stay(self) -> None:
        size = raw_ops.Shape(placeholder([None, 3]), name="size")
        assert lines(step([size], [], [], fold_shapes))[1].startswith("%size = Shape(%x)")

    def test_an_update_behind_a_shape_still_runs(self, session: tf.Session) -> None:
        v = raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="v")
        size = raw_ops.Shape(raw_ops.Assign(v, [1.0, 2.0]), name="size")
        assert session.run(size).tolist() == [2]
        assert session.run(v).tolist() == [1.0, 2.0]

    def test_waiting_for_a_folded_shape(self) -> None:
        size = raw_ops.Shape(placeholder([4, 3]), name="size")
        with tf.control_dependencies([size]):
            after = raw_ops.NoOp(name="after")
        assert lines(step([], [], [after], fold_shapes))[-2:] == ["%after = NoOp() ^%size", "run %after"]

    def test_shape_and_fold_together(self) -> None:
        x = placeholder([4, 3])
        flat = raw_ops.Reshape(x, raw_ops.Pack([raw_ops.Size(x), tf.constant(1)], 0), name="flat")
        assert [n.type for n in piped([flat], [x]).nodes] == ["_Feed", "Const", "Reshape"]


class TestCse:
    def test_the_same_work_is_done_once(self) -> None:
        x = placeholder([2])
        both = raw_ops.Add(raw_ops.Relu(x, name="a"), raw_ops.Relu(x, name="b"), name="both")
        assert lines(step([both], [], [], cse)) == [
            "%x = Placeholder() {dtype=float32, shape=(2)} : float32[2]",
            "%a = Relu(%x) : float32[2]",
            "%both = Add(%a, %a) : float32[2]",
            "fetch %both",
        ]

    def test_chains_and_constants(self) -> None:
        x = placeholder([2])
        a = raw_ops.Neg(raw_ops.Add(x, tf.constant([1.0])))
        b = raw_ops.Neg(raw_ops.Add(x, tf.constant([1.0])))
        assert [n.type for n in step([a, b], [], [], cse).nodes] == ["Placeholder", "Const", "Add", "Neg"]

    @pytest.mark.parametrize(
        "second",
        [
            lambda x: raw_ops.Sum(x, [0], keep_dims=True),  # other attributes
            lambda x: raw_ops.Sum(x, np.array([0], np.int64)),  # another dtype
            lambda x: raw_ops.Sum(x, [1]),  # another value
        ],
    )
    def test_different_nodes_stay(self, second) -> None:  # type: ignore[no-untyped-def]
        x = placeholder([2, 2])
        graph = step([raw_ops.Sum(x, [0]), second(x)], [], [], cse)
        assert [n.type for n in graph.nodes].count("Sum") == 2

    def test_negative_zero_is_not_zero(self) -> None:
        graph = step([tf.constant(0.0), tf.constant(-0.0)], [], [], cse)
        assert len(graph.nodes) == 2

    def test_random_nodes_are_never_merged(self) -> None:
        a = raw_ops.RandomUniform([2], dtype=tf.float32)
        b = raw_ops.RandomUniform([2], dtype=tf.float32)
        assert [n.type for n in step([a, b], [], [], cse).nodes].count("RandomUniform") == 2

    def test_control_inputs_and_devices_count(self) -> None:
        x = placeholder([2])
        a = raw_ops.Neg(x)
        with tf.control_dependencies([raw_ops.NoOp()]):
            b = raw_ops.Neg(x)
        with tf.device("/cpu:0"):
            c = raw_ops.Neg(x)
        assert [n.type for n in step([a, b, c], [], [], cse).nodes].count("Neg") == 3

    def test_waiting_for_a_merged_node(self) -> None:
        x = placeholder([2])
        a, b = raw_ops.Neg(x, name="a"), raw_ops.Neg(x, name="b")
        with tf.control_dependencies([a, b]):
            after = raw_ops.NoOp(name="after")
        assert lines(step([], [], [after], cse))[-2:] == ["%after = NoOp() ^%a", "run %after"]


def test_simplification_can_be_switched_off() -> None:
    product = raw_ops.Mul(tf.constant(2.0), tf.constant(2.0), name="product")
    assert [n.type for n in piped([product], simplify=False).nodes] == ["Const", "Const", "Mul"]
    assert [n.type for n in piped([product]).nodes] == ["Const"]
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1)))
    with tf.Session(config=config) as session:
        assert session.run(product) == 4.0
