"""_Region: a compiled part of a step as one node.  Its kernel hands tensors and buffers to the compiled function."""

from __future__ import annotations

from headrace.core.dtypes import ANY
from headrace.core.registry import op
from headrace.resources.state.variable import mark_written

region = op(
    "_Region(inputs: list(Tin), refs: ref list(Tref); call: any, Tout: list(type), written: any, made: any)"
    " -> (outputs: list(Tout))",
    Tin=ANY, Tref=ANY, Tout=ANY, stateful=True, writes=True, transfers=True, compiled=True,
)  # fmt: skip
region.not_differentiable()


@region.kernel
def _(inputs, refs, call, Tout, written, made):  # noqa: N803
    try:
        return call(inputs, refs)
    finally:
        mark_written(refs, inputs, written)
