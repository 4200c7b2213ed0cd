"""cond, case and switch_case."""

import collections

import numpy as np
import pytest
from running import initialize_and_run as run
from running import initialized_session

import headrace as tf

Pair = collections.namedtuple("Pair", "a b")


@pytest.fixture
def p():
    return tf.placeholder(tf.bool, [], name="p")


class TestValue:
    def test_the_branch_that_is_taken(self, p):
        x = tf.constant([1.0, 2.0])
        y = tf.cond(p, lambda: x * 2, lambda: x - 1)
        assert run(y, {p: True}).tolist() == [2, 4]
        assert run(y, {p: False}).tolist() == [0, 1]

    def test_the_old_names_of_the_functions(self, p):
        y = tf.cond(p, fn1=lambda: tf.constant(1), fn2=lambda: tf.constant(2))
        assert run(y, {p: False}) == 2

    def test_name_and_shape(self, p):
        y = tf.cond(p, lambda: tf.zeros([2, 3]), lambda: tf.ones([2, 4]))
        z = tf.cond(p, lambda: tf.zeros([2]), lambda: tf.ones([2, 4]), name="mine")
        assert (y.name, z.name) == ("cond/Merge:0", "mine/Merge:0")
        assert y.shape.as_list() == [2, None]
        assert z.shape.ndims is None

    def test_structures(self, p):
        y = tf.cond(p, lambda: {"a": tf.constant(1), "b": (2.0, Pair(3, 4))}, lambda: {"a": 5, "b": (6.0, Pair(7, 8))})
        assert run(y, {p: True}) == {"a": 1, "b": (2.0, Pair(3, 4))}
        assert run(y, {p: False}) == {"a": 5, "b": (6.0, Pair(7, 8))}

    def test_a_list_of_one_comes_back_as_the_tensor_unless_strict(self, p):
        assert isinstance(tf.cond(p, lambda: [1], lambda: [2]), tf.Tensor)
        assert isinstance(tf.cond(p, lambda: [1], lambda: [2], strict=True), list)

    def test_composites(self, p):
        y = tf.cond(
            p,
            lambda: tf.SparseTensor([[0, 1]], [1.0], [2, 2]),
            lambda: tf.SparseTensor([[0, 0], [1, 1]], [2.0, 3.0], [2, 2]),
        )
        assert run(y, {p: False}).values.tolist() == [2, 3]

    def test_a_tensor_from_outside_may_be_a_result(self, p):
        x, y = tf.constant(1), tf.placeholder(tf.int32, [])
        assert run(tf.cond(p, lambda: x, lambda: y), {p: False, y: 7}) == 7

    def test_nested(self, p):
        x = tf.placeholder(tf.float32, [])
        y = tf.cond(p, lambda: tf.cond(x > 0, lambda: x, lambda: -x), lambda: x * 10)
        assert [run(y, {p: a, x: b}) for a, b in [(True, 2), (True, -2), (False, 2)]] == [2, 2, 20]

    def test_only_the_branch_that_is_used_matters_to_the_fetches(self, p):
        unfed = tf.placeholder(tf.float32, [])
        a, b = tf.cond(p, lambda: (tf.constant(1.0), unfed * 2), lambda: (tf.constant(2.0), unfed))
        assert run(a, {p: True}) == 1.0  # b's placeholder is not needed


