"""Finds the node behind an error of compiled code.

A compiled region only knows that an index was out of bounds somewhere inside it.  Running the region's nodes once more as
generated Python, up to the first write, then with writes to copies, finds the node, so that the error names it and the user's
line.  If a variable has been assigned another shape meanwhile, nothing is wrong, and the region is interpreted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.errors import OpError
from headrace.passes.region import Region
from headrace.passes.step_graph import Node
from headrace.resources.state.variable import Variable
from headrace.runtime.code.codegen import Binder, Program, generate
from headrace.runtime.code.failure import node_error, raisable

Call = Callable[[Sequence[Any], Sequence[Any]], Any]


def narrowed(call: Call, region: Region, binder: Binder) -> Call:
    """``call``, with errors that name the node that failed, and for inputs that are views of other memory."""

    def run(inputs: Sequence[Any], refs: Sequence[Any]) -> Any:
        inputs = [t.contiguous() for t in inputs]  # itself, unless another node gave a view
        try:
            return call(inputs, refs)
        except AssertionError as e:  # compiled code checks the shapes of its inputs first
            if not _reshaped(region, refs):
                raise _narrow(e, region, binder, inputs, refs)  # noqa: B904 - it has its cause
            return interpreted(*inputs, *refs)
        except Exception as e:
            raise _narrow(e, region, binder, inputs, refs)  # noqa: B904 - it has its cause

    def interpreted(*arguments: Any) -> Any:
        program = programs.get("interpreted")
        if program is None:
            constants = [v.op for v in region.constants]
            order = [*region.plain, *region.refs]
            program = generate([*constants, *region.nodes], order, region.outputs, binder, "region")
            programs["interpreted"] = program
        try:
            return program.call(*arguments)
        except Exception as e:
            raise raisable(e, program)  # noqa: B904 - it has its cause

    programs: dict[str, Program] = {}
    return run


def _reshaped(region: Region, refs: Sequence[Any]) -> bool:
    """Whether a variable was assigned another shape than it was declared with (``assign(..., validate_shape=False)``)."""
    declared = [v.shape.tuple for v in region.refs]
    return any(r.initialized and tuple(r.value.shape) != d for r, d in zip(refs, declared, strict=True))


def _narrow(error: Exception, region: Region, binder: Binder, inputs: Sequence[Any], refs: Sequence[Any]) -> Exception:
    """The error of the node that fails when the region is interpreted; ``error`` itself if none does."""
    device = binder.torch_device(region.device)
    if device.type != "cpu":  # after a failed kernel an accelerator does not answer
        return error
    failure = _failure(_before_writes(region), region, binder, inputs, refs)
    if failure is None and any(n.op_def.traits.writes for n in region.nodes):
        try:
            copies = [_copy(r) for r in refs]
        except (MemoryError, RuntimeError):  # no room for them
            return error
        failure = _failure(region.nodes, region, binder, inputs, copies)
    if failure is None:
        return error
    failure.__cause__ = error
    return failure


def _failure(
    nodes: Sequence[Node], region: Region, binder: Binder, inputs: Sequence[Any], refs: Sequence[Any]
) -> Exception | None:
    """The error of the first of these nodes that fails, with the node's name; None if none does."""
    constants = [v.op for v in region.constants]
    try:
        program = generate([*constants, *nodes], [*region.plain, *region.refs], [], binder, "explanation")
    except Exception:  # noqa: BLE001 - the first error is the one to report
        return None
    try:
        program.call(*inputs, *refs)
    except Exception as e:  # noqa: BLE001 - whatever it is, it is what we are looking for
        failure = node_error(e, program)
        return failure if isinstance(failure, OpError) else None
    return None


def _copy(variable: Variable) -> Variable:
    """Another variable of the same value, to try writes on."""
    copy = Variable(variable.name, variable.dtype, variable.device, variable.shape, variable.order)
    if variable.initialized:
        copy.hold(variable.value.clone())
    return copy


def _before_writes(region: Region) -> list[Node]:
    """The nodes that neither write nor come after a write, in the order to run."""
    late: set[Node] = set()
    for node in region.nodes:
        if node.op_def.traits.writes or any(p in late for p in node.predecessors()):
            late.add(node)
    return [n for n in region.nodes if n not in late]
