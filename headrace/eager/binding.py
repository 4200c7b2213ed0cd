"""``Bound``: an op with all that its dtypes and attributes decide.  ``run`` calls it on eager tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace.core.dtypes import DType
from headrace.core.registry import OpDef
from headrace.core.wording import cause
from headrace.eager import tape_entry
from headrace.eager.failure import op_error
from headrace.eager.tape_entry import TapeEntry, snapshot
from headrace.eager.tensor import _DTYPES, EagerHandle, EagerTensor, Immediate, holding
from headrace.graph.constant import make_array
from headrace.graph.convert import to_tensor
from headrace.graph.infer import group_inputs
from headrace.resources.calling.invoke import CPU, bind_attrs, extras, find_kernel, flat_outputs
from headrace.resources.calling.torch_names import storage_uses
from headrace.resources.calling.value import from_numpy

VALUE, HOST, READ, REF = range(4)  # how a kernel receives an input
LIMIT = 1024  # bindings kept for one op type: attributes such as seeds may take any number of values
_Tensor, _references = torch.Tensor, sys.getrefcount


class HostTensor(Immediate):
    """Python integers that stand for a host input.  They become a tensor only if a gradient rule looks at it."""

    __slots__ = ("_converted", "host")

    def __init__(self, host: Any, dtype_enum: int) -> None:
        self.host = host
        self._dtype_enum = dtype_enum
        self._converted: Any = None

    @property
    def _value(self) -> Any:  # type: ignore[override]
        if self._converted is None:
            self._converted = to_tensor(self.host, _DTYPES[self._dtype_enum])._value  # type: ignore[attr-defined]
        return self._converted


class Bound:
    """An op with all that its dtypes and attributes decide.  ``enums`` are the numbers of dtypes, as eager tensors hold them."""

    __slots__ = (
        "attrs", "backward", "codes", "device", "differentiable", "enums", "grouped", "kernel", "keywords", "learnable",
        "multiple", "node_attrs", "op_def", "out_enum", "out_enums", "plain", "reads", "simple", "stateful", "transfers",
        "updates", "wants_node", "writes",
    )  # fmt: skip

    def __init__(
        self, op_def: OpDef, dtypes: Sequence[DType], attrs: dict[str, Any], outputs: Sequence[DType], device: Any
    ) -> None:
        traits = op_def.traits
        self.op_def = op_def
        self.node_attrs = attrs
        self.device = CPU if traits.host or not _on_device(op_def, attrs) else device
        chosen = find_kernel(op_def, self.device.type, attrs)
        self.enums = [d.as_datatype_enum for d in dtypes]
        self.codes = _codes(op_def, dtypes, attrs)
        self.grouped = any(a.is_list for a in op_def.signature.inputs)
        self.kernel = chosen.call
        self.attrs = bind_attrs(op_def, attrs)
        self.keywords = extras(chosen, self.device)
        self.stateful = chosen.wants_state
        self.wants_node = chosen.wants_node
        self.out_enums = [d.as_datatype_enum for d in outputs]
        signature = op_def.signature.outputs
        self.multiple = len(signature) != 1 or signature[0].is_list
        self.out_enum = -1 if self.multiple or signature[0].ref else self.out_enums[0]
        self.writes = traits.writes and REF in self.codes
        self.reads = READ in self.codes
        self.transfers = traits.transfers
        self.differentiable = _is_differentiable(op_def, attrs, outputs)
        self.backward: Any = None  # the RuleMemory of its gradient rule, once there is one
        self.learnable = (
            traits.pure
            and not (traits.dynamic_shape or traits.host)
            and "_gradient_op_type" not in attrs
            and all(d.base_dtype.name not in ("variant", "resource") for d in (*dtypes, *outputs))  # they have no shape
        )
        plainly_called = not (self.keywords or self.stateful or self.wants_node)
        # A simple op gives one tensor and needs nothing but the call of its kernel.
        self.simple = plainly_called and self.out_enum >= 0 and not self.writes
        self.plain = self.simple and not self.grouped and all(c == VALUE for c in self.codes)
        # An op that changes variables and gives the first: how many variables its inputs begin with.  0 for any other op.
        refs = self.codes.count(REF)
        first = self.codes == [REF] * refs + [VALUE] * (len(self.codes) - refs)
        changes = plainly_called and self.writes and first and not self.multiple and not self.grouped
        self.updates = refs if changes and signature[0].ref else 0


def _on_device(op_def: OpDef, attrs: dict[str, Any]) -> bool:
    """Strings are always on the host."""
    return not any(
        isinstance(v, DType) and v.base_dtype.name == "string"
        for name, v in attrs.items()
        if name not in op_def.attr_names
    )


def _codes(op_def: OpDef, dtypes: Sequence[DType], attrs: dict[str, Any]) -> list[int]:
    codes: list[int] = []
    for arg, group in zip(op_def.signature.inputs, group_inputs(op_def, dtypes, attrs), strict=True):
        for dtype in group if isinstance(group, list) else [group]:
            if arg.ref:
                codes.append(REF)
            elif dtype._is_ref_dtype:
                codes.append(READ)
            else:
                codes.append(HOST if arg.host else VALUE)
            if arg.host and codes[-1] == READ:
                codes[-1] = HOST
    return codes


def _is_differentiable(op_def: OpDef, attrs: dict[str, Any], outputs: Sequence[DType]) -> bool:
    if "_gradient_op_type" in attrs:
        return True
    if op_def.has_gradient_rule and op_def.gradient_fn is None:
        return False
    return any(d.is_floating or d.is_complex or d.name == "variant" for d in outputs)


# ---- running


def run(bound: Bound, inputs: Sequence[Any], context: Any) -> Sequence[Any]:
    """The outputs of one op."""
    tapes = tape_entry.active.get()
    node: TapeEntry | None = None
    try:
        if bound.reads and tapes:
            inputs = [snapshot(tapes, t) if c == READ else t for t, c in zip(inputs, bound.codes, strict=True)]
        values = _values(bound, inputs, context)
        keywords = bound.keywords
        if bound.stateful or bound.wants_node:
            node = TapeEntry(bound.op_def, inputs, (), bound.node_attrs)
            keywords = dict(keywords)
            if bound.stateful:
                keywords["state"] = context.state(bound)
            if bound.wants_node:
                keywords["node"] = node
        if bound.grouped:
            values = group_inputs(bound.op_def, values, bound.node_attrs)
        result = bound.kernel(*values, *bound.attrs, **keywords)
    except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
        raise op_error(e, bound.op_def, inputs, bound.node_attrs) from cause(e)
    flat = flat_outputs(bound.op_def, result) if bound.multiple else [result]
    outputs = [_wrapped(v, enum, inputs) for v, enum in zip(flat, bound.out_enums, strict=True)]
    if tapes:
        tape_entry.keep(tapes, bound, inputs, outputs)
    return outputs


def _values(bound: Bound, inputs: Sequence[Any], context: Any) -> list[Any]:
    values: list[Any] = []
    for tensor, code in zip(inputs, bound.codes, strict=True):
        if code == VALUE:
            values.append(tensor._value)
        elif code == HOST:
            values.append(host_numbers(tensor))
        elif code == READ:
            values.append(tensor._value.value if tensor.__class__ is EagerHandle else tensor._value)
        else:
            if bound.writes:
                unshare(tensor._value)
            values.append(tensor._value)
    if context.several_devices and not bound.transfers:
        where = _home(values, bound.device) if REF in bound.codes else bound.device
        for i, value in enumerate(values):
            if bound.codes[i] in (VALUE, READ) and isinstance(value, torch.Tensor) and value.device != where:
                values[i] = value.to(where)
    return values


def _home(values: Sequence[Any], otherwise: Any) -> Any:
    """The device of the state that an op uses: its other inputs must be moved there."""
    return next((v.device for v in values if not isinstance(v, torch.Tensor) and hasattr(v, "device")), otherwise)


def host_numbers(tensor: Any) -> Any:
    """A host input as plain Python numbers."""
    if type(tensor) is HostTensor:
        return tensor.host
    value = tensor._current() if isinstance(tensor, EagerHandle) else tensor._value
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value
    return value.tolist()


def _wrapped(value: Any, enum: int, inputs: Sequence[Any]) -> Any:
    if enum < 100:
        tensor = EagerTensor()
        tensor._value = value
        tensor._dtype_enum = enum
        return tensor
    return next(t for t in inputs if t._value is value)  # a handle that an op returns is one of its inputs


def unshare(state: Any) -> None:
    """Copies the buffer of a variable before it is written, if some tensor or array still shares it."""
    try:
        buffer = state.value
    except AttributeError:  # nothing was assigned yet, or the state is no variable
        return
    if type(buffer) is _Tensor:
        # Three references to the buffer are expected: the variable's, ours and that of the call below.  Of the storage: the
        # buffer's, ours, and perhaps the array's.  A view that a function returned of the array refers to the array.
        viewed = state.viewed
        if _references(buffer) > 3 or storage_uses(buffer) > 2 + viewed or (viewed and _references(state.array) > 2):
            state.hold(buffer.clone())
    elif isinstance(buffer, np.ndarray):
        state.hold(buffer.copy())


# ---- numbers


_scalars: dict[Any, Any] = {}


def scalar(value: Any, enum: int) -> Any:
    """A Python number as a tensor, from a cache.  Never hand it to users: tapes know tensors by identity."""
    tensor = _scalars.get((value, enum, value.__class__))
    if tensor is None or (value == 0 and str(value)[0] == "-"):  # 0.0 equals -0.0
        tensor = holding(from_numpy(np.asarray(make_array(value, _DTYPES[enum])), _DTYPES[enum]), _DTYPES[enum])
        if len(_scalars) >= LIMIT:
            _scalars.clear()
        if value != 0 or str(value)[0] != "-":
            _scalars[value, enum, value.__class__] = tensor
    return tensor
