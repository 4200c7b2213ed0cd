"""while_loop: values, structures, invariants, effects, limits, errors."""

import collections
import signal

import numpy as np
import pytest
from running import MODES, initialized_session
from running import initialize_and_run as run

import headrace as tf

Pair = collections.namedtuple("Pair", "a b")


class TestValue:
    def test_loop(self):
        n = tf.placeholder(tf.int32, [])
        i, total = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))
        assert run([i, total], {n: 10}) == [10, 45]
        assert run([i, total], {n: 0}) == [0, 0]
        assert (i.name, total.name) == ("while/Exit:0", "while/Exit_1:0")

    def test_one_variable_comes_back_without_its_list(self):
        assert run(tf.while_loop(lambda i: i < 5, lambda i: i + 1, [0])) == 5
        assert run(tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [0])) == 5
        kept = tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [0], return_same_structure=True)
        assert isinstance(kept, list)

    def test_structures(self):
        def body(i, pair, table):
            return i + 1, Pair(pair.b, pair.a), {"k": table["k"] * 2}

        found = tf.while_loop(lambda i, *_: i < 3, body, (0, Pair(1, 2), {"k": tf.constant([1.0, 2.0])}))
        i, pair, table = run(found)
        assert (i, pair) == (3, Pair(2, 1))
        assert table["k"].tolist() == [8, 16]

    def test_the_body_decides_between_lists_and_tuples(self):
        assert isinstance(tf.while_loop(lambda i, j: i < 1, lambda i, j: [i + 1, j], (0, 1)), list)

    def test_sparse_loop_variable(self):
        start = tf.SparseTensor([[0]], [1.0], [3])

        def body(i, s):
            return i + 1, tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)

        _, found = tf.while_loop(lambda i, s: i < 3, body, (0, start))
        assert run(found).values.tolist() == [8]

    def test_captured_tensors_and_variables(self):
        x = tf.placeholder(tf.float32, [2])
        v = tf.Variable([1.0, 2.0])
        _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x + v), (0, x))
        expected = np.array([2.0, 3.0])
        for _ in range(3):
            expected = expected * [2, 3] + [1, 2]
        assert run(y, {x: [2, 3]}).tolist() == expected.tolist()

    def test_nested(self):
        def outer(i, s):
            _, t = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), (0, s))
            return i + 1, t

        _, found = tf.while_loop(lambda i, s: i < 5, outer, (0, 0))
        assert run(found) == sum(i * j for i in range(5) for j in range(i))

    def test_cond_in_a_loop_and_a_loop_in_a_cond(self):
        n = tf.placeholder(tf.int32, [])
        steps = tf.while_loop(
            lambda k, x: x > 1,
            lambda k, x: (k + 1, tf.cond(tf.equal(x % 2, 0), lambda: x // 2, lambda: 3 * x + 1)),
            (0, n),
        )[0]
        y = tf.cond(n > 5, lambda: tf.while_loop(lambda i: i < n, lambda i: i * 2, [1]), lambda: -n)
        assert run([steps, y], {n: 27}) == [111, 32]
        assert run(y, {n: 3}) == -3

    def test_only_what_is_fetched_is_computed(self):
        missing = tf.placeholder(tf.float32, [])
        i, _ = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * missing), (0, 1.0))
        assert run(i) == 3

    def test_strings(self):
        _, s = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + "ab"), (0, tf.constant("")))
        assert run(s) == b"ababab"

    @pytest.mark.parametrize(("limit", "expected"), [(3, 3), (100, 10), (0, 0)])
    def test_maximum_iterations(self, limit, expected):
        assert run(tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0], maximum_iterations=limit)) == expected
        i, j = tf.while_loop(
            lambda i, j: i < 10, lambda i, j: [i + 1, j], [0, 1], maximum_iterations=tf.constant(limit)
        )
        assert run(i) == expected

    def test_a_constant_condition_of_python(self):
        assert run(tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=4)) == 4


