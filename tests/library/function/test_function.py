"""function: traces, results, effects, variables, graphs and bodies it is called in."""

import collections

import numpy as np
import pytest
from resources.calls import run_threads

import headrace as tf
from headrace.graph.verify import verify_graph

Pair = collections.namedtuple("Pair", "a b")


def run(fetches, feeds=None, compile="off", lower=False):
    with tf.Session(config=tf.ConfigProto(compile=compile)) as session:
        session._master.planner.lower = lower
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


@tf.function
def product(x, y):
    return x * y + tf.exp(x)


class TestTracing:
    def test_once_for_each_kind_of_arguments(self):
        @tf.function
        def f(x, n=1):
            return x * n

        for value in ([1.0, 2.0], [3.0, 4.0]):
            f(tf.constant(value))
        assert f.trace_count == 1
        f(tf.constant([1.0]))  # another shape
        f(tf.constant([1, 2]))  # another dtype
        f(tf.constant([1.0, 2.0]), 2)  # another Python value
        f(tf.constant([1.0, 2.0]), n=2)  # the same, by name
        f(tf.constant([1.0, 2.0]), n=1)  # the default, given
        assert f.trace_count == f.experimental_get_tracing_count() == 4

    def test_one_and_true_are_different_values(self):
        f = tf.function(lambda x, n: x if n is True else x * 2)
        assert run([f(tf.constant(3), True), f(tf.constant(3), 1)]) == [3, 6]

    def test_structures_in_and_out(self):
        @tf.function
        def f(p, d):
            return {"sum": p.a + p.b, "rest": (None, Pair(d["x"], [2, d["y"]]))}

        out = f(Pair(tf.constant(1), tf.constant(2)), {"y": tf.constant(4), "x": np.float32(3)})
        assert run([out["sum"], out["rest"][1]]) == [3, Pair(3.0, [2, 4])]
        assert out["rest"][0] is None

    def test_composites(self):
        f = tf.function(lambda s: tf.SparseTensor(s.indices, s.values * 2, s.dense_shape))
        s = f(tf.SparseTensor([[0, 1]], [3.0], [2, 2]))
        assert run(s).values.tolist() == [6]

    def test_a_trace_belongs_to_a_graph(self):
        x = tf.constant(2.0)
        f = tf.function(lambda y: x * y)
        assert run(f(tf.constant(3.0))) == 6
        g = tf.function(lambda y: y + 1)
        for _ in range(2):
            with tf.Graph().as_default():
                assert run(g(tf.constant(3.0))) == 4
        assert g.trace_count == 2

    def test_what_it_is(self):
        def f(x):
            """Doubles."""
            return x * 2

        made = tf.function(f)
        assert made.python_function is f
        assert (made.__name__, made.__doc__) == ("f", "Doubles.")
        assert made(tf.constant(1)).op.type == "PartitionedCall"

    def test_methods_have_traces_of_their_own(self):
        class Scale:
            def __init__(self, by):
                self.by = by

            @tf.function
            def __call__(self, x):
                return x * self.by

        a, b = Scale(2), Scale(3)
        assert run([a(tf.constant(1)), b(tf.constant(1)), a(tf.constant(5))]) == [2, 3, 10]

    def test_many_traces_are_reported_with_the_users_line(self, monkeypatch):
        said = []
        monkeypatch.setattr("headrace.library.log.warning", lambda text, *args: said.append(text % args))
        f = tf.function(lambda x, n: x * n)
        for n in range(11):
            f(tf.constant(1), n)
        assert len(said) == 2
        assert "traced 5 times" in said[0] and "traced 10 times" in said[1]
        assert "test_function.py" in said[0] and "argument 1 is 4, before it was 3" in said[0]

    def test_relaxed_shapes(self):
        f = tf.function(tf.reduce_sum, experimental_relax_shapes=True)
        results = [f(tf.ones([n, 2])) for n in range(1, 6)]
        assert f.trace_count == 2
        assert run(results) == [2, 4, 6, 8, 10]

    def test_from_many_threads(self):
        f = tf.function(lambda x: x + 1)
        graph, found = tf.get_default_graph(), []

        def call():
            with graph.as_default():
                found.append(f(tf.constant(1)))

        run_threads(*[call] * 8)
        assert f.trace_count == 1
        assert run(found) == [2] * 8


