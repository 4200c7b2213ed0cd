"""A region as an FX graph without writes, in which no call is traced twice.

Torch traces a call in a millisecond or two: it goes through layers for writes, for simpler ops, for shapes and for the graph.
An unrolled network makes the same few calls with tensors of the same shapes, hundreds of times.  So a kernel is traced by itself
when it is first called with tensors of some form, and the nodes which that gave are copied from then on.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from headrace.core.registry import Kernel
from headrace.resources.state.variable import Variable
from headrace.runtime.compiler.torch_door.node import base, is_view

log = logging.getLogger("headrace.compile")

aten = torch.ops.aten
DEVICES: Final = ("cpu", "cuda")
FUNCTIONAL: Final = "headrace_functional"  # in the meta of a graph that ``Calls`` made

BY_INDEX: Final = (
    aten.index_select.default, aten.index_copy.default, aten.index_copy_.default, aten.index_add.default,
    aten.index_add_.default,
)  # fmt: skip

Around = Callable[[], AbstractContextManager[Any]]


class _Unusual(Exception):
    """What calls that are traced by themselves cannot do."""


@dataclass(frozen=True)
class _Pattern:
    """What a call did: the nodes it left, and its results as nodes of these, as numbers of its inputs, or as they are."""

    inputs: Sequence[Any]  # placeholders
    nodes: Sequence[Any]
    results: Sequence[Any]
    spec: Any  # of the results
    written: Sequence[tuple[int, Any]]  # numbers of inputs, and the nodes of what they hold afterwards


@dataclass(frozen=True)
class _Input:
    """A result that is an input of the call, or the buffer of a variable that is one."""

    number: int
    buffer: bool


def can_trace(fakes: Sequence[Any]) -> bool:
    """Whether these are inputs of fixed sizes, on a device that was tried."""
    return bool(fakes) and all(f.device.type in DEVICES and not f._has_symbolic_sizes_strides for f in fakes)


def fake_mode(sizes: Any = None) -> Any:
    """Meanwhile tensors have shapes but no values; with ``sizes`` (a ``ShapeEnv``) these may be symbols."""
    from torch._subclasses.fake_tensor import FakeTensorMode  # which imports sympy

    return FakeTensorMode(shape_env=sizes)


def traced_as_it_runs(run: Callable[..., Any], inputs: Sequence[Any], **settings: Any) -> Any:
    """The function's graph, writes and all."""
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(run, **settings)(*inputs)


def as_python(expression: Any, names: dict[Any, str]) -> str:
    """A condition on sizes as Python, its symbols under these names."""
    from torch.utils._sympy.printers import PythonPrinter

    class Printer(PythonPrinter):
        def _print_Symbol(self, expr: Any) -> str:  # noqa: N802 - the name sympy calls
            return names[expr]

    text: str = Printer().doprint(expression)
    return text


def refusing_negative_indices(device: torch.device) -> AbstractContextManager[Any]:
    """Meanwhile negative indices are traced as ones past the end, where compiled code for the CPU refuses them as torch does.

    Left alone, inductor counts them from the end, and reads or writes a row that nobody named.
    """
    return _refusing()() if device.type == "cpu" else nullcontext()


