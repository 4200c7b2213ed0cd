"""What gradients need and is cheap is made again: what is kept, that values stay the same, and what is left alone."""

import importlib
import json
import random

import numpy as np
import pytest
from running import initialized_session

import headrace as tf
from headrace.runtime.compiler import compile as compiling
from headrace.runtime.compiler.compile import compile_traced
from headrace.runtime.compiler.recompute import AGAIN, LONGEST, recompute
from headrace.runtime.compiler.region_json import decode, encode
from headrace.runtime.compiler.torch_door.node import is_view

torch = pytest.importorskip("torch")
aten = torch.ops.aten


def traced(function, *shapes):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    with FakeTensorMode():
        return make_fx(function)(*[torch.empty(s) for s in shapes])


def values(*shapes):
    generator = torch.Generator().manual_seed(0)
    return [torch.rand(s, generator=generator) for s in shapes]


def layers(x, *weights):
    """A network, its loss, and its gradients as a program would write them: all that they need is kept."""
    kept = []
    for w in weights:
        y = x @ w
        t = torch.tanh(y * 0.5)
        s = 1.0 + t
        kept.append((x, w, y, t, s))
        x = y * s
    grad = x * 2.0
    gradients = []
    for x, w, y, t, s in reversed(kept):
        grad = grad * s + grad * y * (1.0 - t * t) * 0.5
        gradients.append(x.t() @ grad)
        grad = grad @ w.t()
    return tuple(gradients)


def kept(module, name):
    """How many values of an op are read more than 30 nodes after they were made."""
    nodes = list(module.graph.nodes)
    place = {n: i for i, n in enumerate(nodes)}
    found = [n for n in nodes if n.op == "call_function" and n.target.__name__.startswith(name)]
    return sum(max(place[u] for u in n.users) - place[n] > 30 for n in found)


SHAPES = [(16, 8)] + [(8, 8)] * 12


def test_what_a_gradient_needs_of_an_activation_is_made_of_its_argument():
    module = traced(layers, *SHAPES)
    assert kept(module, "tanh") > 6 and kept(module, "add") > 6
    assert recompute(module) > 0
    module.graph.lint()
    assert kept(module, "tanh") == kept(module, "add") == 0
    for made, plain in zip(module(*values(*SHAPES)), layers(*values(*SHAPES)), strict=True):
        torch.testing.assert_close(made, plain, rtol=0, atol=0)


def inputs_of_layers(module):
    """What the products of the weights' gradients read, and how many of these values were made on the way to the loss."""
    products = [n for n in module.graph.nodes if n.target is aten.mm.default]
    of_weights = [n for n in products if n.args[0].target is aten.t.default]
    place = {n: i for i, n in enumerate(module.graph.nodes)}
    read = [n.args[0].args[0] for n in of_weights]
    return read, sum(place[n] < place[of_weights[0]] for n in read)


def test_what_library_calls_read_is_kept():
    """What is made of two values that are kept would take reading both, and writing it out again."""

    def sums(x, *weights):
        kept = []
        for w in weights:
            y = x @ w
            t = torch.tanh(y)
            kept.append((x, w, t))
            x = x + t
        grad = x * 2.0
        gradients = []
        for x, w, t in reversed(kept):
            gradients.append(x.t() @ (grad * (1.0 - t * t)))
            grad = grad + (grad * (1.0 - t * t)) @ w.t()
        return tuple(gradients)

    module = traced(sums, *SHAPES)
    assert recompute(module) > 0
    assert inputs_of_layers(module)[1] >= 11  # but for the one beside the loss


def test_what_a_library_call_reads_is_made_of_one_value_that_is_kept_anyway():
    """An activation's value, of its argument, which its gradient reads."""
    module = traced(layers, *SHAPES)
    recompute(module)
    products = [n for n in module.graph.nodes if n.target is aten.mm.default]
    assert len(products) == 3 * 12 - 1  # nothing needs the gradient of the first input
    read, count = inputs_of_layers(module)
    assert len(read) == 12 and count < 6 and AGAIN in read[3].meta


