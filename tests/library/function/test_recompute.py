"""recompute_grad: the same gradients, less memory, and nothing done twice that may be done only once."""

import numpy as np
import pytest
from passes.steps import piped
from running import run

import headrace as tf
from benchmarks._live_bytes import peak_bytes

MODES = ["off", "always"]
RECOMPUTE = {"plain": tf.recompute_grad, "contrib": tf.contrib.layers.recompute_grad}


def _session(mode="off"):  # type: ignore[no-untyped-def]
    session = tf.Session(config=tf.ConfigProto(compile=mode))
    session.run(tf.global_variables_initializer())
    return session


def _both(build, feed=None, mode="off"):  # type: ignore[no-untyped-def]
    """What ``build(wrap)`` fetches, without and with recomputation."""
    found = []
    for wrap in (lambda f: f, tf.recompute_grad):
        with tf.Graph().as_default():
            tf.set_random_seed(7)
            fetches = build(wrap)
            with _session(mode) as session:
                found.append(session.run(fetches, feed))
    return found


def _same(build, feed=None, mode="off", **tolerance):  # type: ignore[no-untyped-def]
    plain, recomputed = _both(build, feed, mode)
    for got, wanted in zip(recomputed, plain, strict=True):
        np.testing.assert_allclose(got, wanted, **{"rtol": 1e-5, **tolerance})
    return plain


def _weights(shape, name="w"):  # type: ignore[no-untyped-def]
    return tf.get_variable(name, initializer=np.random.RandomState(0).randn(*shape).astype(np.float32) * 0.5)


class TestValues:
    @pytest.mark.parametrize("mode", MODES)
    def test_arguments_variables_and_captured_tensors(self, mode: str) -> None:
        def build(wrap):  # type: ignore[no-untyped-def]
            x = tf.constant([[1.0, -2.0, 0.5]])
            w, outer = _weights((3, 3)), tf.exp(_weights((1, 3), "o"))
            y = wrap(lambda h: tf.tanh(tf.matmul(tf.sin(h), w) * outer))(x)
            return tf.gradients(tf.reduce_sum(y * y), [x, w, outer])

        assert len(_same(build, mode=mode)) == 3

    def test_several_results_in_their_structure(self) -> None:
        block = tf.recompute_grad(lambda x, y: (tf.sin(x) * y, [tf.cos(y)][0]))
        x, y = tf.constant(1.0), tf.constant(2.0)
        result = block(x, y)
        assert isinstance(result, tuple)
        got = run(tf.gradients(result[0], [x, y]))
        np.testing.assert_allclose(got, [2 * np.cos(1.0), np.sin(1.0)], rtol=1e-6)

    def test_flags_and_keyword_arguments_stay_what_they_are(self) -> None:
        seen = []

        @tf.recompute_grad
        def block(x, training, scale=1.0):  # type: ignore[no-untyped-def]
            seen.append((training, scale))
            return tf.sin(x) * scale

        x = tf.constant(1.0)
        slope = tf.gradients(block(x, True, scale=3.0), x)[0]
        assert run(slope) == pytest.approx(3 * np.cos(1.0))
        assert seen == [(True, 3.0)]

    def test_rows_of_a_table(self) -> None:
        def build(wrap):  # type: ignore[no-untyped-def]
            table = _weights((5, 2))
            y = wrap(lambda ids: tf.exp(tf.nn.embedding_lookup(table, ids)))(tf.constant([1, 3, 1]))
            (slope,) = tf.gradients(tf.reduce_sum(y), table)
            return [tf.convert_to_tensor(slope)]

        _same(build)

    def test_second_order(self) -> None:
        x = tf.constant(0.7)
        (first,) = tf.gradients(tf.recompute_grad(lambda v: tf.sin(tf.exp(v)))(x), x)
        (second,) = tf.gradients(first, x)
        e = np.exp(0.7)
        got = run([first, second])
        np.testing.assert_allclose(got, [e * np.cos(e), e * np.cos(e) - e * e * np.sin(e)], rtol=1e-5)

    def test_nested(self) -> None:
        def build(wrap):  # type: ignore[no-untyped-def]
            w = _weights((3, 3))
            inner = wrap(lambda h: tf.tanh(tf.matmul(h, w)))
            y = wrap(lambda h: tf.sin(inner(inner(h))))(tf.constant([[1.0, 2.0, 3.0]]))
            return tf.gradients(y, w)

        _same(build)

    @pytest.mark.parametrize("mode", MODES)
    def test_in_a_loop_and_a_branch(self, mode: str) -> None:
        def build(wrap):  # type: ignore[no-untyped-def]
            w = _weights((3, 3))
            block = wrap(lambda h: tf.tanh(tf.matmul(tf.sin(h), w)))
            x = tf.constant([[1.0, 2.0, 3.0]])
            loop = tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, block(h)), [0, x])[1]
            branch = tf.cond(tf.reduce_sum(loop) < 100.0, lambda: block(loop), lambda: loop)
            return tf.gradients(tf.reduce_sum(branch), [x, w])

        _same(build, mode=mode, rtol=1e-5)

    def test_a_loop_inside(self) -> None:
        def build(wrap):  # type: ignore[no-untyped-def]
            w = _weights((3, 3))

            def block(h):  # type: ignore[no-untyped-def]
                step = lambda i, v: (i + 1, tf.tanh(tf.matmul(v, w)))  # noqa: E731
                return tf.sin(tf.while_loop(lambda i, v: i < 3, step, [0, tf.exp(h)])[1])

            x = tf.constant([[0.1, 0.2, 0.3]])
            return tf.gradients(wrap(block)(x), [x, w])

        _same(build, rtol=1e-5)

    def test_training_reaches_the_same_weights(self) -> None:
        def build(wrap):  # type: ignore[no-untyped-def]
            w = _weights((4, 4))
            y = wrap(lambda h: tf.nn.relu(tf.matmul(tf.tanh(tf.matmul(h, w)), w)))(tf.ones([2, 4]))
            train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y * y))
            with tf.control_dependencies([train]):
                return [w.read_value()]

        _same(build)


