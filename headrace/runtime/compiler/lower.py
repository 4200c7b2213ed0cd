"""A traced region handed to the part of torch's compiler that writes kernels, without the part that makes gradients.

Torch's usual way runs a graph twice more before it is compiled, to find out which inputs it writes and which gradients it needs.
A region has its gradients in it already.  So one more trace is enough: it replaces writes by new values, which it copies into the
inputs at the end, and ops by simpler ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


class Lowered:
    """A function of the graph's inputs, and the code inside, which does the same with a list of them."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled  # which takes parts of the code along when it goes
        self.code: Callable[[list[Any]], Any] = compiled.current_callable

    def __call__(self, *inputs: Any) -> Any:
        return self.code(list(inputs))


def can_lower(fakes: Sequence[Any]) -> bool:
    """Whether these are inputs that ``lower`` takes: on the CPU, of fixed sizes."""
    return bool(fakes) and all(f.device.type == "cpu" and not f._has_symbolic_sizes_strides for f in fakes)


def lower(graph: Any, fakes: Sequence[Any], patches: dict[str, Any]) -> Lowered:
    """The compiled graph as a function of its inputs, which it may write."""
    from torch._guards import TracingContext, tracing
    from torch._inductor import compile_fx, config
    from torch._inductor.virtualized import V

    mode = fakes[0].fake_mode
    with config.patch(patches), tracing(TracingContext(mode)), V.set_fake_mode(mode):
        functional = _functional(graph, fakes)
        functional = compile_fx._recursive_joint_graph_passes(functional, input_device=fakes[0].device)
        output: Any = functional.graph.output_node()
        output.meta["user_visible_output_idxs"] = list(range(len(output.args[0])))  # their strides are kept ...
        compile_fx._recursive_record_user_visible_output_idxs(functional)  # ... and those of shared blocks
        compiled: Any = compile_fx.compile_fx_inner(functional, list(fakes), is_inference=True)
    return Lowered(compiled)


def _functional(graph: Any, fakes: Sequence[Any]) -> Any:
    """The graph without writes, but for copies into inputs at the end, and without ops that can be said in simpler ones."""
    from torch._dispatch.python import enable_python_dispatcher
    from torch._functorch._aot_autograd.functional_utils import from_fun, has_data_mutation, to_fun
    from torch._inductor.decomposition import select_decomp_table
    from torch._subclasses.functional_tensor import FunctionalTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.traceback import preserve_node_meta

    def without_writes(*inputs: Any) -> Any:
        with FunctionalTensorMode():
            shown = [to_fun(x) for x in inputs]
            results = [from_fun(y) for y in graph(*shown)]
        for x, y in zip(inputs, shown, strict=True):
            if has_data_mutation(y):
                x.copy_(from_fun(y))
        return results

    with fakes[0].fake_mode, enable_python_dispatcher(), preserve_node_meta(), torch.no_grad():
        functional = make_fx(without_writes, decomposition_table=select_decomp_table())(*fakes)
    functional.graph.eliminate_dead_code()
    functional.recompile()
    return functional