@cache
def _refusing() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Refusing(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func in BY_INDEX:
                tensor, dimension, index, *rest = args
                past = torch.iinfo(index.dtype).max
                args = (tensor, dimension, torch.where(index < 0, past, index), *rest)
            return func(*args, **(kwargs or {}))

    return Refusing


class Calls(TorchFunctionMode):
    """Traces a function of tensors whose kernels came from ``kernel``.

    While it runs, tensors are fake ones that nobody computes with; of each this knows the node.  Kernels run in the context that
    ``around`` makes.
    """

    def __init__(self, around: Around = nullcontext) -> None:
        super().__init__()
        self._tree: Any = importlib.import_module("torch.utils._pytree")
        self._around = around
        self._numbers = itertools.count()
        self._known: dict[Any, _Pattern] = {}
        self._tracing = False

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel as the traced function must call it."""
        from torch.overrides import _pop_mode_temporarily as without_this_mode

        call = kernel.call

        def traced(*args: Any, **kwargs: Any) -> Any:
            if not self._tracing:
                return call(*args, **kwargs)
            with without_this_mode():
                return self._call(call, args, kwargs)

        return replace(kernel, call=traced)

    def trace(self, run: Callable[..., Sequence[Any]], fakes: Sequence[Any]) -> Any:
        """The function's graph: without writes, but for copies into inputs at the end."""
        from torch._inductor.decomposition import select_decomp_table

        self._mode = fakes[0].fake_mode
        self._table = select_decomp_table()
        try:
            graph = self._joined(run, fakes)
        except _Unusual as e:
            log.debug("a region is traced as a whole: %s", e)
            graph = self._whole(run, fakes)
        graph.graph.eliminate_dead_code()
        graph.meta[FUNCTIONAL] = True
        return graph

    def _joined(self, run: Callable[..., Sequence[Any]], fakes: Sequence[Any]) -> Any:
        """The graph, from the nodes of single calls."""
        self._graph = torch.fx.Graph()
        self._given = {id(fake) for fake in fakes}
        self._fakes: list[Any] = []  # kept, since they are known by their addresses
        self._nodes: dict[int, Any] = {}
        self._views: dict[int, tuple[int, int]] = {}  # of what a tensor is a view, and how often that had been written
        self._writes: dict[int, int] = {}
        placeholders = [self._graph.placeholder(f"input_{i}") for i in range(len(fakes))]
        for fake, node in zip(fakes, placeholders, strict=True):
            self._know(fake, node)
        results: list[Any] = []
        self._functional(lambda: self._run(run, fakes, results), [])
        outputs = [self._node(x) for x in results]
        for fake, node in zip(fakes, placeholders, strict=True):
            if self._nodes[id(fake)] is not node:
                last = self._graph.call_function(aten.copy_.default, (node, self._nodes[id(fake)]))
                last.meta["val"] = fake
        self._graph.output(outputs)
        return torch.fx.GraphModule(torch.nn.Module(), self._graph)

    def _run(self, run: Callable[..., Sequence[Any]], fakes: Sequence[Any], results: list[Any]) -> list[Any]:
        """Runs the function inside a trace to which only ``_learn`` returns; what that leaves behind is not used otherwise."""
        from torch.fx.experimental.proxy_tensor import get_proxy_mode
        from torch.utils._python_dispatch import _disable_current_modes

        self._proxies: Any = get_proxy_mode()
        self._tracing = True
        try:
            with _disable_current_modes(), self:
                results.extend(run(*fakes))
        finally:
            self._tracing = False
        return []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """A call of torch outside kernels."""
        kwargs = kwargs or {}
        with self._mode:
            found = func(*args, **kwargs)
        if not any(isinstance(x, torch.Tensor) for x in self._tree.tree_leaves(found)):  # a shape, a type
            return found
        return self._call(func, args, kwargs)

    def _call(self, func: Any, args: Any, kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():  # by which torch follows each look at a tensor while it traces
            leaves, spec = self._tree.tree_flatten((args, kwargs))
            key: Any = (func, spec, *map(_form, leaves))
            try:
                pattern = self._known.get(key)
            except TypeError:  # something that cannot be compared
                key = pattern = None
        if pattern is None:
            pattern = self._learn(func, leaves, spec)
            if key is not None:
                self._known[key] = pattern
        with torch._C.DisableTorchFunction():
            return self._copy(pattern, [x for x in leaves if isinstance(x, (torch.Tensor, Variable))])

    # ---- the first call

    def _learn(self, func: Any, leaves: Sequence[Any], spec: Any) -> _Pattern:
        """Traces the call by itself."""
        from torch._functorch._aot_autograd.functional_utils import from_fun, has_data_mutation, to_fun
        from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
        from torch.fx.experimental.proxy_tensor import track_tensor_tree

        proxy_of: Any = importlib.import_module("torch.fx.experimental.proxy_tensor").get_proxy_slot
        tracer = self._proxies.tracer
        inputs = [x for x in leaves if isinstance(x, (torch.Tensor, Variable))]
        tensors = [self._like(_tensor(x)) for x in inputs]
        proxies = [tracer.create_proxy("placeholder", f"x{next(self._numbers)}", (), {}) for _ in inputs]
        placeholders = [proxy.node for proxy in proxies]
        last = next(iter(reversed(tracer.graph.nodes)), None)
        for tensor, proxy in zip(tensors, proxies, strict=True):
            track_tensor_tree(tensor, proxy, constant=None, tracer=tracer)

        def node(x: Any) -> Any:
            return proxy_of(from_fun(x), tracer).proxy.node

        self._tracing = False
        try:
            with self._mode, self._proxies, FunctionalTensorMode():
                shown = [to_fun(x) for x in tensors]
                given = [_holder(x, y) if isinstance(x, Variable) else y for x, y in zip(inputs, shown, strict=True)]
                rest = iter(given)
                args, kwargs = self._tree.tree_unflatten(
                    [next(rest) if isinstance(x, (torch.Tensor, Variable)) else x for x in leaves], spec
                )
                with self._around():
                    found, found_spec = self._tree.tree_flatten(func(*args, **kwargs))
                if any(isinstance(x, Variable) and x.value is not y for x, y in zip(given, shown, strict=True)):
                    raise _Unusual("a variable gets another buffer")
                results: list[Any] = []
                for x in found:
                    same = next((i for i, y in enumerate(given) if x is y or x is shown[i]), None)
                    if same is not None:
                        results.append(_Input(same, x is shown[same]))
                    elif isinstance(x, torch.Tensor) and not isinstance(x, FunctionalTensor):
                        raise _Unusual("a tensor that was not traced")
                    else:
                        results.append(node(x) if isinstance(x, torch.Tensor) else x)
                written = [(i, node(y)) for i, y in enumerate(shown) if has_data_mutation(y)]
        finally:
            self._tracing = True
        nodes = _since(tracer.graph, last)
        if any(n.op != "call_function" for n in nodes):
            raise _Unusual("a constant tensor, or a graph in the graph")
        if any(n.target is aten.as_strided.default for n in nodes) and any(_tensor(x).storage_offset() for x in inputs):
            raise _Unusual("memory is read from a place that its view does not say")
        return _Pattern(placeholders, nodes, results, found_spec, written)

    def _functional(self, run: Any, fakes: Sequence[Any]) -> Any:
        from torch._dispatch.python import enable_python_dispatcher
        from torch.fx.experimental.proxy_tensor import make_fx

        with self._mode, enable_python_dispatcher(), torch.no_grad():
            return make_fx(run, decomposition_table=self._table)(*fakes)

    # ---- every call

    def _copy(self, pattern: _Pattern, inputs: Sequence[Any]) -> Any:
        """Adds the nodes of such a call to the graph; its results."""
        tensors = [_tensor(x) for x in inputs]
        new = {n: self._node(x) for n, x in zip(pattern.inputs, tensors, strict=True)}
        for node in pattern.nodes:
            new[node] = made = self._again(node, new.__getitem__)
            made.meta["val"] = self._value(made)
        for number, node in pattern.written:
            self._write(tensors[number], new[node], tensors)
        results = []
        for x in pattern.results:
            if isinstance(x, _Input):
                results.append(tensors[x.number] if x.buffer else inputs[x.number])
            elif isinstance(x, torch.fx.Node):
                results.append(self._result(x, new, pattern, tensors))
            else:
                results.append(x)
        return self._tree.tree_unflatten(results, pattern.spec)

    def _again(self, node: Any, argument: Callable[[Any], Any]) -> Any:
        """The node once more.  It gets a name of its own: for that of the other one torch would try all numbers in turn."""
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), argument)
        made = self._graph.create_node(node.op, node.target, args, kwargs, type_expr=node.type)
        made.meta = dict(node.meta)
        return made

    def _result(self, node: Any, new: dict[Any, Any], pattern: _Pattern, tensors: Sequence[Any]) -> Any:
        """The fake tensor of a node."""
        origin = base(node)
        if any(base(result) is origin for _, result in pattern.written):
            raise _Unusual("a view of what is written")
        if origin not in pattern.inputs:
            return self._know(new[node].meta["val"], new[node])
        seen = tensors[pattern.inputs.index(origin)]
        if any(tensors[number] is seen for number, _ in pattern.written):
            raise _Unusual("what an input held before it was written")
        if origin is node:
            return seen
        fake = self._know(new[node].meta["val"], new[node])
        shown = self._shown(seen)
        self._views[id(fake)] = (shown, self._writes.get(shown, 0))
        return fake

    def _write(self, fake: Any, node: Any, inputs: Sequence[Any]) -> None:
        if id(fake) not in self._given or sum(self._shown(x) == id(fake) for x in inputs) > 1:
            raise _Unusual("something else than an input is written, or a view of it is read meanwhile")
        self._nodes[id(fake)] = node
        self._writes[id(fake)] = self._writes.get(id(fake), 0) + 1

    def _shown(self, fake: Any) -> int:
        """The address of the fake tensor in whose memory this one lies."""
        return self._views.get(id(fake), (id(fake), 0))[0]

    def _know(self, fake: Any, node: Any) -> Any:
        node.meta["val"] = fake
        self._fakes.append(fake)
        self._nodes[id(fake)] = node
        return fake

    def _node(self, fake: Any) -> Any:
        node = self._nodes.get(id(fake))
        if node is None:
            raise _Unusual("a tensor from elsewhere")
        shown, writes = self._views.get(id(fake), (0, 0))
        if self._writes.get(shown, 0) != writes:
            raise _Unusual("a view is read after what it shows was written")
        return node

    def _value(self, node: Any) -> Any:
        """A value like that of the node this was copied from; a view shares the memory of what it shows."""
        if node.target is operator.getitem:
            return node.args[0].meta["val"][node.args[1]]
        if is_view(node):
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: n.meta["val"])
            with self._mode:
                return node.target(*args, **kwargs)
        value = node.meta["val"]
        return self._like(value) if isinstance(value, torch.Tensor) else self._tree.tree_map(self._like, value)

    def _like(self, fake: Any) -> Any:
        """Another fake tensor of the same form; anything else as it is."""
        if not isinstance(fake, torch.Tensor):
            return fake
        memory = torch.empty_strided(fake.shape, fake.stride(), dtype=fake.dtype, device="meta")
        return type(fake)(self._mode, memory, fake.device)

    # ---- all of it at once

    def _whole(self, run: Callable[..., Sequence[Any]], fakes: Sequence[Any]) -> Any:
        """The graph, from one trace of the whole function."""
        from torch._functorch._aot_autograd.functional_utils import from_fun, has_data_mutation, to_fun
        from torch._subclasses.functional_tensor import FunctionalTensorMode

        def without_writes(*inputs: Any) -> Any:
            with FunctionalTensorMode():
                shown = [to_fun(x) for x in inputs]
                with self._around():
                    found = run(*shown)
                results = [from_fun(y) for y in found]
            for x, y in zip(inputs, shown, strict=True):
                if has_data_mutation(y):
                    x.copy_(from_fun(y))
            return results

        return self._functional(without_writes, fakes)


def _since(graph: Any, last: Any) -> list[Any]:
    """The nodes after the last one that there was."""
    nodes = list(itertools.takewhile(lambda n: n is not last, reversed(graph.nodes)))
    return nodes[::-1]


def _tensor(x: Any) -> Any:
    return x.value if isinstance(x, Variable) else x


def _holder(variable: Variable, tensor: Any) -> Variable:
    """Such a variable with another buffer."""
    holder = Variable(variable.name, variable.dtype, variable.device, variable.shape, variable.order)
    holder.value = tensor
    return holder


def _form(x: Any) -> Any:
    """All that a trace can know of an argument, to look it up by."""
    if isinstance(x, Variable):
        return (x.dtype, x.device, x.shape, _form(x.value))
    if isinstance(x, torch.Tensor):
        return (x.shape, x.stride(), bool(x.storage_offset()), x.dtype, x.device)
    return (type(x), repr(x) if isinstance(x, (float, complex, np.number)) else x)  # 0.0 equals -0.0