class TestOnce:
    @pytest.mark.parametrize("mode", MODES)
    def test_dropout_has_one_mask(self, mode: str) -> None:
        """The gradient of sum(dropout(x)) is the mask itself, and the result shows it too."""
        x = tf.ones([200])
        y = tf.recompute_grad(lambda v: tf.nn.dropout(v * 1.5, rate=0.5))(x)
        (slope,) = tf.gradients(tf.reduce_sum(y), x)
        with _session(mode) as session:
            for _ in range(3):
                value, gradient = session.run([y, slope])
                np.testing.assert_array_equal(value > 0, gradient > 0)
                assert 0 < (value > 0).sum() < 200

    def test_moving_averages_move_once(self) -> None:
        def block(x):  # type: ignore[no-untyped-def]
            return tf.nn.relu(tf.layers.batch_normalization(x, training=True, momentum=0.5))

        x = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
        y = tf.recompute_grad(block)(x)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        assert len(updates) == 2
        with tf.control_dependencies(updates):
            train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
        mean = next(v for v in tf.global_variables() if "moving_mean" in v.name)
        with _session() as session:
            session.run(train)
            np.testing.assert_allclose(session.run(mean), np.array([4.5, 5.5, 6.5]) / 2)

    def test_the_function_is_called_once(self) -> None:
        calls = []

        @tf.contrib.layers.recompute_grad(use_data_dep=True, tupleize_grads=True)
        def block(x, is_recomputing=False):  # type: ignore[no-untyped-def]
            calls.append(is_recomputing)
            return tf.sin(x)

        x = tf.constant(1.0)
        (slope,) = tf.gradients(block(x), x)
        assert run(slope) == pytest.approx(np.cos(1.0))
        assert calls == [False]

    def test_cse_does_not_merge_the_second_computation(self) -> None:
        x = tf.placeholder(tf.float32, [3])
        y = tf.recompute_grad(lambda v: tf.sin(tf.exp(v)))(x)
        graph = piped([y, *tf.gradients(y, x)], [x])
        assert [n.type for n in graph.nodes].count("Exp") == 2