class TestSignature:
    def test_one_trace_for_all(self):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def f(x):
            assert x.shape.as_list() == [None]
            return tf.reduce_sum(x)

        assert run([f([1.0, 2.0]), f(tf.ones([3])), f(np.ones(4))]) == [3, 3, 4]
        assert f.trace_count == 1

    @pytest.mark.parametrize("bad", [1.0, [[1.0]], "text", tf.float32])
    def test_what_does_not_fit(self, bad):
        f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([None], tf.float32)])
        with pytest.raises(ValueError, match="Python inputs incompatible with input_signature"):
            f(bad)

    def test_another_dtype(self):
        f = tf.function(lambda x: x, input_signature=[tf.TensorSpec([None], tf.float32)])
        with pytest.raises(ValueError, match="incompatible with input_signature"):
            f(tf.constant([1]))

    def test_nested(self):
        spec = tf.TensorSpec([], tf.int32)
        f = tf.function(lambda d, y: d["a"] + d["b"] * y, input_signature=[{"a": spec, "b": spec}, spec])
        assert run(f({"a": 1, "b": 2}, 3)) == 7
        with pytest.raises(ValueError, match="incompatible"):
            f({"a": 1}, 3)

    def test_bad_signatures(self):
        with pytest.raises(TypeError, match="must be either a tuple or a list"):
            tf.function(lambda x: x, input_signature=tf.TensorSpec([], tf.int32))
        with pytest.raises(TypeError, match="takes tf.TensorSpec"):
            tf.function(lambda x: x, input_signature=[tf.int32])
        with pytest.raises(TypeError, match="takes 1 arguments"):
            tf.function(lambda x: x, input_signature=[tf.TensorSpec([])] * 2)

    def test_concrete(self):
        f = tf.function(lambda x, n: {"y": x * n})
        one = f.get_concrete_function(tf.TensorSpec([None, 2], tf.float32, name="x"), 3)
        assert [t.dtype for t in one.inputs] == [tf.float32]
        assert one.outputs[0].shape.as_list() == [None, 2]
        assert one.structured_outputs["y"] is one.outputs[0]
        assert one.name.startswith("__inference_lambda_")
        assert run(one(np.ones([1, 2])))["y"].tolist() == [[3, 3]]
        with pytest.raises(ValueError, match="shape"):
            one([1.0, 2.0])
        with pytest.raises(TypeError, match="takes 1 tensors"):
            one()


class TestErrors:
    def test_wrong_arguments(self):
        with pytest.raises(TypeError, match="missing a required argument"):
            product(1.0)
        with pytest.raises(TypeError, match="takes a callable"):
            tf.function(3)

    def test_a_result_that_is_no_tensor(self):
        with pytest.raises(TypeError, match="must return zero or more Tensors"):
            tf.function(lambda: object())()

    def test_a_tensor_array_made_inside(self):
        half = tf.TensorArray(tf.float32, 2).write(1, 2.0)
        assert run(tf.function(lambda a: a.write(0, 5.0))(half).stack()).tolist() == [5, 2]
        with pytest.raises(TypeError, match="return array.stack()"):
            tf.function(lambda v: tf.TensorArray(tf.float32, 2).unstack(v))([1.0, 2.0])

    def test_a_tensor_of_the_body_outside_it(self):
        inside = []
        f = tf.function(lambda x: inside.append(x * 2) or x)
        f(tf.constant(1))
        with pytest.raises(ValueError, match="belongs to the function"):
            inside[0] + 1

    def test_an_error_when_it_runs_names_the_line(self):
        f = tf.function(lambda x, y: tf.matmul(x, y))
        x = tf.placeholder(tf.float32, [None, None])
        with pytest.raises(tf.errors.InvalidArgumentError, match="test_function.py"):
            run(f(x, x), {x: np.ones([2, 3])})

    def test_if_on_a_tensor(self):
        @tf.function
        def f(x):
            return 1 if x > 0 else 2

        with pytest.raises(TypeError, match="use ops such as tf.cond"):
            f(tf.constant(1))


