"""The primitives of control flow (white paper 4.4): the parts of loops and conditionals across devices, also for direct use.

The executor gives them their meaning (runtime/frame.py); as kernels they pass values on.  A loop is closed by giving a Merge the
output of a NextIteration made later: ``merge.op._update_input(1, next_iteration)``.
"""

from __future__ import annotations

import torch

from headrace.core.dtypes import ANY
from headrace.core.registry import op

switch = op(
    "Switch(data: T, pred: bool) -> (output_false: T, output_true: T)",
    T=ANY,
    primitive="switch",
    view=True,
    opaque=True,
)
switch.shape(lambda data, pred: [data, data])
switch.kernel(lambda data, pred: (data, data))

merge = op("Merge(inputs: N*T) -> (output: T, value_index: int32)", T=ANY, primitive="merge", view=True, opaque=True)
merge.kernel(lambda inputs: (inputs[0], torch.tensor(0, dtype=torch.int32)))


@merge.shape
def _merged(inputs):
    first = inputs[0]
    if any(s.tuple is None or len(s.tuple) != len(first.tuple or ()) for s in inputs) or first.tuple is None:
        return [None, ()]
    dims = zip(*[s.tuple for s in inputs], strict=True)
    return [[d[0] if all(x == d[0] for x in d) else None for d in dims], ()]


enter = op(
    "Enter(data: T; frame_name: string, is_constant: bool = False, parallel_iterations: int = 10) -> (output: T)",
    T=ANY, primitive="enter", view=True, opaque=True,
)  # fmt: skip
enter.shape(lambda data, frame_name, is_constant, parallel_iterations: data)
enter.kernel(lambda data, frame_name, is_constant, parallel_iterations: data)

for _name, _primitive in (("Exit", "exit"), ("NextIteration", "next")):
    _pass = op(f"{_name}(data: T) -> (output: T)", T=ANY, primitive=_primitive, view=True, opaque=True)
    _pass.shape(lambda data: data)
    _pass.kernel(lambda data: data)

# ---- of references: they pass the variable itself on, so that what comes after them can write to it

ref_switch = op(
    "RefSwitch(data: ref T, pred: bool) -> (output_false: ref T, output_true: ref T)",
    T=ANY, primitive="switch", view=True, opaque=True,
)  # fmt: skip
ref_switch.shape(lambda data, pred: [data, data])
ref_switch.kernel(lambda data, pred: (data, data))

ref_merge = op(
    "RefMerge(inputs: ref N*T) -> (output: ref T, value_index: int32)", T=ANY, primitive="merge", view=True, opaque=True
)
ref_merge.shape(_merged)
ref_merge.kernel(lambda inputs: (inputs[0], torch.tensor(0, dtype=torch.int32)))

ref_enter = op(
    "RefEnter(data: ref T; frame_name: string, is_constant: bool = False, parallel_iterations: int = 10) -> (output: ref T)",
    T=ANY, primitive="enter", view=True, opaque=True,
)  # fmt: skip
ref_enter.shape(lambda data, frame_name, is_constant, parallel_iterations: data)
ref_enter.kernel(lambda data, frame_name, is_constant, parallel_iterations: data)

for _name, _primitive in (("RefExit", "exit"), ("RefNextIteration", "next")):
    _pass = op(f"{_name}(data: ref T) -> (output: ref T)", T=ANY, primitive=_primitive, view=True, opaque=True)
    _pass.shape(lambda data: data)
    _pass.kernel(lambda data: data)

ref_identity = op("RefIdentity(input: ref T) -> (output: ref T)", T=ANY, view=True, opaque=True)
ref_identity.shape(lambda input: input)
ref_identity.kernel(lambda input: input)
ref_identity.gradient(lambda node, grad: grad)

loop_cond = op("LoopCond(input: bool) -> (output: bool)", primitive="plain", view=True, opaque=True)
loop_cond.shape(lambda input: input)
loop_cond.kernel(lambda input: input)