class TestEffects:
    def test_assignments_happen_in_the_taken_branch_only(self, p):
        v, w = tf.Variable(1.0), tf.Variable(2.0)
        y = tf.cond(p, lambda: v.assign_add(10.0), lambda: w.assign_add(10.0))
        with initialized_session() as session:
            assert session.run(y, {p: True}) == 11
            assert session.run([v, w]) == [11, 2]
            assert session.run(y, {p: False}) == 12
            assert session.run([v, w]) == [11, 12]

    def test_python_functions_run_in_the_taken_branch_only(self, p):
        seen = []

        def note(label):
            return tf.py_func(lambda: seen.append(label) or np.int64(1), [], tf.int64)

        y = tf.cond(p, lambda: note("then"), lambda: note("else"))
        run(y, {p: False})
        assert seen == ["else"]

    def test_an_operation_as_result_stands_for_done(self, p):
        v = tf.Variable(1.0)
        y = tf.cond(p, lambda: v.assign(5.0).op, lambda: tf.no_op())
        assert y.dtype == tf.bool
        with initialized_session() as session:
            session.run(y, {p: True})
            assert session.run(v) == 5

    def test_a_value_read_before_keeps_its_value(self, p):
        v = tf.Variable([1.0, 2.0])
        before = v.read_value()
        with tf.control_dependencies([before]):
            y = tf.cond(p, lambda: v.assign([7.0, 8.0]), lambda: v.read_value())
        got = run([before, y], {p: True})
        assert got[0].tolist() == [1, 2]
        assert got[1].tolist() == [7, 8]

    def test_a_value_that_left_a_branch_is_not_changed_by_a_later_write(self, p):
        v = tf.Variable([1.0, 2.0])
        y = tf.cond(p, lambda: v.read_value(), lambda: v * 2)
        with tf.control_dependencies([y]):
            after = v.assign([9.0, 9.0])
        assert run([y, after], {p: True})[0].tolist() == [1, 2]

    def test_what_a_branch_waits_for_outside_is_done_first(self, p):
        v = tf.Variable(1.0)
        outside = v.assign(5.0)

        def branch():
            with tf.control_dependencies([outside]):
                return v.read_value()

        assert run(tf.cond(p, branch, branch), {p: True}) == 5

    def test_variables_made_in_a_branch_live_outside(self, p):
        def branch():
            return tf.get_variable("w", [], initializer=tf.constant_initializer(3.0)) * 2

        y = tf.cond(p, branch, lambda: tf.constant(0.0))
        assert [v.name for v in tf.trainable_variables()] == ["w:0"]
        assert run(y, {p: True}) == 6

    def test_a_placeholder_made_in_a_branch_can_be_fed(self, p):
        made = []
        y = tf.cond(
            p, lambda: made.append(tf.placeholder(tf.float32, [], name="q")) or made[0] * 2, lambda: tf.constant(0.0)
        )
        assert made[0].graph is tf.get_default_graph()
        assert run(y, {p: True, made[0]: 4.0}) == 8

    def test_random_numbers_differ_from_run_to_run(self, session, p):
        y = tf.cond(p, lambda: tf.random_uniform([3]), lambda: tf.zeros([3]))
        assert session.run(y, {p: True}).tolist() != session.run(y, {p: True}).tolist()


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "kind", "message"),
        [
            ((True, lambda: 1, lambda: 2), TypeError, "pred must not be a Python bool"),
            ((1.5, lambda: 1, lambda: 2), TypeError, "pred must be a bool tensor, got .* of type float32"),
            (("p", 1, lambda: 2), TypeError, "true_fn must be callable"),
            (("p", lambda: 1, None), TypeError, "false_fn must be callable"),
            (("p", lambda: None, lambda: 2), ValueError, "true_fn must have a return value"),
            (("p", lambda: 1, lambda: 2.0), ValueError, "must have the same type: int32, float32"),
            (("p", lambda: (1, 2), lambda: [1, 2]), TypeError, "Incompatible return values of true_fn and false_fn"),
            (("p", lambda: (1, 2), lambda: 1), ValueError, "Incompatible return values of true_fn and false_fn"),
        ],
    )
    def test_of_building(self, p, arguments, kind, message):
        arguments = (p if arguments[0] == "p" else arguments[0], *arguments[1:])
        with pytest.raises(kind, match=message):
            tf.cond(*arguments)

    def test_two_names_for_one_function(self, p):
        with pytest.raises(TypeError, match="true_fn and fn1 may not be set simultaneously"):
            tf.cond(p, lambda: 1, lambda: 2, fn1=lambda: 3)

    def test_a_tensor_of_a_branch_used_outside(self, p):
        kept = []
        tf.cond(p, lambda: kept.append(tf.constant(1.0) * 2) or kept[0], lambda: tf.constant(0.0))
        with pytest.raises(
            ValueError, match=r"belongs to the true_fn of a conditional \(made at .*test_control_flow.py"
        ):
            tf.identity(kept[0])
        with pytest.raises(ValueError, match="the true_fn of a conditional"), tf.Session() as session:
            session.run(kept[0])

    def test_an_error_in_a_branch_names_its_node_and_line(self, p):
        n = tf.placeholder(tf.int32, [1])
        y = tf.cond(p, lambda: tf.reshape(tf.zeros([4]), n, name="bad"), lambda: tf.zeros([1]))
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"cond/bad \(Reshape\) made at .*test_control_flow.py:"
        ):
            run(y, {p: True, n: [3]})


