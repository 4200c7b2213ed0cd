"""One compiled step for many shapes: what is left open, what is assumed, and the same results as interpreted."""

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.passes.specialise import telling, varying
from headrace.runtime.planning import variants


class TestSizes:
    def test_sizes_that_differ_stay_open(self):
        assert varying([((2, 8), (2,)), ((5, 8), (5,))]) == [[None, 8], [None]]
        assert varying([((2, 8),)]) == [[2, 8]]
        assert varying([(), ()]) == []

    def test_the_example_tells_sizes_apart(self):
        seen = [((4, 4),), ((1, 7),), ((4, 6),), ((9, 9),)]
        assert telling(seen) == ((4, 6),)


class TestSteps:
    """A classifier of sequences: batch and length vary, shapes are computed in the graph."""

    def _losses(self, mode):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x, y = tf.placeholder(tf.float32, [None, None, 6]), tf.placeholder(tf.int32, [None])
            h = tf.reduce_mean(tf.layers.dense(x, 8, tf.nn.relu), 1)
            h = tf.reshape(tf.concat([h, 2.0 * h], 1), [tf.shape(x)[0], 16])
            logits = tf.layers.dense(h, 4)
            loss = tf.losses.sparse_softmax_cross_entropy(y, logits) / tf.cast(tf.shape(x)[1], tf.float32)
            train = tf.train.AdamOptimizer(0.01).minimize(loss)
            rng = np.random.RandomState(0)
            with initialized_session(config=tf.ConfigProto(compile=mode)) as session:
                found = []
                # The second is compiled for itself; (1, 4) and (5, 5) break what the trace assumed and are interpreted.
                for batch, length in ((3, 2), (4, 2), (5, 4), (1, 4), (5, 5), (2, 9), (11, 3)):
                    feed = {x: rng.randn(batch, length, 6), y: rng.randint(0, 4, batch)}
                    found.append(session.run([loss, train], feed)[0])
                tiers = session._master.plan((x, y), (loss,), (train,)).variants
            return found, tiers

    @pytest.mark.usefixtures("full_length")
    def test_as_interpreted(self, monkeypatch):
        monkeypatch.setattr(variants, "ARTIFACTS", 1)
        expected, _ = self._losses("off")
        found, tiers = self._losses("always")
        assert len(tiers.compiled) == 2 and tiers.dynamic is not None and tiers.dynamic.regions == 1
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_a_region_behind_another(self, monkeypatch, caplog):
        """A number becomes text and a number again between them."""
        monkeypatch.setattr(variants, "ARTIFACTS", 1)
        x = tf.placeholder(tf.float32, [None])
        h = tf.exp(tf.tanh(x) * 2.0) + 1.0
        most = tf.string_to_number(tf.as_string(tf.reduce_max(h)))
        y = tf.sin(h * most) * 0.5 + h
        with tf.Session(config=tf.ConfigProto(compile="always")) as session:
            for size in (2, 4, 6, 8):
                expected = np.exp(np.tanh(np.full(size, 0.5)) * 2.0) + 1.0
                expected = np.sin(expected * expected.max()) * 0.5 + expected
                np.testing.assert_allclose(session.run(y, {x: np.full(size, 0.5)}), expected, rtol=1e-5)
            assert session._master.plan((x,), (y,), ()).variants.dynamic.regions == 2
        assert not [r for r in caplog.records if "stays interpreted" in r.getMessage()]

    def test_what_the_compiler_cannot_take_is_said_once_and_interpreted(self, monkeypatch, caplog):
        monkeypatch.setattr(variants, "ARTIFACTS", 1)
        x, n = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
        y = tf.reduce_sum(tf.exp(tf.reshape(x, [n, -1]) * 2.0), 0) + 1.0  # n is a value, not a size
        with tf.Session(config=tf.ConfigProto(compile="always")) as session:
            for size in (2, 4, 6, 8):
                result = session.run(y, {x: np.ones(size), n: 2})
                np.testing.assert_allclose(result, np.full(size // 2, 2 * np.exp(2.0) + 1), rtol=1e-6)
        said = [r.getMessage() for r in caplog.records if "stays interpreted" in r.getMessage()]
        assert len(said) == 1 and "test_dynamic.py" in said[0] and "decides a shape" in said[0]


def test_a_convolution_for_any_batch(monkeypatch):
    monkeypatch.setattr(variants, "ARTIFACTS", 1)

    def outputs(mode):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x = tf.placeholder(tf.float32, [None, 6, 6, 2])
            h = tf.layers.max_pooling2d(tf.layers.conv2d(x, 3, 3, activation=tf.nn.relu, padding="same"), 2, 2)
            y = tf.gradients(tf.reduce_sum(tf.square(h)), x)[0]
            with initialized_session(config=tf.ConfigProto(compile=mode)) as session:
                return [session.run(y, {x: np.random.RandomState(b).randn(b, 6, 6, 2)}) for b in (2, 3, 4)]

    for found, expected in zip(outputs("always"), outputs("off"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_read_between_two_writes_of_a_variable(monkeypatch, caplog):
    """The first shape is compiled for itself; one plan for all others is refused: torch's compiler would mix the writes up."""
    monkeypatch.setattr(variants, "ARTIFACTS", 1)

    def runs(mode):
        with tf.Graph().as_default():
            v = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))
            x = tf.placeholder(tf.float32, [None, 3])
            with tf.control_dependencies([tf.scatter_update(v, [1, 3], tf.fill([2, 3], 0.5))]):
                middle = tf.identity(v.read_value())
            with tf.control_dependencies([middle]):
                last = v.assign_sub(tf.fill([4, 3], 2.0) + tf.reduce_sum(x))
            with initialized_session(config=tf.ConfigProto(compile=mode)) as session:
                return [session.run([middle, last], {x: np.ones((n, 3), np.float32)}) for n in range(1, 5)]

    np.testing.assert_allclose(np.array(runs("always")), np.array(runs("off")))
    assert "writes rows of a variable and then writes the variable again" in caplog.text


def test_in_mode_auto_regions_on_the_cpu_are_left_alone(accelerator):
    """Also in a plan for many shapes of a step that uses an accelerator."""
    x = tf.placeholder(tf.float32, [None])
    with tf.device("/cpu:0"):
        y = tf.exp(x) * 2.0 + 1.0
    z = tf.tanh(y) * 3.0 - 1.0
    with tf.Session(config=tf.ConfigProto(compile="auto")) as session:
        session._master._one_partition = True  # as a CPU beside one GPU is
        plan = session._master.plan([x], [z], [])
        compiled = session._master.planner.compile_many(plan, [((4,),), ((5,),)])
        assert compiled.regions == 1
        assert "Exp" in [node.type for node in compiled.graph.nodes]
