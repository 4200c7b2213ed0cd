"""Updates that another worker has begun: their nodes a second time, each write under a condition.

A worker that is lost while it makes an update may have changed some variables and not others.  So each write is noted where it is
made, with the ticket of its update (`headrace.resources.state.replicas.written`).  Who leads next runs a copy of the update's
nodes in which a write that is done is left out.  What reads a variable after such a write finds there what the write has put.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.graph import context, raw_ops
from headrace.graph.body import FuncGraph, ancestors
from headrace.graph.operation import Operation, Tensor
from headrace.library.control.control_flow import cond
from headrace.library.control.dependency import group, no_op
from headrace.library.scope import colocate_with, control_dependencies, name_scope
from headrace.library.tensor.creation import zeros


class Writes:
    """The writes among the nodes of an update, in the order in which these were made."""

    def __init__(self, name: str, update: Any, made: Operation) -> None:
        """``name``: of the replicas.  ``update``: what `_NextUpdate` gives.  ``made``: the last node of the update."""
        self._update, self._made = update, made
        needed = ancestors([made])
        self._ops = [op for op in made.graph.get_operations()[update.ticket.op._id + 1 :] if op in needed]
        self._done: dict[Operation, Tensor] = {}
        for op in filter(_writes, self._ops):
            with colocate_with(op, ignore_existing=True):
                self._done[op] = raw_ops._Written(shared_name=f"{name}/write_{len(self._done)}")

    def note(self) -> Operation:
        """Has each of them noted when it is done, before anything that waits for it; ends when all are."""
        notes = {op: self._note(op, op, self._update.ticket) for op in self._done}
        for op in self._ops:
            waits_for = [*op.control_inputs, *(tensor.op for tensor in op.inputs)]
            op._add_control_inputs([notes[one] for one in waits_for if one in notes])
        return group(self._made, *notes.values())

    def _note(self, op: Operation, made: Operation, ticket: Tensor) -> Operation:
        with colocate_with(op, ignore_existing=True), control_dependencies([made]):
            return raw_ops._NoteWritten(self._done[op], ticket)  # type: ignore[no-any-return]

    def finish(self, update: Any) -> Operation:
        """The last node of a copy that makes another ``update``, without the writes of it that are done.

        Before any of them it takes all gradients: some may not be there any more, as a server was started again.
        """
        instead: dict[Tensor, Tensor] = dict(zip(self._update, update, strict=True))
        copies: dict[Operation, Operation] = {self._update.ticket.op: update.ticket.op}
        taken: list[Operation] = []
        with name_scope("finish"), control_dependencies(None):
            for op in self._ops:
                before = [*op.control_inputs, *(tensor.op for tensor in op.inputs)]
                after = [copies.get(one, one) for one in before]
                inputs = [instead.get(tensor, tensor) for tensor in op.inputs]
                if op in self._done:
                    copies[op] = self._unless_done(op, inputs, [*after, *taken], update.ticket, instead)
                elif after != before:
                    copies[op] = _same(op, inputs)
                    copies[op]._add_control_inputs(after)
                    instead.update(zip(op.outputs, copies[op].outputs, strict=True))
                    if update.ticket.op in after:
                        taken.append(copies[op])
        return copies[self._made]

    def _unless_done(
        self, op: Operation, inputs: list[Tensor], after: Iterable[Operation], ticket: Tensor,
        instead: dict[Tensor, Tensor],
    ) -> Operation:  # fmt: skip
        """A write under its condition.  In place of the handles that it passes on stand those that it was given."""
        values = [output for output in op.outputs if not output.dtype.is_ref_dtype]

        def write() -> list[Any]:
            made = _same(op, inputs)
            copied = [raw_ops.Identity(one) for one in made.outputs if not one.dtype.is_ref_dtype]
            return [self._note(op, made, ticket), *copied]

        def nothing() -> list[Any]:  # what a conditional with writes gives is a sign of its end, no value that is used
            return [no_op(), *(zeros([size or 0 for size in one.shape.tuple or ()], one.dtype) for one in values)]

        with colocate_with(op, ignore_existing=True), control_dependencies(list(dict.fromkeys(after))):
            done, *others = cond(raw_ops._IsWritten(self._done[op], ticket), nothing, write, strict=True)
        instead.update(dict.fromkeys(op.outputs, inputs[0]))
        instead.update(zip(values, others, strict=True))
        return done.op  # type: ignore[no-any-return]


def _writes(op: Any) -> bool:
    """Whether the node changes variables, or a body that it holds does."""
    bodies = [value for value in op.attrs.values() if isinstance(value, FuncGraph)]
    return op.op_def.traits.writes or any(_writes(one) for body in bodies for one in body.get_operations())


def _same(op: Any, inputs: list[Tensor]) -> Operation:
    """The same node of other inputs, in the default graph."""
    graph = context.get_default_graph()
    copy = graph.create_op(op.op_def, inputs, [one.dtype for one in op.outputs], name=op.type, attrs=dict(op.attrs))
    copy._set_device(op.device)
    if graph is op.graph:
        copy.colocation = op.colocation
    return copy