class TestShapes:
    def test_invariants_let_a_shape_vary(self):
        _, y = tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a], 0)), (0, tf.ones([1, 2])),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2])),
        )  # fmt: skip
        assert y.shape.as_list() == [None, 2]
        assert run(y).shape == (8, 2)

    def test_a_shape_that_varies_without_one(self):
        with pytest.raises(ValueError, match=r"enters the loop with shape \(1, 2\), but has shape \(2, 2\) after one"):
            tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a], 0)), (0, tf.ones([1, 2])))

    def test_an_invariant_that_the_initial_value_breaks(self):
        with pytest.raises(
            ValueError, match="shape invariant specified for .* is not compatible with the initial shape"
        ):
            tf.while_loop(lambda a: True, lambda a: a, [tf.ones([2])], shape_invariants=[tf.TensorShape([3])])

    def test_a_type_that_changes(self):
        with pytest.raises(
            TypeError, match="'start:0' enters the loop with type int32, but has type float32 after one"
        ):
            tf.while_loop(lambda a: True, lambda a: tf.to_float(a), [tf.constant(1, name="start")])


class TestEffects:
    def test_assignments_every_iteration(self):
        v = tf.Variable(0.0)

        def body(i):
            with tf.control_dependencies([v.assign_add(2.0)]):
                return i + 1

        i = tf.while_loop(lambda i: i < 5, body, [0])
        with initialized_session() as session:
            session.run(i)
            assert session.run(v) == 10

    def test_reads_in_the_body_see_assignments_of_earlier_iterations(self):
        v = tf.Variable([1.0])

        def body(i, seen):
            before = v.read_value() * 1.0
            with tf.control_dependencies([before]), tf.control_dependencies([v.assign_add([1.0])]):
                return i + 1, seen + before

        _, total = tf.while_loop(lambda i, s: i < 4, body, (0, tf.constant([0.0])))
        assert run(total).tolist() == [1 + 2 + 3 + 4]

    def test_a_variable_made_in_the_body_is_made_once(self):
        def body(i, a):
            w = tf.get_variable("w", [1, 1], initializer=tf.constant_initializer(2.0))
            return i + 1, tf.matmul(a, w)

        _, y = tf.while_loop(lambda i, a: i < 3, body, (0, tf.ones([1, 1])))
        assert [v.name for v in tf.global_variables()] == ["w:0"]
        assert run(y).tolist() == [[8]]

    def test_random_numbers_differ_from_iteration_to_iteration(self):
        array = tf.TensorArray(tf.float32, 4)
        _, array = tf.while_loop(
            lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, tf.random_uniform([]))), (0, array)
        )
        assert len(set(run(array.stack()).tolist())) == 4

    def test_feeding_between_runs_does_not_keep_state(self, session):
        n = tf.placeholder(tf.int32, [])
        i = tf.while_loop(lambda i: i < n, lambda i: i + 1, [0])
        assert [session.run(i, {n: k}) for k in (3, 1, 2)] == [3, 1, 2]


