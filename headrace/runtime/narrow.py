"""When compiled code fails: which of its nodes it was.

A compiled region only knows that an index was out of bounds somewhere inside it.  Running the region's nodes once more as
generated Python, up to the first write, finds the node, so that the error names it and the user's line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.errors import OpError
from headrace.passes.region import Region
from headrace.passes.step_graph import Node
from headrace.runtime.codegen import Binder, generate
from headrace.runtime.failure import explain

Call = Callable[[Sequence[Any], Sequence[Any]], Any]


def narrowed(call: Call, region: Region, binder: Binder) -> Call:
    """``call``, with errors that name the node that failed."""

    def run(inputs: Sequence[Any], refs: Sequence[Any]) -> Any:
        try:
            return call(inputs, refs)
        except Exception as e:
            raise _narrow(e, region, binder, inputs, refs) from e

    return run


def _narrow(error: Exception, region: Region, binder: Binder, inputs: Sequence[Any], refs: Sequence[Any]) -> Exception:
    """The error of the node that fails when the region is interpreted; ``error`` itself if none does."""
    device = binder.torch_device(region.device)
    if device.type != "cpu":  # a failed kernel of an accelerator leaves nothing to ask
        return error
    constants = [v.op for v in region.inputs if v.op.op_def.name == "Const"]
    plain = [v for v in region.inputs if v.op.op_def.name != "Const"]
    try:
        program = generate([*constants, *_before_writes(region)], [*plain, *region.refs], [], binder, "explanation")
    except Exception:  # noqa: BLE001 - the first error is the one to report
        return error
    try:
        program.function(*inputs, *refs)
    except Exception as e:  # noqa: BLE001 - whatever it is, it is what we are looking for
        found = explain(e, program)
        return found if isinstance(found, OpError) else error
    return error


def _before_writes(region: Region) -> list[Node]:
    """The nodes that neither write nor come after a write, in the order to run."""
    late: set[Node] = set()
    for node in region.nodes:
        if node.op_def.traits.writes or any(p in late for p in node.predecessors()):
            late.add(node)
    return [n for n in region.nodes if n not in late]
