"""Torch's compiler: what it is asked to do, and ops that it lowers as Headrace says.

A region is handed to the part that writes kernels, without the part that makes gradients.
Torch's usual way runs a traced graph three times more before it is compiled, to find out which inputs it writes and which
gradients it needs, and to replace writes and ops by simpler ones.  A region has its gradients in it already.  So one trace is
enough: it replaces writes by new values, which it copies into the inputs at the end, and ops by simpler ones.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import torch

from headrace.resources.calling.torch_op import torch_op
from headrace.runtime.compiler.torch_door.node import op_name
from headrace.runtime.compiler.torch_door.older import as_in_later_versions
from headrace.runtime.compiler.torch_door.tracing import FUNCTIONAL


class Lowered:
    """A function of the graph's inputs, and the code inside, which does the same with a list of them."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled  # which takes parts of the code along when it goes
        # a graph that only hands inputs on is not compiled: it is a function of a list itself
        self.code: Callable[[list[Any]], Any] = getattr(compiled, "current_callable", compiled)

    def __call__(self, *inputs: Any) -> Any:
        return self.code(list(inputs))


def can_lower(graph: Any) -> bool:
    """Whether ``Calls`` has made this graph."""
    return FUNCTIONAL in graph.meta


def begin_with_seeds(graph: Any, fakes: Sequence[Any]) -> None:
    """Has all seeds of a graph that draws random numbers made at its beginning.

    What is left in their places computes: numbers from a seed, the same each time.
    """
    from torch._inductor.fx_passes.replace_random import replace_random_passes
    from torch._inductor.virtualized import V

    nodes = graph.graph.nodes
    if not any(torch.Tag.nondeterministic_seeded in getattr(n.target, "tags", ()) for n in nodes):
        return
    with V.set_fake_mode(fakes[0].fake_mode):
        replace_random_passes(graph)
    seeds = [n for n in nodes if op_name(n) in SEEDS]
    first = next(n for n in nodes if n.op == "call_function" and n not in seeds)
    for node in seeds:
        first.prepend(node)
    graph.recompile()


SEEDS: Final = ("inductor_seeds", "inductor_seed", "inductor_lookup_seed")


def lower(graph: Any, fakes: Sequence[Any], patches: dict[str, Any]) -> Lowered:
    """The compiled graph, which ``Calls`` has made, as a function of its inputs, which it may write."""
    from torch._guards import TracingContext, tracing
    from torch._inductor import compile_fx, config
    from torch._inductor.virtualized import V

    mode = fakes[0].fake_mode
    with (
        config.patch(patches), tracing(TracingContext(mode)), V.set_fake_mode(mode), _known_results_of_blocks(),
        as_in_later_versions(),
    ):  # fmt: skip
        graph = compile_fx._recursive_joint_graph_passes(graph, input_device=fakes[0].device)
        output: Any = graph.graph.output_node()
        output.meta["user_visible_output_idxs"] = list(range(len(output.args[0])))  # their strides are kept ...
        compile_fx._recursive_record_user_visible_output_idxs(graph)  # ... and those of shared blocks
        compiled: Any = compile_fx.compile_fx_inner(graph, list(fakes), is_inference=True)
    return Lowered(compiled)


@contextmanager
def _known_results_of_blocks() -> Iterator[None]:
    """Meanwhile the shapes of a shared block's results are read off its graph.

    Torch would run its body for each call to learn them, since it keeps none for subgraphs that hold ops of ours.  The caller
    holds ``compile.compiler``.
    """
    from torch._higher_order_ops.utils import registered_hop_fake_fns
    from torch.fx.passes import fake_tensor_prop

    invoke: Any = torch.ops.higher_order.invoke_subgraph
    walk: Any = fake_tensor_prop.FakeTensorProp
    run_body, run_node = registered_hop_fake_fns[invoke], walk.run_node

    def known(subgraph: Any, identifier: str, *operands: Any) -> Any:
        return tuple(torch.empty_like(n.meta["val"]) for n in subgraph.graph.output_node().args[0])

    registered_hop_fake_fns[invoke] = known
    walk.run_node = lambda self, node: node.meta["val"] if node.target is invoke else run_node(self, node)
    try:
        yield
    finally:
        registered_hop_fake_fns[invoke], walk.run_node = run_body, run_node


