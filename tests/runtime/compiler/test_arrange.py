"""What library calls read is stored once: the marks, and the values."""

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.ops.arm import convolution
from headrace.runtime.compiler import arrange, blocks
from headrace.runtime.compiler.torch_door.lowering import lower
from headrace.runtime.compiler.torch_door.tracing import Calls

torch = pytest.importorskip("torch")


def _traced(function, *shapes):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    with FakeTensorMode():
        return make_fx(function)(*[torch.empty(s) for s in shapes])


def _names(module):
    return [n.target.__name__ for n in module.graph.nodes if n.op == "call_function"]


class TestMarks:
    def test_a_gradient_read_through_views_is_stored_once(self):
        def step(grad, y, weight):
            d = torch.ops.aten.threshold_backward(grad, y, 0.0)  # channels last
            first = torch.ops.aten.convolution(
                d.permute(0, 3, 1, 2), weight, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1
            )
            return first, d.sum((0, 1, 2))

        module = _traced(step, (2, 5, 5, 4), (2, 5, 5, 4), (3, 4, 3, 3))
        assert "stored.default" not in _names(module)
        arrange.store_what_libraries_read(module)
        names = _names(module)
        assert names.count("stored.default") == 1
        total = next(n for n in module.graph.nodes if n.op == "call_function" and "sum" in str(n.target))
        assert "stored" in str(total.args[0].target)  # the sum reads what was stored, not what it was made of

    def test_nothing_to_store_leaves_the_graph_alone(self):
        module = _traced(lambda x, w: torch.relu(x @ w), (2, 3), (3, 4))
        before = _names(module)
        arrange.store_what_libraries_read(module)
        assert _names(module) == before

    def test_inputs_and_results_of_convolutions_are_not_stored_again(self):
        def step(x, w, v):
            y = torch.ops.aten.convolution(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
            return torch.ops.aten.convolution(y, v, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)

        module = _traced(step, (1, 2, 4, 4), (3, 2, 3, 3), (2, 3, 3, 3))
        arrange.store_what_libraries_read(module)
        assert "stored.default" not in _names(module)


class TestJoining:
    @staticmethod
    def _unrolled(x, w):
        """Many cells, whose results are concatenated."""
        pieces = []
        for _ in range(16):
            x = torch.tanh(x @ w)
            x = torch.sigmoid(x * 2.0 + 1.0) * torch.cos(x) - torch.sin(x)
            pieces.append(x)
        return (torch.cat(pieces, 1),)

    def test_results_of_blocks_are_joined_by_the_library(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            fakes = [torch.empty(3, 4), torch.empty(4, 4)]
        graph = Calls().trace(self._unrolled, fakes)
        assert blocks.share_blocks(graph)
        arrange.join_in_the_library(graph)
        assert "joined.default" in _names(graph)
        inputs = [torch.randn(3, 4), torch.randn(4, 4)]
        torch.testing.assert_close(lower(graph, fakes, {})(*inputs)[0], self._unrolled(*inputs)[0])

    def test_few_pieces_are_left_to_the_compiler(self, monkeypatch):
        monkeypatch.setattr(arrange, "FEWEST_PIECES", 17)
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            fakes = [torch.empty(3, 4), torch.empty(4, 4)]
        graph = Calls().trace(self._unrolled, fakes)
        assert blocks.share_blocks(graph)
        arrange.join_in_the_library(graph)
        assert "joined.default" not in _names(graph) and "cat.default" in _names(graph)


@pytest.mark.usefixtures("full_length")
def test_the_same_training_compiled_and_interpreted():
    """A convolution, its bias and a pool: every gradient the marks touch."""

    def losses(mode):
        with tf.Graph().as_default():
            tf.set_random_seed(3)
            x = tf.constant(np.random.RandomState(0).randn(2, 6, 6, 3).astype(np.float32))
            h = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu, padding="same")
            h = tf.layers.conv2d(tf.layers.max_pooling2d(h, 2, 2), 5, 3, activation=tf.nn.relu, padding="same")
            loss = tf.reduce_mean(tf.square(h - 1.0))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            with initialized_session(config=tf.ConfigProto(compile=mode)) as session:
                return [session.run([loss, train])[0] for _ in range(4)]

    np.testing.assert_allclose(losses("always"), losses("off"), rtol=1e-5)


@pytest.mark.usefixtures("full_length")
def test_gradients_of_filters_in_several_parts_compiled_and_interpreted(monkeypatch):
    """Patches are made a few pictures at a time; a compiled step must find each part where it is."""
    monkeypatch.setattr(convolution, "LARGEST", 2000)

    def gradients(mode):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x = tf.constant(np.random.RandomState(0).randn(5, 7, 7, 8).astype(np.float32))
            h = tf.layers.max_pooling2d(tf.layers.conv2d(x, 8, 3, activation=tf.nn.relu, padding="same"), 3, 2)
            h = tf.layers.conv2d(h, 4, 3, padding="same")
            slopes = tf.gradients(tf.reduce_sum(tf.square(h)), tf.trainable_variables())
            with initialized_session(config=tf.ConfigProto(compile=mode)) as session:
                return session.run(slopes)

    for found, expected in zip(gradients("always"), gradients("off"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


class TestOneElement:
    """What is added to one element of each row is added where the position is equal."""

    @staticmethod
    def _gradient(logits, labels):
        probabilities = torch.softmax(logits, -1)
        minus_one = torch.full([6, 1], -1.0)
        return (probabilities.scatter_add(-1, labels, minus_one),)

    @staticmethod
    def _module(function, *values):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx

        with FakeTensorMode() as mode:
            return make_fx(function)(*[mode.from_tensor(v) for v in values])

    def test_a_scatter_becomes_a_comparison(self):
        values = torch.randn(6, 9), torch.tensor([[0], [8], [3], [3], [1], [7]])
        module = self._module(self._gradient, *values)
        arrange.compare_for_one_element(module)
        module.graph.lint()
        names = _names(module)
        assert "scatter_add.default" not in names and "where.self" in names
        torch.testing.assert_close(module(*values), self._gradient(*values))

    @pytest.mark.parametrize(
        "function",
        [
            lambda x, i: (x.scatter_add(-1, i.expand(6, 2), torch.full([6, 2], -1.0)),),  # two of each row
            lambda x, i: (x.scatter_add(-1, i, x[:, :1]),),  # not one number
            lambda x, i: (x.scatter_add(-1, i[:3], torch.full([3, 1], -1.0)),),  # not in each row
        ],
    )
    def test_others_stay(self, function):
        values = torch.randn(6, 9), torch.tensor([[0], [8], [3], [3], [1], [7]])
        module = self._module(function, *values)
        before = _names(module)
        arrange.compare_for_one_element(module)
        assert _names(module) == before