def chain(count, ops, inner_are_read):
    """Values for products, each made of the one before by some ops, and what their gradients read."""

    def step(x, first, *others):
        y = x @ first
        within = torch.tanh(y)
        current, inner, read, ahead = y, [], [], torch.sin(within) @ first
        for w in others:
            rows = []
            for _ in range(ops):
                rows.append(current)
                current = torch.sin(current)
            inner.append(rows)
            read.append(current)
            ahead = ahead + current @ w
        z = ahead
        for _ in range(16):
            z = torch.exp(z * 0.01)
        gradients, slope = [], torch.zeros_like(y)
        for rows, value, w in zip(reversed(inner), reversed(read), reversed(others), strict=True):
            gradients.append(value.t() @ z)
            slope = slope + z @ w.t()
            for one in reversed(rows if inner_are_read else []):
                slope = slope * torch.cos(one)
        return (*gradients, x.t() @ (slope * torch.cos(y) * within))

    return step, [(512, 64), (64, 64)] + [(64, 64)] * count


def longest_chain(module):
    """The most ops in a row that are made a second time."""
    rows = {}
    for node in module.graph.nodes:
        below = [rows.get(a, 0) for a in node.all_input_nodes]
        rows[node] = max(below, default=0) + 1 if AGAIN in node.meta and not is_view(node) else 0
        if AGAIN in node.meta and is_view(node):
            rows[node] = max(below, default=0)
    return max(rows.values())


@pytest.mark.parametrize("inner_are_read", [True, False])
@pytest.mark.parametrize(("count", "ops"), [(1, 5), (1, 9), (1, 10), (1, 12), (1, 20), (2, 5), (3, 4), (4, 8), (6, 9)])
def test_no_chain_is_longer_than_the_longest(count, ops, inner_are_read):
    """Of values for products that are made of each other some stay: the others are not made of what is made again."""
    step, shapes = chain(count, ops, inner_are_read)
    module = traced(step, *shapes)
    recompute(module)
    module.graph.lint()
    assert longest_chain(module) <= LONGEST
    for made, plain in zip(module(*values(*shapes)), step(*values(*shapes)), strict=True):
        torch.testing.assert_close(made, plain)


def test_what_is_made_again_does_not_need_a_value_that_is_made_in_passing():
    """Eight ops make what a product reads, and eight more, of that, what a gradient reads: not sixteen in a row."""

    def step(x, first, second):
        y = x @ first
        read = y
        for _ in range(8):
            read = torch.sin(read)
        z = read @ second
        needed = read
        for _ in range(8):
            needed = torch.cos(needed)
        z = z + torch.cat([y] * 4).sum()  # the widest place
        for _ in range(16):
            z = torch.exp(z * 0.01)
        return read.t() @ z, x.t() @ (z.sum(1, keepdim=True) * needed * y)

    module = traced(step, (512, 64), (64, 64), (64, 4))
    assert recompute(module) > 0
    assert longest_chain(module) <= LONGEST


def test_a_value_that_is_smaller_than_what_it_is_made_of_is_kept():
    def cast(value, dtype=torch.bfloat16):
        return torch.ops.prims.convert_element_type(value, dtype)

    def step(x, first, second):
        y = x @ first
        t = torch.tanh(y)
        s = cast(t)
        z = cast(s @ cast(second), torch.float32) + torch.cat([t] * 4).sum()  # the widest place
        for _ in range(16):
            z = torch.exp(z * 0.01)
        return s.t() @ cast(z), x.t() @ (z.sum(1, keepdim=True) * (1 - t * t))

    assert recompute(traced(step, (512, 64), (64, 64), (64, 4))) == 0


def test_a_network_without_gradients_is_left_alone():
    def forward(x, *weights):
        for w in weights:
            y = x @ w
            x = y * (1.0 + torch.tanh(y))
        return (x,)

    module = traced(forward, *SHAPES)
    assert recompute(module) == 0