@pytest.mark.parametrize("mode", MODES)
class TestEndless:
    LOOP = r"iterations? (\d+ )?of the loop made at .*test_while_loop.py:"

    @staticmethod
    def endless():
        def body(i, a):
            return tf.abs(i), tf.tanh(a) + tf.sin(a) * tf.cos(a) - 0.5 * a

        return tf.while_loop(lambda i, a: i >= 0, body, [1, tf.ones([2])])

    def test_timeout_names_the_loop(self, mode):
        made = self.endless()
        with tf.Session(config=MODES[mode]) as session:
            with pytest.raises(tf.errors.DeadlineExceededError, match=self.LOOP):
                session.run(made, options=tf.RunOptions(timeout_in_ms=50))
            assert session.run(tf.constant(3) + 4) == 7  # the session goes on

    def test_interrupt_names_the_loop(self, mode):
        made = self.endless()

        def stop(*_):
            raise KeyboardInterrupt

        with tf.Session(config=MODES[mode]) as session:
            with pytest.raises(tf.errors.DeadlineExceededError):  # plans, and compiles
                session.run(made, options=tf.RunOptions(timeout_in_ms=1))
            old = signal.signal(signal.SIGALRM, stop)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            try:
                with pytest.raises(KeyboardInterrupt, match=self.LOOP):
                    session.run(made)
            finally:
                signal.signal(signal.SIGALRM, old)


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "kind", "message"),
        [
            ((None, lambda i: i, [0]), TypeError, "cond must be callable"),
            ((lambda i: True, None, [0]), TypeError, "body must be callable"),
            ((lambda i: True, lambda i: i, []), ValueError, "No loop variables provided"),
            ((lambda i: True, lambda i: i, [0], None, 0), TypeError, "parallel_iterations must be a positive integer"),
            ((lambda i: i, lambda i: i, [0]), TypeError, "must give a scalar bool, got int32"),
            ((lambda *_: True, lambda *_: (1, 2), [0, 0, 0]), ValueError, "structure of its loop variables"),
        ],
    )
    def test_of_building(self, arguments, kind, message):
        with pytest.raises(kind, match=message):
            tf.while_loop(*arguments)

    def test_a_tensor_of_the_body_used_outside(self):
        kept = []

        def body(i):
            kept.append(i * 2)
            return i + 1

        tf.while_loop(lambda i: i < 3, body, [0])
        with pytest.raises(ValueError, match=r"belongs to the body of a loop \(made at .*test_while_loop.py"):
            kept[0] + 1

    def test_an_error_in_the_body_names_its_node(self):
        bad = tf.placeholder(tf.int32, [1])
        y = tf.while_loop(lambda i: i < 3, lambda i: i + tf.reduce_sum(tf.reshape([0, 0, 1, 0], bad, name="bad")), [0])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"while/bad \(Reshape\) made at .*test_while_loop.py:"
        ):
            run(y, {bad: [3]})

    @pytest.mark.parametrize("back", [tuple, list])
    def test_a_limited_loop_wants_the_same_kind_of_sequence(self, back):
        """As in TensorFlow, where only a loop without a limit takes a tuple for a list."""
        start = [tf.constant(0), tf.constant(1)]

        def loop(limit):
            return tf.while_loop(lambda i, s: i < 5, lambda i, s: back([i + 1, s]), start, maximum_iterations=limit)

        assert list(run(loop(None))) == [5, 1]
        if back is list:
            assert run(loop(3)) == [3, 1]
        else:
            with pytest.raises(TypeError, match="structure of its loop variables"):
                loop(3)

    def test_a_named_tuple_is_several_variables(self):
        body = lambda a, b: Pair(a + 1, b * 2)  # noqa: E731
        for limit in (None, 10):
            found = tf.while_loop(
                lambda a, b: a < 3, body, Pair(tf.constant(0), tf.constant(1)), maximum_iterations=limit
            )
            assert run(found) == Pair(3, 8)

    def test_structures_at_once(self):
        with tf.eager_mode():
            for body in (lambda i, s: (i + 1, [s[0]]), lambda i, s: (i + 1, s, s)):
                with pytest.raises(ValueError, match=r"structure of its loop variables(.|\n)*test_while_loop.py"):
                    tf.while_loop(lambda i, s: i < 5, body, (0, [1.0, 2.0]))
            assert tf.while_loop(lambda a, b: a < 3, lambda a, b: Pair(a + 1, b), Pair(0, 1)).a.numpy() == 3

    def test_a_condition_that_is_a_vector(self):
        with pytest.raises(ValueError, match="must give a scalar bool, got bool of shape"):
            tf.while_loop(lambda i: i < [3, 4], lambda i: i + 1, [0])


class TestSparseVariables:
    """Shapes and values are TensorFlow's."""

    @staticmethod
    def start():
        return tf.SparseTensor(tf.constant([[0], [3]], tf.int64), tf.constant([2.0, 4.0]), tf.constant([10], tf.int64))

    @staticmethod
    def insert(i, x):
        one = tf.SparseTensor(tf.cast([[i]], tf.int64), tf.cast([i], tf.float32), tf.constant([10], tf.int64))
        return i + 1, tf.sparse_add(x, one)

    @pytest.mark.parametrize(
        ("invariant", "rank"),
        [(None, 1), (tf.TensorShape([1]), 1), (tf.TensorShape([None]), None), (tf.TensorShape(None), None)],
    )
    def test_the_number_of_values_may_change(self, session, invariant, rank):
        invariants = None if invariant is None else [tf.TensorShape([]), invariant]
        _, found = tf.while_loop(lambda i, _: i < 10, self.insert, [0, self.start()], invariants)
        assert found.indices.shape.as_list() == [None, rank]
        assert found.values.shape.as_list() == [None]
        assert found.dense_shape.shape.as_list() == [rank]
        assert session.run(found).values.tolist() == [2, 1, 2, 7, 4, 5, 6, 7, 8, 9]

    def test_the_rank_may_not(self):
        def widen(i, x):
            shape = tf.concat([x.dense_shape, x.dense_shape], 0)
            return i + 1, tf.SparseTensor(tf.concat([x.indices, x.indices], 1), x.values, shape)

        with pytest.raises(
            ValueError, match=r"enters the loop with shape .* but has shape \(\?, 2\) after one iteration"
        ):
            tf.while_loop(lambda i, _: i < 2, widen, [0, self.start()])

    def test_the_invariant_is_that_of_the_dense_shape(self):
        with pytest.raises(ValueError, match=r"Expected a shape with 1 dimension. Obtained: \(3, 4\)"):
            invariants = [tf.TensorShape([]), tf.TensorShape([3, 4])]
            tf.while_loop(lambda i, _: i < 2, self.insert, [0, self.start()], invariants)


