"""Many updates as one: which are put together, the same values, and errors that still name the variable."""

import numpy as np
import pytest
from passes.steps import piped
from resources.calls import run_threads
from running import initialize_and_run, initialized_session

import headrace as tf

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "momentum of zero": lambda: tf.train.MomentumOptimizer(0.1, 0.0),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "adam, large epsilon": lambda: tf.train.AdamOptimizer(0.01, 0.5, 0.8, epsilon=0.5),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "adam, locking": lambda: tf.train.AdamOptimizer(0.01, use_locking=True),
    "adam, no bias correction": lambda: tf.train.AdamOptimizer(0.01, 1.0, 0.999),
}
SHAPES = [(3, 4), (5,), (), (0, 2), (2, 3, 2)]
LARGE = 40_000  # elements: too many for arrays


def types(graph):  # type: ignore[no-untyped-def]
    return [n.type for n in graph.nodes]


def _model(dtype=tf.float32, shapes=SHAPES):  # type: ignore[no-untyped-def]
    rng = np.random.RandomState(0)
    made = [tf.Variable(rng.randn(*s), dtype=dtype, name=f"v{i}") for i, s in enumerate(shapes)]
    loss = tf.add_n([tf.cast(tf.reduce_sum(tf.sin(v) * (i + 1)), tf.float64) for i, v in enumerate(made)])
    return made, loss


def _train(name, off, monkeypatch, steps=3, dtype=tf.float32, compiled="off", shapes=SHAPES * 2):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
    with tf.Graph().as_default():
        made, loss = _model(dtype, shapes)
        train = OPTIMIZERS[name]().minimize(loss)
        with initialized_session(config=tf.ConfigProto(compile=compiled)) as session:
            for _ in range(steps):
                session.run(train)
            return session.run(tf.global_variables())