def test_long_chains_are_not_made_again(monkeypatch):
    """Each number of the first part depends on forty ops, and is needed at the end."""

    def step(x):
        y, parts = x, []
        for _ in range(40):
            y = torch.sin(y)
            parts.append(y)
        total = parts[-1].sum()
        for y in reversed(parts):
            total = total + (y * total).sum()
        return (total,)

    module = traced(step, (64, 64))
    before = sum(n.target is aten.sin.default for n in module.graph.nodes)
    recompute(module)
    module.graph.lint()
    again = sum(n.target is aten.sin.default for n in module.graph.nodes) - before
    assert 0 < again <= 40
    assert _longest_row(module) < 40
    monkeypatch.setattr("headrace.runtime.compiler.recompute.LONGEST", 5)
    other = traced(step, (64, 64))
    recompute(other)
    assert _longest_row(other) <= 5 < _longest_row(module)
    x = values((64, 64))
    torch.testing.assert_close(module(*x)[0], step(*x)[0])


def _longest_row(module):
    """How many sines in a row are made a second time."""
    nodes = [n for n in module.graph.nodes if n.target is aten.sin.default]
    again = set(nodes[40:])
    rows = {}
    for node in nodes:
        rows[node] = 1 + rows.get(node.args[0], 0) if node in again else 0
    return max(rows.values())


def test_results_and_new_values_of_variables_stay():
    def step(x, w, buffer):
        y = x @ w
        t = torch.tanh(y)
        z = t
        for _ in range(12):
            z = (z * t) @ w
        buffer.copy_(t * 2.0)
        return z, t

    module = traced(step, (16, 16), (16, 16), (16, 16))
    recompute(module)
    given, plain = values((16, 16), (16, 16), (16, 16)), values((16, 16), (16, 16), (16, 16))
    for made, expected in zip(module(*given), step(*plain), strict=True):
        torch.testing.assert_close(made, expected)
    torch.testing.assert_close(given[2], plain[2])


def test_results_of_an_old_value_stay_where_all_is_cheap():
    """Nothing is kept for its own sake, and a result made again after the variable is written would have its new value."""

    def step(v, x, c):
        result = torch.tanh(v) * x
        t = torch.sigmoid(c + x)
        wide = torch.sin(t)
        z = torch.cos(t)
        for _ in range(40):
            z = torch.cos(z) + x
        other = z * t * wide
        v.copy_(z)
        return result, other

    module = traced(step, (32,), (32,), (32,))
    assert recompute(module) > 0
    given, plain = values((32,), (32,), (32,)), values((32,), (32,), (32,))
    for made, expected in zip([*module(*given), *given], [*step(*plain), *plain], strict=True):
        torch.testing.assert_close(made, expected)


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_of_cheap_ops_compute_the_same(seed, monkeypatch):
    """Sums and products among them; variables that are read, written and fetched.  Rows of more than five ops are long here."""
    monkeypatch.setattr("headrace.runtime.compiler.recompute.LONGEST", 5)
    draw = random.Random(seed)
    plan = [(draw.choice("sctapmwd"), draw.random(), draw.random()) for _ in range(draw.randint(15, 60))]
    writes, results = draw.sample(range(3), draw.randint(0, 2)), [draw.random() for _ in range(4)]

    def step(*given):
        made = list(given)
        for kind, one, other in plan:
            x, y = made[int(one * len(made))], made[int(other * len(made))]
            made.append(
                {
                    "s": lambda x, y: torch.sin(x), "c": lambda x, y: torch.cos(x) * 0.5, "t": lambda x, y: torch.tanh(x + y),
                    "a": lambda x, y: x + y * 0.5, "p": lambda x, y: torch.sigmoid(x) * y, "m": lambda x, y: (x @ y) * 0.1,
                    "w": lambda x, y: torch.where(x > y, x, y), "d": lambda x, y: x - y.sum(0) * 0.01,
                }[kind](x, y)
            )  # fmt: skip
        found = [made[int(at * len(made))] * 1.0 for at in results]
        for i in writes:
            given[i].copy_(made[-1 - i])
        return tuple(found)

    module = traced(step, *[(8, 8)] * 4)
    recompute(module)
    module.graph.lint()
    given, plain = values(*[(8, 8)] * 4), values(*[(8, 8)] * 4)
    for made, expected in zip([*module(*given), *given], [*step(*plain), *plain], strict=True):
        torch.testing.assert_close(made, expected)


