"""The primitives of control flow (white paper 4.4): the parts of loops and conditionals across devices, also for direct use.

The executor gives them their meaning (runtime/drive/frame.py); as kernels they pass values on.  A loop is closed by giving a
Merge the output of a NextIteration made later: ``merge.op._update_input(1, next_iteration)``.
"""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY
from headrace.core.registry import op

_TRAITS = {"T": ANY, "view": True, "opaque": True}


def _both(signature, primitive, shape, kernel):
    """Declares an op on values and its form for references, which passes the variable itself on, to be written to.

    ``{ref}`` in the signature stands before the types that are references in the second form.
    """
    for prefix, ref in (("", ""), ("Ref", "ref ")):
        declared = op(prefix + signature.format(ref=ref), primitive=primitive, **_TRAITS)
        declared.shape(shape)
        declared.kernel(kernel)


def _merged(inputs):
    first = inputs[0]
    if any(s.tuple is None or len(s.tuple) != len(first.tuple or ()) for s in inputs) or first.tuple is None:
        return [None, ()]
    dims = zip(*[s.tuple for s in inputs], strict=True)
    return [[d[0] if all(x == d[0] for x in d) else None for d in dims], ()]


_both(
    "Switch(data: {ref}T, pred: bool) -> (output_false: {ref}T, output_true: {ref}T)",
    "switch",
    lambda data, pred: [data, data],
    lambda data, pred: (data, data),
)
_both(
    "Merge(inputs: {ref}N*T) -> (output: {ref}T, value_index: int32)",
    "merge",
    _merged,
    lambda inputs: (inputs[0], torch.tensor(0, dtype=torch.int32)),
)
_both(
    "Enter(data: {ref}T; frame_name: string, is_constant: bool = False, parallel_iterations: int = 10)"
    " -> (output: {ref}T)",
    "enter",
    lambda data, frame_name, is_constant, parallel_iterations: data,
    lambda data, frame_name, is_constant, parallel_iterations: data,
)
for _name, _primitive in (("Exit", "exit"), ("NextIteration", "next")):
    _both(f"{_name}(data: {{ref}}T) -> (output: {{ref}}T)", _primitive, lambda data: data, lambda data: data)

ref_identity = op("RefIdentity(input: ref T) -> (output: ref T)", **_TRAITS)
ref_identity.shape(lambda input: input)
ref_identity.kernel(lambda input: input)
ref_identity.gradient(lambda node, grad: grad)

# It counts as a write to each of its variables, because what comes after it may write to any: reads of them are kept apart.
ref_select = op(
    "RefSelect(index: host int32, inputs: ref N*T) -> (output: ref T)", writes=True, stateful=True, **_TRAITS
)


@ref_select.shape
def _(index, inputs):
    if isinstance(index, list):
        raise ValueError(f"Shape must be rank 0 but is rank 1: index is a list of {len(index)} numbers")
    same = all(s.is_fully_defined() and s == inputs[0] for s in inputs)
    return inputs[0] if same else None


@ref_select.kernel
def _(index, inputs):
    if not 0 <= index < len(inputs):
        raise ValueError(f"Index must be in the range [0, {len(inputs)}) but got {index}")
    return inputs[index]


loop_cond = op("LoopCond(input: bool) -> (output: bool)", primitive="plain", view=True, opaque=True)
loop_cond.shape(lambda input: input)
loop_cond.kernel(lambda input: input)

# It runs when all that it waits for has run or is dead: a NoOp where nothing can be dead.
control_trigger = op("ControlTrigger() -> ()", primitive="trigger", stateful=True)
control_trigger.kernel(lambda: ())
