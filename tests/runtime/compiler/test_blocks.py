"""Repeated blocks of a traced region: which nodes are taken for copies of one block, and that the results stay the same."""

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import headrace as tf
from headrace.runtime.compiler import blocks
from headrace.runtime.compiler import compile as compiling
from headrace.runtime.compiler.blocks import repeated, share_blocks
from headrace.runtime.compiler.recompute import AGAIN
from headrace.runtime.compiler.torch_door.generated_module import put, take
from headrace.runtime.compiler.torch_door.tracing import Calls

INVOKE = torch.ops.higher_order.invoke_subgraph


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "LEAST_SAVED", 1)


def traced(function, *shapes):
    with FakeTensorMode():
        fakes = [torch.empty(s) for s in shapes]
        return make_fx(function)(*fakes), fakes


def functional(function, *shapes):
    """The graph as the compiler of an accelerator gets it."""
    with FakeTensorMode():
        fakes = [torch.empty(s) for s in shapes]
    return Calls().trace(function, fakes), fakes


def values(*shapes):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(s, generator=generator) * 0.5 for s in shapes]


def calls(module):
    return [n for n in module.graph.nodes if n.target is INVOKE]


def check(function, *shapes, count):
    """Shares blocks, expects so many calls, and results that are equal, also when compiled; returns the shared graph."""
    from torch._inductor import standalone_compile

    module, fakes = traced(function, *shapes)
    share_blocks(module)
    assert len(calls(module)) == count
    expected = function(*values(*shapes))
    torch.testing.assert_close(module(*values(*shapes)), expected)
    if count:
        artifact = standalone_compile(module, fakes, dynamic_shapes="from_graph", options={})
        torch.testing.assert_close(tuple(artifact(*values(*shapes))), tuple(expected))
    return module


def cell(x, h, w):
    """A block of nine nodes."""
    a, b = (torch.cat([x, h], 1) @ w).split(4, 1)
    return torch.tanh(a) * torch.sigmoid(b) + h * torch.sigmoid(a)


SHAPES = (6, 3, 4), (3, 4), (8, 8)


class TestFinding:
    def test_cells_that_read_the_one_before(self):
        def step(xs, h, w):
            outputs = []
            for x in xs.unbind():
                h = cell(x, h, w)
                outputs.append(h)
            return h, torch.stack(outputs)

        module = check(step, *SHAPES, count=5)  # blocks begin with the product: the first concatenation is outside
        assert (
            len(list(module.block_0.graph.find_nodes(op="placeholder"))) == 4
        )  # the joined values, the weights, h, the next x
        assert share_blocks(traced(step, *SHAPES)[0]) > 40

    def test_outputs_that_only_some_copies_need_and_later_blocks_read(self):
        """Backwards, cells read what those in the middle of the sequence have computed forwards."""

        def step(xs, h, w):
            kept = []
            for x in xs.unbind():
                h = cell(x, h, w)
                kept.append(h)
            for k in reversed(kept):
                h = torch.sin(h * k) + torch.cos(h) * torch.exp(-k * k) - k
            return h, kept[2]

        check(step, *SHAPES, count=11)

    def test_blocks_with_other_wiring_are_not_shared(self):
        def step(x, w):
            for i in range(8):
                y = x @ w
                a, b = torch.sin(y), torch.cos(y)
                first, second = (a, b) if i % 2 else (b, a)
                x = (first - second) * 0.5 + torch.tanh(first) * second * torch.sigmoid(first)
            return (x,)

        module, _ = traced(step, (4, 4), (4, 4))
        found = repeated([n for n in module.graph.nodes if n.op == "call_function"])
        assert sorted(map(len, found)) == [4, 4]
        check(step, (4, 4), (4, 4), count=8)

    def test_literals_and_shapes_count(self):
        def literals(x):
            for i in range(6):
                x = torch.tanh(torch.sin(torch.cos(torch.exp(torch.sigmoid(torch.relu(x * float(i)) + 1) - 1))))
            return (x,)

        def shapes(x):
            for _ in range(6):
                x = torch.cat([torch.tanh(torch.sin(torch.cos(torch.exp(torch.sigmoid(torch.relu(x) + 1)))) - 1), x])
            return (x,)

        check(literals, (3, 4), count=0)
        check(shapes, (3, 4), count=0)

    def test_random_numbers_and_writes_to_inputs_stay_where_they_are(self):
        def draws(x):
            for _ in range(6):
                x = torch.tanh(torch.sin(torch.cos(torch.exp(torch.sigmoid(x) + torch.rand_like(x)) - 1) * 2) + 1)
            return (x,)

        def writes(x, w):
            for _ in range(6):
                x = torch.tanh(torch.sin(torch.cos(torch.exp(torch.sigmoid(x) + 1) - 1) * 2) + 1)
                w.add_(x)
            return (x,)

        assert share_blocks(traced(draws, (3, 4))[0]) == 0
        module, _ = traced(writes, (3, 4), (3, 4))
        share_blocks(module)
        assert torch.ops.aten.add_.Tensor not in {n.target for n in calls(module)}
        given, expected = values((3, 4), (3, 4)), values((3, 4), (3, 4))
        torch.testing.assert_close(module(*given), writes(*expected))
        torch.testing.assert_close(given, expected)

    def test_what_is_made_again_is_no_result_of_a_block(self):
        """It would be written to memory, and is made again so that it need not be kept."""

        def step(x):
            parts = []
            for _ in range(6):
                x = torch.tanh(torch.sin(torch.cos(torch.exp(torch.sigmoid(x) + 1) - 1) * 2) + 1)
                parts.append(x)
            return (sum(part.sum() for part in parts),)

        module, _ = traced(step, (3, 4))
        assert share_blocks(module) > 0
        module, _ = traced(step, (3, 4))
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.tanh.default:
                node.meta[AGAIN] = True
        assert share_blocks(module) == 0

    def test_unknown_sizes_are_left_alone(self):
        def step(x):
            for _ in range(6):
                x = torch.tanh(torch.sin(torch.cos(torch.exp(torch.sigmoid(x) + 1) - 1) * 2) + 1)
            return (x,)

        module = make_fx(step, tracing_mode="symbolic")(torch.ones(3, 4))
        assert share_blocks(module) == 0

    def test_blocks_that_save_little_are_left_alone(self, monkeypatch):
        def step(xs, h, w):
            for x in xs.unbind():
                h = cell(x, h, w)
            return (h,)

        saved = share_blocks(traced(step, *SHAPES)[0])
        monkeypatch.setattr(blocks, "LEAST_SAVED", saved + 1)
        assert share_blocks(traced(step, *SHAPES)[0]) == 0 < saved


