"""A region handed to the part of torch's compiler that writes kernels, without the part that makes gradients.

Torch's usual way runs a traced graph three times more before it is compiled, to find out which inputs it writes and which
gradients it needs, and to replace writes and ops by simpler ones.  A region has its gradients in it already.  So one trace is
enough: it replaces writes by new values, which it copies into the inputs at the end, and ops by simpler ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from headrace.runtime.compiler.trace import FUNCTIONAL


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


def lower(graph: Any, fakes: Sequence[Any], patches: dict[str, Any]) -> Lowered:
    """The compiled graph, which ``Calls`` has made, as a function of its inputs, which it may write."""
    from torch._guards import TracingContext, tracing
    from torch._inductor import compile_fx, config
    from torch._inductor.virtualized import V

    mode = fakes[0].fake_mode
    with config.patch(patches), tracing(TracingContext(mode)), V.set_fake_mode(mode), _known_results_of_blocks():
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