def test_random_numbers_are_the_same_when_they_are_made_again():
    """A dropout's mask is made of a seed, in the gradient too: nothing of it is kept."""
    from headrace.runtime.compiler.torch_door.lowering import begin_with_seeds

    def step(x, *weights):
        masks = []
        for w in weights:
            mask = torch.ops.prims.convert_element_type(torch.rand(16, 8) > 0.5, torch.float32)
            masks.append(mask)
            x = (x @ w) * mask
        grad = x * 2.0
        for mask, w in zip(reversed(masks), reversed(weights), strict=True):
            grad = (grad * mask) @ w.t()
        return (grad, *masks[:1])

    module = traced(step, *SHAPES)
    placeholders = [n.meta["val"] for n in module.graph.nodes if n.op == "placeholder"]
    begin_with_seeds(module, placeholders)
    first = next(n for n in module.graph.nodes if n.op == "call_function")
    assert "inductor_seeds" in str(first.target)
    seeds = sum("inductor_lookup_seed" in str(n.target) for n in module.graph.nodes)
    drawn = sum("inductor_random" in str(n.target) for n in module.graph.nodes)
    assert seeds == drawn == 12
    assert recompute(module) > 0
    module.graph.lint()
    assert sum("inductor_random" in str(n.target) for n in module.graph.nodes) > 12
    assert sum("inductor_lookup_seed" in str(n.target) for n in module.graph.nodes) == 12
    assert kept(module, "inductor_random") == 0


@pytest.mark.usefixtures("accelerator")
def test_a_step_computes_the_same(monkeypatch):
    """A device of the user's own kind is compiled for as a GPU is."""
    seen = []
    monkeypatch.setattr(compiling, "recompute", lambda graph: seen.append(recompute(graph)))
    compiled = gelu_losses(tf.ConfigProto(compile="always"))
    assert max(seen) > 0
    np.testing.assert_allclose(compiled, gelu_losses(tf.ConfigProto(compile="off")), rtol=1e-4)


@pytest.mark.usefixtures("accelerator")
@pytest.mark.parametrize("how", ["switch", "level"])
def test_a_user_can_leave_it_out(how, monkeypatch):
    """``HEADRACE_PASSES_OFF=recompute`` when the session is made, or no rewrites at all: the region says so wherever it goes."""
    seen, sent = [], []
    monkeypatch.setattr(compiling, "recompute", lambda graph: seen.append(graph))

    def looked(traced, region, binder, *rest):
        sent.append(decode(json.loads(json.dumps(encode(region, binder, [None] * len(region.refs)))))[0].recompute)
        return compile_traced(traced, region, binder, *rest)

    monkeypatch.setattr(compiling, "compile_traced", looked)
    config = tf.ConfigProto(compile="always")
    if how == "switch":
        monkeypatch.setenv("HEADRACE_PASSES_OFF", "recompute")
    else:
        config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    gelu_losses(config)
    assert not seen and sent and not any(sent)
    monkeypatch.delenv("HEADRACE_PASSES_OFF", raising=False)
    sent.clear()
    gelu_losses(tf.ConfigProto(compile="always"))
    assert seen and all(sent)


def gelu_losses(config):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [16, 8])
        h = x
        for i in range(6):
            w = tf.get_variable(f"w{i}", [8, 8], initializer=tf.glorot_uniform_initializer(seed=i))
            y = tf.matmul(h, w)
            h = 0.5 * y * (1.0 + tf.tanh(0.8 * (y + 0.04 * tf.pow(y, 3.0))))
        loss = tf.reduce_sum(tf.square(h - 1.0))
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        feed = {x: np.random.RandomState(0).rand(16, 8)}
        with initialized_session(config=config) as session:
            return [session.run([loss, train], feed)[0] for _ in range(3)]


def test_the_library_that_finds_the_cut_comes_with_torch():
    assert importlib.import_module("networkx").minimum_cut