def compile_as_torch_does(graph: Any, fakes: Sequence[Any], settings: dict[str, Any]) -> Any:
    """The compiled graph as a function of its inputs, by all parts of torch's compiler."""
    from torch._inductor import standalone_compile

    return standalone_compile(graph, list(fakes), dynamic_shapes="from_graph", options={"config_patches": settings})


# ---- the compiler's processes and files


def import_compiler() -> None:
    """Imports what compiling the first region would import, and has the compilers started that will work side by side.

    They are copies of this process as it is then: with all imported, and without a context on a GPU.
    """
    for name in ("compile_fx", "lowering", "runtime.triton_heuristics"):
        importlib.import_module(f"torch._inductor.{name}")
    importlib.import_module("torch._inductor.async_compile").AsyncCompile.use_process_pool()


def start_kernel_compilers() -> None:
    """Has the processes started that compile kernels for a GPU side by side; until they are ready, this one does it alone.

    Meanwhile a thread reads the whole of Triton, of which a checksum is needed.
    """
    async_compile: Any = importlib.import_module("torch._inductor.async_compile")
    cache: Any = importlib.import_module("torch._inductor.codecache").CacheBase
    async_compile.maybe_warm_pool()
    threading.Thread(target=cache.get_system, daemon=True).start()


def keep_files_in(place: str, headers: str) -> None:
    """Has torch's compiler keep its files in the folder ``place``, and precompiled headers in another."""
    codecache: Any = importlib.import_module("torch._inductor.codecache")
    codecache._HEADER_DIR = headers
    codecache._HEADER_LOCK_DIR = f"{headers}/locks"
    for name in ("codecache", "runtime.cache_dir_utils", "runtime.runtime_utils"):
        module: Any = importlib.import_module(f"torch._inductor.{name}")
        module.default_cache_dir = lambda: place


# ---- ops


def own(graph: Any, node: Any) -> Any:
    """The node's value in memory of its own."""
    copy = graph.call_function(owned(), (node,))
    copy.meta["val"] = torch.empty_like(node.meta["val"])
    return copy


@cache
def owned() -> Any:
    """An op that hands its argument on, as memory that is neither an input's nor another output's.

    The compiler leaves out what changes nothing (``x * 1``), and would return the input.  Who calls the subgraph relies on the
    results being new.
    """
    from torch._inductor import ir
    from torch._inductor.lowering import clone, register_lowering
    from torch._inductor.virtualized import V

    own_layouts = ir.FixedLayout, ir.FlexibleLayout  # others are in the memory of something else
    # Pointwise: then a sum that it returns stays apart from the product before it, else the library would copy the summand.
    op = torch_op("owned(Tensor x) -> Tensor", torch.clone, torch.empty_like, pointwise=True)

    @register_lowering(op, type_promotion_kind=None)
    def _(x: Any) -> Any:
        x.realize()
        taken = V.graph.__dict__.setdefault("headrace_owned", set())
        buffer = x.data.data if isinstance(x.data, ir.StorageBox) else None  # else a view
        is_own = isinstance(buffer, ir.ComputedBuffer | ir.ExternKernel) and type(buffer.layout) in own_layouts
        if not is_own or x.get_name() in taken:
            return clone(x)
        taken.add(x.get_name())
        return x

    return op


@cache
def joined() -> Any:
    """Concatenation that stays a library call."""
    from torch._inductor.lowering import fallback_handler, register_lowering

    op = torch_op("joined(Tensor[] pieces, int dim=0) -> Tensor", torch.cat)
    call = fallback_handler(torch.ops.aten.cat.default, add_to_fallback_set=False)  # type: ignore[no-untyped-call]
    register_lowering(op, type_promotion_kind=None)(call)
    return op


@cache
def stored_op() -> Any:
    """An op that hands its argument on and has inductor store it there."""
    from torch._inductor.lowering import register_lowering

    op = torch_op("stored(Tensor x) -> Tensor", torch.clone, torch.empty_like)

    @register_lowering(op, type_promotion_kind=None)
    def _(x: Any) -> Any:
        x.realize()
        return x

    return op