def _deep(wrap, blocks=3, size=64):  # type: ignore[no-untyped-def]
    x = tf.placeholder(tf.float32, [size, size])
    h = x
    for i in range(blocks):
        w = _weights((size, size), f"w{i}")

        def block(v, w=w):  # type: ignore[no-untyped-def]
            for _ in range(4):
                v = tf.sigmoid(tf.matmul(v, w)) + tf.sin(v)
            return v

        h = wrap(block)(h)
    return x, tf.gradients(tf.reduce_sum(h), tf.trainable_variables())


@pytest.mark.parametrize("which", ["plain", "contrib"])
def test_peak_memory_falls(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare_peaks("off", which, monkeypatch)


@pytest.mark.usefixtures("full_length")
def test_peak_memory_falls_when_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare_peaks("always", "plain", monkeypatch)


def _compare_peaks(mode: str, which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_PASSES_OFF", "arrays")  # only the bytes of tensors are counted
    peaks = []
    for wrap in (lambda f: f, RECOMPUTE[which]):
        with tf.Graph().as_default():
            x, slopes = _deep(wrap)
            with _session(mode) as session:
                feed = {x: np.ones((64, 64), np.float32)}
                for _ in range(2):
                    session.run(slopes, feed)
                peaks.append(peak_bytes(lambda s=session, g=slopes, f=feed: s.run(g, f)))
    assert peaks[1] < 0.7 * peaks[0]


class TestEager:
    def test_values_and_variables(self) -> None:
        with tf.eager_mode():
            w = tf.Variable([2.0])
            calls = []

            @tf.recompute_grad
            def block(x):  # type: ignore[no-untyped-def]
                calls.append(x)
                return tf.sin(x * w)

            x = tf.constant([0.5])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = block(x)
            slopes = tape.gradient(y, [x, w])
            np.testing.assert_allclose([s.numpy()[0] for s in slopes], [2 * np.cos(1.0), 0.5 * np.cos(1.0)], rtol=1e-6)
            assert len(calls) == 2


class TestErrors:
    def test_not_a_function(self) -> None:
        with pytest.raises(TypeError, match=r"recompute_grad takes a function, got 3.*test_recompute.py"):
            tf.recompute_grad(3)

    def test_no_result(self) -> None:
        with pytest.raises(ValueError, match="at least one tensor"):
            tf.recompute_grad(lambda x: [])(tf.constant(1.0))


def test_a_training_step_frees_what_updates_take() -> None:
    """Large products are subtracted from the variable as soon as nobody needs its old value, not at the end of the step."""
    peaks, losses = [], []
    size = 512
    for wrap in (lambda f: f, tf.recompute_grad):
        with tf.Graph().as_default():
            x = h = tf.placeholder(tf.float32, [size, size])
            for i in range(4):
                weights = [tf.Variable(np.eye(size, dtype=np.float32), name=f"w{i}_{j}") for j in range(3)]

                def block(v, weights=weights):  # type: ignore[no-untyped-def]
                    for w in weights:
                        v = v + tf.tanh(tf.nn.relu(tf.matmul(v, w)))
                    return v

                h = wrap(block)(h)
            loss = tf.reduce_mean(h)
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            with _session() as session:
                feed = {x: np.full((size, size), 0.01, np.float32)}
                losses.append([session.run([loss, train], feed)[0] for _ in range(3)])
                peaks.append(peak_bytes(lambda s=session, t=train, f=feed: s.run(t, f)))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert peaks[1] < 0.6 * peaks[0]