class TestMemory:
    def test_one_value_for_two_inputs_of_the_first_block(self):
        """Torch takes two inputs that are one tensor for one input, and would do so in every block."""

        def step(xs, h, w):
            c = h
            for x in xs.unbind():
                gates = h @ w  # the block begins here
                a, b = gates.split(4, 1)
                c = c * torch.sigmoid(a + x) + torch.tanh(b)
                h = torch.tanh(c) * torch.sigmoid(b)
            return h, c

        check(step, (6, 3, 4), (3, 4), (4, 8), count=6)

    def test_inputs_that_begin_at_other_places_of_their_memory(self):
        def step(xs, h, w):
            for x in xs.unbind(1):  # columns: 4 bytes apart
                h = cell(x, h, w)
            return (h,)

        check(step, (3, 6, 4), (3, 4), (8, 8), count=5)
        check(lambda x, h, w: step(x.transpose(0, 2), h, w), (4, 6, 3), (3, 4), (8, 8), count=5)

    def test_views_of_inputs_and_of_results_are_made_outside(self):
        def step(x, w):
            outputs = []
            for _ in range(5):
                turned = x.t()  # of an input
                y = torch.tanh(turned @ w)
                a, b = torch.sigmoid(y).split(2, 1)  # of a result
                x = torch.cat([a * b, torch.sin(b)], 1) + turned
                outputs += [turned, b]
            return x, *outputs

        module = check(step, (4, 4), (4, 4), count=4)
        assert len(module.block_0.graph.output_node().args[0]) == 2  # the sigmoid and the sum

    def test_results_are_new_where_the_compiler_would_return_an_input_or_one_result_twice(self):
        """``x * 1`` is ``x``.  The next step overwrites ``x`` while ``x * 1`` is still to be read."""

        def step(x, w, buffer):
            one = torch.full([], 1.0)
            outputs = []
            for _ in range(5):
                y = torch.tanh(x @ w)
                z = torch.sigmoid(y) * torch.sin(x) + torch.cos(y)
                outputs += [x * one, z, z * one]
                x = z - y
            total = torch.stack(outputs).sum(0)
            buffer.copy_(total)
            return total, *outputs

        module, fakes = functional(step, (4, 4), (4, 4), (4, 4))
        compiled = compiling.compile_graph(module, fakes, "test", 1)
        assert len(calls(module)) >= 3
        inputs = values((4, 4), (4, 4), (4, 4))
        results = compiling.apart(compiled.code(list(inputs)), inputs, range(16))
        torch.testing.assert_close(tuple(results), step(*values((4, 4), (4, 4), (4, 4))))
        assert len({r.data_ptr() for r in results}) == len(results) == 16