class TestCase:
    @pytest.mark.parametrize(("x", "expected"), [(-1, "low"), (0, "zero"), (5, "high")])
    def test_first_that_holds(self, x, expected):
        v = tf.placeholder(tf.int32, [])
        y = tf.case(
            [(v < 0, lambda: tf.constant("low")), (v > 2, lambda: tf.constant("high"))], lambda: tf.constant("zero")
        )
        assert run(y, {v: x}) == expected.encode()

    def test_exclusive(self):
        v = tf.placeholder(tf.int32, [])
        y = tf.case(
            {v < 5: lambda: tf.constant(1), v > 2: lambda: tf.constant(2)}, lambda: tf.constant(3), exclusive=True
        )
        assert run(y, {v: 1}) == 1
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than 1 conditions"):
            run(y, {v: 3})

    def test_without_a_default_one_must_hold(self):
        v = tf.placeholder(tf.int32, [])
        y = tf.case([(v < 0, lambda: tf.constant(1)), (v > 2, lambda: tf.constant(2))])
        assert [run(y, {v: -1}), run(y, {v: 3})] == [1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions evaluated as True"):
            run(y, {v: 1})

    def test_one_pair_without_a_default(self):
        p, calls = tf.placeholder(tf.bool, []), []

        def function():
            calls.append(1)
            return tf.get_variable("v", [], initializer=tf.ones_initializer()) * 2.0

        y = tf.case([(p, function)])
        assert len(calls) == 1
        with initialized_session() as session:
            assert session.run(y, {p: True}) == 2
            with pytest.raises(tf.errors.InvalidArgumentError, match="None of conditions evaluated as True"):
                session.run(y, {p: False})

    def test_no_pair(self):
        assert run(tf.case([], lambda: tf.constant(3))) == 3
        with pytest.raises(ValueError, match=r"or a default; got \[\] \(at .*test_control_flow.py"):
            tf.case([])

    def test_gradient(self):
        x = tf.placeholder(tf.float32, [])
        y = tf.case([(x < 0, lambda: -x), (x > 2, lambda: x * x)], lambda: x * 0.0)
        g = tf.gradients(y, x)[0]
        assert [run(g, {x: v}) for v in (-3, 3, 1)] == [-1, 6, 0]

    @pytest.mark.parametrize(
        ("pairs", "kind", "message"),
        [
            (3, TypeError, "must be a list, tuple, or dict"),
            ([3], TypeError, "must be a 2-tuple"),
            ([(tf.float32, lambda: 1)], TypeError, "pred must be of type bool"),
            ([(True, 3)], TypeError, "must be callable"),
            ([(True, lambda: 1)], TypeError, "pred must be a Tensor, got the Python bool True"),
        ],
    )
    def test_errors(self, pairs, kind, message):
        with pytest.raises(kind, match=message):
            tf.case(pairs, lambda: 1)

    def test_a_dictionary_is_tried_by_names(self, p):
        first, second = tf.identity(p, name="z"), tf.identity(p, name="a")
        pairs = {first: lambda: tf.constant(1), second: lambda: tf.constant(2)}
        assert run(tf.case(pairs, default=lambda: tf.constant(3)), {p: True}) == 2
        assert run(tf.case(collections.OrderedDict(pairs), default=lambda: tf.constant(3)), {p: True}) == 1

    def test_cond_wants_a_scalar(self):
        with pytest.raises(ValueError, match=r"pred must be a scalar, got Const:0 of shape \(2,\)"):
            tf.cond(tf.constant([True, False]), lambda: tf.constant(1), lambda: tf.constant(2))

    def test_switch_case_wants_integers_from_zero_on(self):
        branch = lambda: tf.constant(1)  # noqa: E731
        with pytest.raises(TypeError, match="integer tensor, got float32"):
            tf.switch_case(tf.constant(1.0), [branch, branch])
        for given in ({0: branch, 3: branch}, [(0, branch), (0, branch)]):
            with pytest.raises(ValueError, match="must be 0 to 1, each once"):
                tf.switch_case(tf.constant(0), given)


@pytest.mark.parametrize(("index", "expected"), [(0, 10), (1, 20), (2, 30), (7, 30), (-1, 30)])
def test_switch_case(index, expected):
    i = tf.placeholder(tf.int32, [])
    y = tf.switch_case(i, [lambda: tf.constant(10), lambda: tf.constant(20), lambda: tf.constant(30)])
    assert run(y, {i: index}) == expected
