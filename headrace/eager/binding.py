"""An op with everything decided that dtypes and attributes decide (``Bound``), and running it on eager tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from headrace.core.dtypes import DType
from headrace.core.registry import OpDef
from headrace.eager import tape_entry
from headrace.eager.failure import explain
from headrace.eager.tape_entry import Record, snapshot
from headrace.eager.tensor import _DTYPES, EagerHandle, EagerTensor, Immediate, holding
from headrace.graph.constant import make_array
from headrace.graph.convert import to_tensor
from headrace.graph.infer import group_inputs
from headrace.resources.invoke import CPU, bind_attrs, extras, find_kernel, flat_outputs
from headrace.resources.value import from_numpy

VALUE, HOST, READ, REF = range(4)  # how a kernel receives an input
LIMIT = 1024  # bindings kept for one op type: attributes such as seeds may take any number of values
_Tensor, _references = torch.Tensor, sys.getrefcount
storage_uses: Callable[[int], int] = torch._C._storage_Use_Count  # type: ignore[attr-defined]


class HostTensor(Immediate):
    """Python integers given for a host input.  The tensor is made only if a gradient rule looks at it."""

    __slots__ = ("_made", "host")

    def __init__(self, host: Any, kind: int) -> None:
        self.host = host
        self._kind = kind
        self._made: Any = None

    @property
    def _value(self) -> Any:  # type: ignore[override]
        if self._made is None:
            self._made = to_tensor(self.host, _DTYPES[self._kind])._value  # type: ignore[attr-defined]
        return self._made


class Bound:
    """An op with everything decided that its dtypes and attributes decide."""

    __slots__ = (
        "attrs", "backward", "codes", "device", "function", "grouped", "keywords", "kind", "kinds", "learnable", "multiple",
        "node_attrs", "op_def", "out_kinds", "plain", "reads", "recorded", "simple", "stateful", "transfers", "updates",
        "wants_node", "writes",
    )  # fmt: skip

    def __init__(
        self, op_def: OpDef, dtypes: Sequence[DType], attrs: dict[str, Any], outputs: Sequence[DType], device: Any
    ) -> None:
        traits = op_def.traits
        self.op_def = op_def
        self.node_attrs = attrs
        self.device = CPU if traits.host or not _on_device(op_def, attrs) else device
        kernel = find_kernel(op_def, self.device.type, attrs)
        self.kinds = [d.as_datatype_enum for d in dtypes]
        self.codes = _codes(op_def, dtypes, attrs)
        self.grouped = any(a.is_list for a in op_def.signature.inputs)
        self.function = kernel.call
        self.attrs = bind_attrs(op_def, attrs)
        self.keywords = extras(kernel, self.device)
        self.stateful = kernel.wants_state
        self.wants_node = kernel.wants_node
        self.out_kinds = [d.as_datatype_enum for d in outputs]
        signature = op_def.signature.outputs
        self.multiple = len(signature) != 1 or signature[0].is_list
        self.kind = -1 if self.multiple or signature[0].ref else self.out_kinds[0]
        self.writes = traits.writes and REF in self.codes
        self.reads = READ in self.codes
        self.transfers = traits.transfers
        self.recorded = _is_recorded(op_def, attrs, outputs)
        self.backward: Any = None  # what is remembered of its gradient rule
        self.learnable = (
            traits.pure
            and not (traits.dynamic_shape or traits.host)
            and "_gradient_op_type" not in attrs
            and all(d.base_dtype.name not in ("variant", "resource") for d in (*dtypes, *outputs))  # they have no shape
        )
        plainly_called = not (self.keywords or self.stateful or self.wants_node)
        self.simple = plainly_called and self.kind >= 0 and not self.writes  # one tensor out, and no more than a call
        self.plain = self.simple and not self.grouped and all(c == VALUE for c in self.codes)
        # How many variables come first, in an op that changes them and gives the first one; 0 for any other.
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


def _is_recorded(op_def: OpDef, attrs: dict[str, Any], outputs: Sequence[DType]) -> bool:
    if "_gradient_op_type" in attrs:
        return True
    if op_def.has_gradient_rule and op_def.gradient_fn is None:
        return False
    return any(d.is_floating or d.is_complex or d.name == "variant" for d in outputs)


# ---- running


def run(bound: Bound, inputs: Sequence[Any], context: Any) -> Sequence[Any]:
    """The outputs of one op."""
    tapes = tape_entry.active.get()
    node: Record | None = None
    try:
        if bound.reads and tapes:
            inputs = [snapshot(tapes, t) if c == READ else t for t, c in zip(inputs, bound.codes, strict=True)]
        values = _values(bound, inputs, context)
        keywords = bound.keywords
        if bound.stateful or bound.wants_node:
            node = Record(bound.op_def, inputs, (), bound.node_attrs)
            keywords = dict(keywords)
            if bound.stateful:
                keywords["state"] = context.state(bound)
            if bound.wants_node:
                keywords["node"] = node
        if bound.grouped:
            values = group_inputs(bound.op_def, values, bound.node_attrs)
        result = bound.function(*values, *bound.attrs, **keywords)
    except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
        raise explain(e, bound.op_def, inputs) from e
    flat = flat_outputs(bound.op_def, result) if bound.multiple else [result]
    outputs = [_wrapped(v, kind, inputs) for v, kind in zip(flat, bound.out_kinds, strict=True)]
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
    """Where the state lives that an op uses: its other inputs must come there."""
    return next((v.device for v in values if not isinstance(v, torch.Tensor) and hasattr(v, "device")), otherwise)


def host_numbers(tensor: Any) -> Any:
    """A host input as plain Python numbers."""
    if type(tensor) is HostTensor:
        return tensor.host
    value = tensor._current() if isinstance(tensor, EagerHandle) else tensor._value
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value
    return value.tolist()


def _wrapped(value: Any, kind: int, inputs: Sequence[Any]) -> Any:
    if kind < 100:
        made = EagerTensor()
        made._value = value
        made._kind = kind
        return made
    return next(t for t in inputs if t._value is value)  # an op that gives a handle gives one of its inputs


def unshare(state: Any) -> None:
    """Gives a variable a buffer of its own before it is written, if some tensor or array still looks at this one."""
    try:
        buffer = state.value
    except AttributeError:  # nothing was assigned yet, or it is another kind of state
        return
    if type(buffer) is _Tensor:
        # One reference is the variable's, one is ours, one is the call's; of the storage one is the buffer's, one ours, one
        # may be the array's.  What a function gave as a part of the array refers to that.
        viewed = state.viewed
        if (
            _references(buffer) > 3
            or storage_uses(buffer.untyped_storage()._cdata) > 2 + viewed
            or (viewed and _references(state.array) > 2)
        ):
            state.hold(buffer.clone())
    elif isinstance(buffer, np.ndarray):
        state.hold(buffer.copy())


# ---- numbers


_scalars: dict[Any, Any] = {}


def scalar(value: Any, kind: int) -> Any:
    """A Python number as a tensor; those met lately are kept.  Not for tensors that users hold: tapes go by identity."""
    found = _scalars.get((value, kind, value.__class__))
    if found is None or (value == 0 and str(value)[0] == "-"):  # 0.0 equals -0.0
        found = holding(from_numpy(np.asarray(make_array(value, _DTYPES[kind])), _DTYPES[kind]), _DTYPES[kind])
        if len(_scalars) >= LIMIT:
            _scalars.clear()
        if value != 0 or str(value)[0] != "-":
            _scalars[value, kind, value.__class__] = found
    return found