def test_code_with_blocks_leaves_the_process_of_its_compiler():
    def step(xs, h, w):
        for x in xs.unbind():
            h = cell(x, h, w)
        return (h,)

    module, fakes = functional(step, *SHAPES)
    parts = take(compiling.compile_graph(module, fakes, "test", 1).code)
    assert len(calls(module)) == 5 and parts["text"].count("def ") > 2
    torch.testing.assert_close(tuple(put(parts)(values(*SHAPES))), step(*values(*SHAPES)))


@pytest.fixture
def number_of_calls(monkeypatch):
    """How many blocks each compiled region calls."""
    seen = []

    def share(module):
        saved = share_blocks(module)
        seen.append(len(calls(module)))
        return saved

    monkeypatch.setattr(compiling, "share_blocks", share)
    return seen


def losses(mode, build):
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        train, loss = build()
        with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
            session.run(tf.global_variables_initializer())
            return [session.run([train, loss])[1] for _ in range(3)]


def unrolled_rnn():
    """Sequences of different lengths; the first cell gets one tensor as state and as output."""
    data = np.random.RandomState(0).randn(5, 8, 3).astype(np.float32)
    length = tf.constant([8, 2, 1, 4, 5])
    kernel = tf.get_variable("kernel", [7, 16], initializer=tf.glorot_uniform_initializer())
    c = h = tf.zeros([5, 4])
    for t, x in enumerate(tf.unstack(tf.constant(data), axis=1)):
        i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel), 4, 1)
        new = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        c, h = tf.where(t >= length, c, new), tf.where(t >= length, h, tf.tanh(new) * tf.sigmoid(o))
    loss = tf.reduce_mean(tf.square(h - 0.1))
    return tf.train.GradientDescentOptimizer(0.5).minimize(loss), loss


def stack_of_layers():
    x = tf.constant(np.random.RandomState(0).randn(6, 8).astype(np.float32))
    for _ in range(5):
        x = tf.contrib.layers.layer_norm(x + tf.layers.dense(tf.layers.dense(x, 8, tf.nn.tanh), 8))
    loss = tf.reduce_mean(tf.square(x - 0.1))
    return tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss), loss


@pytest.mark.usefixtures("accelerator")
@pytest.mark.parametrize("build", [unrolled_rnn, stack_of_layers])
@pytest.mark.usefixtures("full_length")
def test_training_compiled_and_interpreted(build, number_of_calls):
    np.testing.assert_allclose(losses("always", build), losses("off", build), rtol=1e-5)
    assert max(number_of_calls) >= 5


def test_updates_of_variables_are_no_part_of_blocks():
    """A kernel writes a variable in place.  A block would return the new value, which would then be copied."""

    def step(*inputs):
        weights, moments, x = inputs[:6], inputs[6:12], inputs[12]
        for w, m in zip(weights, moments, strict=True):
            y = torch.tanh(x @ w)
            x = torch.sigmoid(y) * torch.sin(x) + torch.cos(y)
            gradient = x.t() @ y
            moment = m * 0.9 + gradient * gradient * 0.1
            w.copy_(w - gradient / (torch.sqrt(moment * moment + 1.0) + 1e-3))
            m.copy_(moment)
        return (x,)

    shapes = [(4, 4)] * 13
    module, fakes = functional(step, *shapes)
    compiled = compiling.compile_graph(module, fakes, "test", 1)
    assert len(calls(module)) >= 5
    inside = [n.target.__name__ for b in module.children() for n in b.graph.nodes if n.op == "call_function"]
    assert "tanh.default" in inside and "sqrt.default" not in inside
    given, plain = values(*shapes), values(*shapes)
    torch.testing.assert_close(compiled(*given), step(*plain))
    for found, expected in zip(given, plain, strict=True):
        torch.testing.assert_close(found, expected)