@pytest.mark.parametrize("lowered", [False, True])
class TestReferences:
    """A reference as a loop variable, or passed through primitives, is still the variable."""

    @pytest.fixture(autouse=True)
    def variable(self, lowered):
        config = tf.ConfigProto(control_flow="lowered") if lowered else tf.ConfigProto(compile="off")
        self.v = tf.Variable(1.0)
        self.ref = self.v.op.outputs[0]
        with tf.Session(config=config) as self.session:
            self.session.run(self.v.initializer)
            yield

    def test_keeps_its_type_and_can_be_written(self):
        seen = []

        def body(i, x):
            seen.append(x.dtype)
            return i + 1, tf.assign_add(x, 1.0)

        i, x = tf.while_loop(lambda i, x: x < 5.0, body, [0, self.ref])
        assert seen == [x.dtype] == [self.ref.dtype] and x.dtype._is_ref_dtype
        assert self.session.run([i, x]) == [4, 5.0]
        assert self.session.run(self.v) == 5.0

    def test_alone(self):
        x = tf.while_loop(lambda x: x < 5.0, lambda x: tf.assign_add(x, 1.0), [self.ref])
        assert self.session.run(x) == 5.0

    def test_only_read(self):
        _, x = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), [0, self.ref])
        assert self.session.run([x, tf.gradients(x, self.ref)[0]]) == [1.0, 1.0]

    def test_cannot_become_a_value(self):
        with pytest.raises(ValueError, match="incompatible with expected float32_ref"):
            tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + 1.0), [0, self.ref])

    def test_switch_and_merge(self):
        pred = tf.placeholder(tf.bool, [])
        no, yes = tf.raw_ops.RefSwitch(data=self.ref, pred=pred)
        merged = tf.raw_ops.RefMerge(inputs=[tf.assign_sub(no, 10.0), tf.assign_add(yes, 1.0)])
        assert merged.output.dtype == self.ref.dtype
        assert self.session.run(list(merged), {pred: True}) == [2.0, 1]
        assert self.session.run(list(merged), {pred: False}) == [-8.0, 0]

    def test_select(self):
        other = tf.Variable(5.0, use_resource=False)
        index = tf.placeholder(tf.int32, [])
        chosen = tf.raw_ops.RefSelect(index=index, inputs=[self.ref, other._ref()])
        before = tf.identity(self.v)
        with tf.control_dependencies([before]):
            written = tf.assign_add(chosen, 10.0)
        with tf.control_dependencies([written]):
            after = before + 0.5  # of what was read before
        self.session.run(other.initializer)
        assert self.session.run([tf.identity(chosen), written], {index: 1}) == [5.0, 15.0]
        assert self.session.run([before, written, after], {index: 0}) == [1.0, 11.0, 1.5]
        assert self.session.run([self.v, other]) == [11.0, 15.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Index must be in the range \[0, 2\) but got 2"):
            self.session.run(written, {index: 2})
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
            tf.raw_ops.RefSelect(index=[0], inputs=[self.ref, other._ref()])
        matrix = tf.Variable([[1.0]], use_resource=False)
        assert tf.raw_ops.RefSelect(index=0, inputs=[self.ref, matrix._ref()]).shape.ndims is None

    def test_a_loop_of_primitives(self):
        ops = tf.raw_ops
        count = ops.Enter(data=tf.constant(0), frame_name="frame")
        held = ops.RefEnter(data=self.ref, frame_name="frame")
        counts, helds = ops.Merge(inputs=[count, count]), ops.RefMerge(inputs=[held, held])
        go_on = ops.LoopCond(input=counts.output < 3)
        counted = ops.Switch(data=counts.output, pred=go_on)
        kept = ops.RefSwitch(data=helds.output, pred=go_on)
        counts.output.op._update_input(1, ops.NextIteration(data=counted.output_true + 1))
        written = tf.assign_add(kept.output_true, 1.0)
        helds.output.op._update_input(1, ops.RefNextIteration(data=written))
        found = [ops.Exit(data=counted.output_false), ops.RefExit(data=kept.output_false)]
        assert self.session.run(found) == [3, 4.0]
