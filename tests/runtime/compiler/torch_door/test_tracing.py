"""Graphs that are put together from single calls: they do what the function does, and a call is traced once."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import headrace as tf
from headrace.core.dtypes import float32
from headrace.core.registry import Kernel
from headrace.resources.state.variable import Variable
from headrace.runtime.compiler.torch_door import tracing
from headrace.runtime.compiler.torch_door.tracing import Calls

CPU = torch.device("cpu")


def kernel(call):
    return Kernel(call, None, (), False, False, False)


def variable(tensor):
    made = Variable("v", float32, CPU)
    made.value = tensor
    return made


class Steps:
    """Functions of two tensors and the buffer of a variable, which call kernels; and how often those were traced."""

    def __init__(self, calls):
        self.traced = 0

        def counted(call):
            def count(*args, **kwargs):
                self.traced += 1
                return call(*args, **kwargs)

            return count

        def of(call):
            return calls.kernel(kernel(counted(call))).call

        self.multiply = of(torch.mul)
        self.turn = of(torch.t)
        self.parts = of(lambda x, count: list(x.chunk(count)))
        self.same = of(lambda x: x)
        self.size = of(lambda x: (x.dim(), x.sum()))
        self.read = of(lambda v: v.value)
        self.plus = of(lambda v, x: (v.value.add_(x), v)[1])
        self.assign = of(lambda v, x: (v.value.copy_(x), v)[1])
        self.doubled_plus = of(lambda v, x: (v.value.mul_(2.0), v.value.add_(x))[1])
        self.put_row = of(lambda v, x: v.value[1].copy_(x))
        self.twice = of(lambda x: [(y := x + 1.0).view(3, 4), y.view(4, 3)])
        self.square_ = of(lambda x: x.square_())
        self.another_buffer = of(lambda v: setattr(v, "value", v.value * 2.0) or v.value)
        self.weighted = of(lambda x: x * torch.tensor([0.0, 1.0, 2.0, 3.0]))

    def many(self, x, y, buffer):
        for _ in range(50):
            x = self.multiply(x, y)
        return (x,)

    def views(self, x, y, buffer):
        first, second, third = self.parts(x, 3)
        return self.multiply(first, third), self.turn(self.turn(second)), self.same(y)

    def numbers(self, x, y, buffer):
        rank, total = self.size(x)
        return self.multiply(y, rank), total

    def unlike_numbers(self, x, y, buffer):
        whole = self.multiply(self.multiply(x, 0), 1)
        return (
            self.multiply(whole, 0.0),
            self.multiply(whole, -0.0),
            self.multiply(x > 2, True),
            self.multiply(x > 2, 1),
        )

    def updated(self, x, y, buffer):
        v = variable(buffer)
        before = self.multiply(self.read(v), 2.0)
        self.plus(self.plus(v, x), y)
        return before, self.read(v), self.multiply(v.value, x)

    def moved(self, x, y, buffer):
        v, w = variable(buffer), variable(y)
        self.assign(v, w.value)
        self.plus(w, x)
        return self.read(v), self.read(w)

    def moved_down(self, x, y, buffer):
        v, w = variable(x), variable(y)
        self.assign(v, w.value)
        self.plus(w, buffer)
        return self.read(v), self.read(w)

    def swapped(self, x, y, buffer):
        v, w = variable(buffer), variable(y)
        old = self.multiply(v.value, 1.0)
        self.assign(v, w.value)
        self.assign(w, old)
        return ()

    def turned(self, x, y, buffer):
        self.plus(variable(x[:, :3]), 1.0)
        return (self.multiply(x, 1.0),)

    def by_itself(self, x, y, buffer):
        v = variable(buffer)
        self.doubled_plus(v, v.value)
        return (self.read(v),)

    def by_its_view(self, x, y, buffer):
        v = variable(buffer)
        self.doubled_plus(v, self.parts(v.value, 1)[0])
        return (self.read(v),)

    def row(self, x, y, buffer):
        v = variable(buffer)
        row = self.put_row(v, self.parts(x, 3)[2][0])
        return self.read(v), row

    def old_view(self, x, y, buffer):
        v = variable(buffer)
        turned = self.turn(v.value)
        self.plus(v, x)
        return (self.multiply(turned, 3.0),)

    def written_view(self, x, y, buffer):
        self.square_(self.turn(buffer))
        return (self.multiply(buffer, y),)

    def written_sibling(self, x, y, buffer):
        """Writes a part of what a kernel made, and reads another that lies in the same memory."""
        whole, again = self.twice(x)
        self.square_(again)
        return (self.multiply(whole, 2.0),)

    def replaced(self, x, y, buffer):
        return (self.another_buffer(variable(buffer)),)

    def constant(self, x, y, buffer):
        return (self.weighted(x),)

    def outside(self, x, y, buffer):
        """Calls of torch that are no kernels."""
        assert x.shape == (3, 4)
        buffer += torch.ones(4)
        return x[1:, ::2] + 1.0, torch.cat([x, y]).mT, buffer * buffer


JOINED = ["many", "views", "numbers", "unlike_numbers", "updated", "moved", "moved_down", "swapped", "outside"]
WHOLE = [
    "by_itself",
    "by_its_view",
    "row",
    "old_view",
    "turned",
    "written_view",
    "written_sibling",
    "replaced",
    "constant",
]


def inputs():
    return [torch.arange(12.0).reshape(3, 4) / 10 + i for i in range(3)]


def traced(name):
    with FakeTensorMode():
        fakes = [torch.empty(3, 4) for _ in range(3)]
    calls = Calls()
    steps = Steps(calls)
    return calls.trace(getattr(steps, name), fakes), steps


@pytest.mark.parametrize("name", [*JOINED, *WHOLE])
def test_the_graph_does_what_the_function_does(name) -> None:
    graph, _ = traced(name)
    expected = getattr(Steps(Calls()), name)(*(second := inputs()))
    results = graph(*(first := inputs()))
    torch.testing.assert_close(tuple(results), tuple(expected))
    torch.testing.assert_close(first, second)
    assert [r.stride() for r in results] == [e.stride() for e in expected]
    assert [torch.signbit(r).any() for r in results] == [torch.signbit(e).any() for e in expected]


@pytest.mark.parametrize("name", [*JOINED, *WHOLE])
def test_what_cannot_be_joined_is_traced_as_a_whole(name, monkeypatch) -> None:
    whole = []
    trace_whole = Calls._whole
    monkeypatch.setattr(Calls, "_whole", lambda self, *args: whole.append(name) or trace_whole(self, *args))
    traced(name)
    assert whole == [n for n in WHOLE if n == name]


def test_a_call_is_traced_once() -> None:
    graph, steps = traced("many")
    assert steps.traced == 1
    assert sum(n.op == "call_function" for n in graph.graph.nodes) == 50


def test_views_lie_in_the_memory_that_they_show() -> None:
    graph, _ = traced("views")
    (output,) = graph.graph.find_nodes(op="output")
    x = next(iter(graph.graph.nodes)).meta["val"]
    turned = output.args[0][1].meta["val"]
    assert turned.untyped_storage()._cdata == x.untyped_storage()._cdata and turned.storage_offset() == 4


def test_an_error_in_a_kernel_is_the_kernels() -> None:
    calls = Calls()

    def refuse(x):
        raise ValueError("on purpose")

    refusing = calls.kernel(kernel(refuse))
    with FakeTensorMode():
        fakes = [torch.empty(3)]
    with pytest.raises(ValueError, match="on purpose"):
        calls.trace(lambda x: [refusing.call(x)], fakes)
    assert not calls._tracing


@pytest.mark.usefixtures("full_length")
def test_a_step_with_repeated_layers_gives_the_same(monkeypatch) -> None:
    def losses(mode):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            h = x = tf.constant([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]])
            for i in range(6):
                h = tf.layers.dense(h, 3, tf.tanh, name=f"layer{i}")
            loss = tf.reduce_sum(tf.square(h - x))
            train = tf.train.AdamOptimizer(0.1).minimize(loss)
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                return [session.run([loss, train])[0] for _ in range(4)]

    learnt = []
    learn = tracing.Calls._learn
    monkeypatch.setattr(tracing.Calls, "_learn", lambda self, *args: learnt.append(args[0]) or learn(self, *args))
    compiled = losses("always")
    assert 0 < len(learnt) < 40  # of some hundred calls
    torch.testing.assert_close(torch.tensor(compiled), torch.tensor(losses("off")))