class TestFusing:
    @pytest.mark.parametrize("name", OPTIMIZERS)
    def test_one_node_and_the_same_values(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        shapes = SHAPES * 2
        made, loss = _model(shapes=shapes)
        train = OPTIMIZERS[name]().minimize(loss)
        found = [t for t in types(piped([], [], [train])) if "Apply" in t]
        if name in ("sgd", "rmsprop"):  # of small variables the kernels on arrays are quicker
            assert len(found) == len(shapes) and not any(t.endswith("Together") for t in found)
        else:
            assert len(found) == 1 and found[0].endswith("Together")
        together, apart = (_train(name, off, monkeypatch) for off in ("", "fuse_updates"))
        for got, wanted in zip(together, apart, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6)
        assert len(together) >= len(SHAPES) and not np.all(together[0] == 0)

    @pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "adagrad"])
    def test_large_variables(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        shapes = [(LARGE,)] * 4 + [(2,)]
        _, loss = _model(shapes=shapes)
        found = [n for n in piped([], [], [OPTIMIZERS[name]().minimize(loss)]).nodes if "Apply" in n.type]
        alone = [] if name == "adagrad" else [1]  # the small one: those of the others have kernels on arrays
        assert sorted(n.attrs.get("N", 1) for n in found) == [*alone, 5 - len(alone)]
        together, apart = (_train(name, off, monkeypatch, shapes=shapes) for off in ("", "fuse_updates"))
        for got, wanted in zip(together, apart, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-6)

    def test_who_uses_the_handles_waits(self) -> None:
        made = [tf.Variable(np.full(3, float(i), np.float32)) for i in range(8)]
        slots = [tf.Variable(np.zeros(3, np.float32)) for _ in made]
        pairs = zip(made, slots, strict=True)
        updates = [tf.raw_ops.ApplyMomentum(v._ref(), s._ref(), 1.0, [1.0, 2.0, 3.0], 0.5) for v, s in pairs]
        doubled = [tf.identity(u) * 2.0 for u in updates]
        again = tf.assign_add(updates[0], [10.0, 10.0, 10.0])
        assert types(piped([*doubled, again], [], [])).count("_ApplyMomentumTogether") == 1
        with initialized_session(config=tf.ConfigProto(compile="off")) as session:
            *found, last = session.run([*doubled[1:], again])
            for i, value in enumerate(found, 1):
                np.testing.assert_array_equal(value, 2 * (i - np.array([1.0, 2.0, 3.0])))
            np.testing.assert_array_equal(last, [9.0, 8.0, 7.0])

    @pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64])
    @pytest.mark.parametrize("name", ["sgd", "adam", "momentum"])
    def test_other_types(self, name: str, dtype: tf.DType, monkeypatch: pytest.MonkeyPatch) -> None:
        together, apart = (_train(name, off, monkeypatch, dtype=dtype) for off in ("", "fuse_updates"))
        tolerance = 1e-9 if dtype == tf.float64 else 3e-2
        for got, wanted in zip(together, apart, strict=True):
            np.testing.assert_allclose(np.float64(got), np.float64(wanted), rtol=tolerance, atol=tolerance)

    def test_compiled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compiled, apart = _train("adam", "", monkeypatch, compiled="always"), _train("adam", "", monkeypatch)
        for got, wanted in zip(compiled, apart, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)

    def test_a_transposed_gradient(self) -> None:
        """torch's kernels walk through memory: a gradient of another layout must be brought into the variable's."""
        a, b = tf.Variable(np.zeros((2, 3), np.float32)), tf.Variable(np.zeros((2, 2), np.float32))
        g = tf.placeholder(tf.float32, [3, 2])
        train = tf.train.MomentumOptimizer(1.0, 0.0).apply_gradients(
            [(tf.transpose(g), a), (tf.broadcast_to([[1.0], [2.0]], [2, 2]), b)]
        )
        value = np.arange(6, dtype=np.float32).reshape(3, 2)
        with initialized_session(config=tf.ConfigProto(compile="off")) as session:
            session.run(train, {g: value})
            np.testing.assert_array_equal(session.run(a), -value.T)
            np.testing.assert_array_equal(session.run(b), [[-1, -1], [-2, -2]])

    @pytest.mark.parametrize("off", ["", "fuse_updates"])
    @pytest.mark.parametrize("name", ["momentum", "adam", "adagrad"])
    def test_buffers_of_another_layout(self, name: str, off: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A filter may be kept in the order that convolutions like, and its slots or gradient in another."""
        monkeypatch.setenv("HEADRACE_PASSES_OFF", off)
        v = tf.Variable(np.zeros((2, 3), np.float32))
        value = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
        optimizer = OPTIMIZERS[name]()
        train = optimizer.apply_gradients([(tf.constant(value), v)])
        results = []
        for turned in (False, True):
            with initialized_session(config=tf.ConfigProto(compile="off")) as session:
                if turned:
                    plan = session._master.plan([], [], [train])
                    node = next(n for n in plan.graph.nodes if n.name == "Variable")
                    buffer = session._master.registered.state(node)
                    buffer.value = buffer.value.t().contiguous().t()
                for _ in range(2):
                    session.run(train)
                results.append(session.run(v))
        np.testing.assert_allclose(results[1], results[0], rtol=1e-5)


class TestApart:
    def test_settings_types_and_rules_differ(self) -> None:
        made, loss = _model(shapes=SHAPES * 2)
        grads = tf.gradients(loss, made)
        one = tf.train.AdamOptimizer(0.1).apply_gradients(zip(grads[:4], made[:4], strict=True))
        two = tf.train.AdamOptimizer(0.2, name="Other").apply_gradients(zip(grads[4:], made[4:], strict=True))
        found = [n for n in piped([], [], [one, two]).nodes if n.type == "_ApplyAdamTogether"]
        assert sorted(n.attrs["N"] for n in found) == [4, 6]

    def test_few_small_ones_stay(self) -> None:
        _, loss = _model()
        assert types(piped([], [], [OPTIMIZERS["momentum"]().minimize(loss)])).count("ApplyMomentum") == len(SHAPES)

    def test_few_descents_stay(self) -> None:
        v = tf.Variable([1.0, 2.0])
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v * v))
        assert "ApplyGradientDescent" in types(piped([], [], [train]))

    def test_an_update_that_waits_for_another(self) -> None:
        a, b = tf.Variable(1.0), tf.Variable(1.0)
        first = tf.raw_ops.ApplyGradientDescent(a._ref(), 0.5, 1.0)
        with tf.control_dependencies([first]):
            second = tf.raw_ops.ApplyGradientDescent(b._ref(), 0.5, a + 0.0)
        with initialized_session() as session:
            session.run(second.op)
            assert session.run([a, b]) == [0.5, 0.75]

    def test_two_updates_of_one_variable(self, session: tf.Session) -> None:
        v = tf.Variable(1.0)
        updates = [tf.raw_ops.ApplyGradientDescent(v._ref(), 0.5, 1.0).op for _ in range(2)]
        session.run(v.initializer)
        session.run(updates)
        assert session.run(v) == 0.0

    def test_a_fetched_update(self) -> None:
        a, b = tf.Variable(1.0), tf.Variable(2.0)
        updates = [tf.raw_ops.ApplyGradientDescent(v._ref(), 0.5, 1.0) for v in (a, b)]
        assert initialize_and_run(updates) == [0.5, 1.5]

    def test_a_gradient_that_is_another_variable(self) -> None:
        """The value before the step counts, not the one the same call has just written."""
        a, b = tf.Variable([1.0]), tf.Variable([10.0])
        train = tf.train.MomentumOptimizer(1.0, 0.0).apply_gradients([(tf.identity(b), a), (tf.identity(a), b)])
        with initialized_session() as session:
            session.run(train)
            assert [float(v[0]) for v in session.run([a, b])] == [-9.0, 9.0]

    def test_deterministic_mode_leaves_all_as_written(self) -> None:
        _, loss = _model()
        train = tf.train.AdamOptimizer().minimize(loss)
        assert types(piped([], [], [train], rewrite=False)).count("ApplyAdam") == len(SHAPES)


class TestErrors:
    def test_an_uninitialized_variable_is_named(self, session: tf.Session) -> None:
        made, loss = _model()
        train = tf.train.AdamOptimizer().apply_gradients([(tf.ones_like(v.initial_value), v) for v in made])
        session.run([v.initializer for v in tf.global_variables() if v is not made[2]])
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v2") as caught:
            session.run(train)
        assert "update_v2/ApplyAdam" in str(caught.value) and "test_fuse_updates.py" in str(caught.value)

    def test_a_gradient_of_another_shape_is_named(self) -> None:
        made = [tf.Variable(np.zeros(3, np.float32), name=f"w{i}") for i in range(4)]
        grads = [tf.placeholder_with_default(np.ones(3, np.float32), None) for _ in made]
        updates = [tf.raw_ops.ApplyGradientDescent(v._ref(), 0.5, g, name=f"u{i}").op
                   for i, (v, g) in enumerate(zip(made, grads, strict=True))]  # fmt: skip
        with initialized_session() as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match="same shape") as caught:
                session.run(updates, {grads[1]: np.ones(2, np.float32)})
            assert "node u1 " in str(caught.value)
            np.testing.assert_array_equal(session.run(made), np.zeros((4, 3)))


def test_locked_updates_of_concurrent_steps_are_not_lost() -> None:
    made = [tf.Variable(np.zeros(1000, np.float32)) for _ in range(4)]
    train = tf.train.GradientDescentOptimizer(1.0, use_locking=True).apply_gradients(
        [(-tf.ones([1000]), v) for v in made]
    )
    with initialized_session(config=tf.ConfigProto(compile="off")) as session:

        def work() -> None:
            for _ in range(50):
                session.run(train)

        run_threads(*[work] * 4)
        for value in session.run(made):
            np.testing.assert_array_equal(value, np.full(1000, 200.0))