class TestEffects:
    def test_in_the_order_they_are_written(self):
        v = tf.Variable(1.0)

        @tf.function
        def f():
            before = v.read_value()
            v.assign_add(1.0)
            between = v * 10
            v.assign(v * v)
            return before, between, v.value()

        assert run(f()) == (1, 20, 4)

    def test_all_of_them_whatever_is_fetched(self, session):
        v, w = tf.Variable(0), tf.Variable(0)

        @tf.function
        def f(x):
            v.assign_add(1)
            y = x * 2
            w.assign_add(10)
            return y, x

        session.run(tf.global_variables_initializer())
        y, x = f(tf.constant(5))
        session.run(x)
        session.run(y.op)
        assert session.run([v, w]) == [2, 20]

    def test_a_function_without_a_result(self, session):
        v = tf.Variable(0)
        f = tf.function(lambda: v.assign_add(3).op)
        with tf.control_dependencies([v.initializer]):
            assert f() is None
        calls = [op for op in tf.get_default_graph().get_operations() if "PartitionedCall" in op.type]
        session.run(calls)
        assert session.run(v) == 3

    def test_control_dependencies_reach_inside(self):
        v = tf.Variable(1)
        f = tf.function(lambda: v * 2)
        with tf.control_dependencies([v.assign(5)]):
            y = f()
        assert run(y) == 10

    def test_python_functions_run_in_order(self):
        seen = []

        @tf.function
        def f(x):
            tf.py_func(lambda: seen.append("a"), [], [])
            tf.py_func(lambda: seen.append("b"), [], [])
            return x

        run(f(tf.constant(1)))
        assert seen == ["a", "b"]

    def test_random_numbers_are_drawn_anew(self, session):
        f = tf.function(lambda: tf.random_uniform([]))
        a, b = f(), f()
        found = [session.run([a, b]) for _ in range(2)]
        assert len({float(x) for pair in found for x in pair}) == 4


@pytest.mark.parametrize("mode", ["off", "always", "lower"])
class TestWhere:
    def run(self, fetches, mode, feeds=None):
        return run(fetches, feeds, "off" if mode == "lower" else mode, mode == "lower")

    def test_a_call_costs_nothing_in_the_plan(self, session, mode):
        x = tf.placeholder(tf.float32, [2])
        y = product(x, tf.constant([3.0, 4.0]))
        assert self.run(y, mode, {x: [0.0, 1.0]}) == pytest.approx([1, 4 + np.e])
        plan = session._master.plan([x], [y], [])
        assert not any("Call" in n.type for n in plan.graph.nodes)
        verify_graph(tf.get_default_graph())

    def test_in_cond_and_while_and_these_in_it(self, mode):
        @tf.function
        def collatz(n):
            even = tf.equal(n % 2, 0)
            return tf.cond(even, lambda: n // 2, lambda: halved(3 * n + 1))

        halved = tf.function(lambda n: n // 2)

        @tf.function
        def steps(n):
            return tf.while_loop(lambda n, i: n > 1, lambda n, i: (collatz(n), i + 1), (n, 0))[1]

        n = tf.placeholder(tf.int32, [])
        total = tf.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, s + steps(n + i)), (0, 0))[1]

        def expected(n):
            count = 0
            while n > 1:
                n, count = (n // 2 if n % 2 == 0 else (3 * n + 1) // 2), count + 1
            return count

        assert self.run(total, mode, {n: 27}) == sum(expected(27 + i) for i in range(4))

    def test_nested_and_captured(self, mode):
        scale = tf.placeholder(tf.float32, [])

        @tf.function
        def outer(x):
            y = x * scale

            @tf.function
            def inner(z):
                return z + y

            return inner(x) + tf.map_fn(inner, tf.stack([x, x]))[0]

        x = tf.constant([1.0, 2.0])
        assert self.run(outer(x), mode, {scale: 10.0}).tolist() == [22, 44]

    def test_state_in_a_loop(self, mode):
        v = tf.Variable(0)
        f = tf.function(lambda i: v.assign_add(i))
        loop = tf.while_loop(lambda i: i < 5, lambda i: tf.tuple([i + 1], control_inputs=[f(i).op]), [0])
        with tf.control_dependencies([loop]):
            after = v.read_value()
        assert self.run(after, mode) == 10

    def test_on_a_device(self, mode):
        f = tf.function(lambda x: tf.cond(x > 0, lambda: x * 2, lambda: x))
        with tf.device("/cpu:0"):
            y = f(tf.constant(3.0))
        assert y.device == "/device:CPU:0"
        assert self.run(y, mode) == 6
