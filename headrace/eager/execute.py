"""Running an op at once, cheaply: a call is bound once for each (op, dtypes, attributes) and then only its kernel runs.

``Bound`` is that binding.  ``Caller`` finds it for Python arguments, an op type each; arguments it does not know go the way
of graph building (``build``), which converts, checks and names what is wrong, and leaves a ``Bound`` behind for the next call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.signature import Arg
from headrace.eager import record
from headrace.eager.failure import explain
from headrace.eager.record import Record
from headrace.eager.tensor import _DTYPES, EagerHandle, EagerTensor, _handles, as_handle
from headrace.graph import context as graphs
from headrace.graph.build import call as build_call
from headrace.graph.build import wrap_outputs
from headrace.graph.constant import make_array
from headrace.graph.convert import to_tensor
from headrace.graph.infer import group_inputs
from headrace.resources.invoke import CPU, bind_attrs, extras, find_kernel, flat_outputs
from headrace.resources.value import from_numpy

_VALUE, _HOST, _READ, _REF = range(4)  # how a kernel receives an input
_LIMIT = 1024  # bindings kept for one op type: attributes such as seeds may take any number of values
_KINDS = 1000  # more than there are dtypes
_new = object.__new__
_storage_uses: Callable[[int], int] = torch._C._storage_Use_Count  # type: ignore[attr-defined]


class HostTensor(EagerTensor):
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
        "attrs", "codes", "device", "function", "grouped", "kind", "kinds", "keywords", "multiple", "node_attrs", "op_def",
        "out_kinds", "plain", "reads", "recorded", "stateful", "transfers", "wants_node", "writes",
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
        self.function = kernel.function
        self.attrs = bind_attrs(op_def, attrs)
        self.keywords = extras(kernel, self.device)
        self.stateful = kernel.wants_state
        self.wants_node = kernel.wants_node
        self.out_kinds = [d.as_datatype_enum for d in outputs]
        signature = op_def.signature.outputs
        self.multiple = len(signature) != 1 or signature[0].is_list
        self.kind = -1 if self.multiple or signature[0].ref else self.out_kinds[0]
        self.reads = _READ in self.codes
        self.writes = traits.writes and _REF in self.codes
        self.transfers = traits.transfers
        self.recorded = _is_recorded(op_def, attrs, outputs)
        self.plain = (
            self.kind >= 0 and not self.grouped and not self.keywords and not self.stateful and not self.wants_node
            and not self.writes and all(c == _VALUE for c in self.codes)
        )  # fmt: skip


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
                codes.append(_REF)
            elif dtype._is_ref_dtype:
                codes.append(_READ)
            else:
                codes.append(_HOST if arg.host else _VALUE)
            if arg.host and codes[-1] == _READ:
                codes[-1] = _HOST
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
    tapes = record.active.get()
    node: Record | None = None
    try:
        values = _values(bound, inputs, tapes, context)
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
    if tapes and bound.recorded:
        record.keep(tapes, Record(bound.op_def, inputs, outputs, bound.node_attrs))
    return outputs


def _values(bound: Bound, inputs: Sequence[Any], tapes: Sequence[Any], context: Any) -> list[Any]:
    values: list[Any] = []
    for tensor, code in zip(inputs, bound.codes, strict=True):
        if code == _VALUE:
            values.append(tensor._value)
        elif code == _HOST:
            values.append(host_numbers(tensor))
        elif code == _READ:
            if tapes and tensor.trainable:
                for tape in tapes:
                    tape.accessed(tensor)
            values.append(tensor._value.value)
        else:
            if bound.writes:
                unshare(tensor._value)
            values.append(tensor._value)
    if context.several_devices and not bound.transfers:
        where = _home(values, bound.device) if _REF in bound.codes else bound.device
        for i, value in enumerate(values):
            if bound.codes[i] in (_VALUE, _READ) and isinstance(value, torch.Tensor) and value.device != where:
                values[i] = value.to(where)
    return values


def _home(values: Sequence[Any], otherwise: Any) -> Any:
    """Where the state lives that an op uses: its other inputs must come there."""
    return next((v.device for v in values if not isinstance(v, torch.Tensor) and hasattr(v, "device")), otherwise)


def host_numbers(tensor: Any) -> Any:
    """A host input as plain Python numbers."""
    if type(tensor) is HostTensor:
        return tensor.host
    value = tensor._current()
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value
    return value.tolist()


def _wrapped(value: Any, kind: int, inputs: Sequence[Any]) -> Any:
    if kind < 100:
        made = _new(EagerTensor)
        made._value = value
        made._kind = kind
        return made
    return next(t for t in inputs if t._value is value)  # an op that gives a handle gives one of its inputs


def unshare(state: Any) -> None:
    """Gives a variable a buffer of its own before it is written, if some tensor or array still looks at this one."""
    buffer = getattr(state, "value", None)
    if type(buffer) is torch.Tensor:
        storage = buffer.untyped_storage()
        # One reference is the variable's, one is ours, one is the call's; of the storage one is the buffer's, one ours.
        if sys.getrefcount(buffer) > 3 or _storage_uses(storage._cdata) > 2:
            state.value = buffer.clone()
    elif isinstance(buffer, np.ndarray):
        state.value = buffer.copy()


# ---- finding the binding


_scalars: dict[Any, Any] = {}


def scalar(value: Any, kind: int) -> Any:
    """A Python number as a tensor; those met lately are kept.  Not for tensors that users hold: tapes go by identity."""
    found = _scalars.get((value, kind, value.__class__))
    if found is None or (value == 0 and str(value)[0] == "-"):  # 0.0 equals -0.0
        found = EagerTensor(from_numpy(np.asarray(make_array(value, _DTYPES[kind])), _DTYPES[kind]), _DTYPES[kind])
        if len(_scalars) >= _LIMIT:
            _scalars.clear()
        if value != 0 or str(value)[0] != "-":
            _scalars[value, kind, value.__class__] = found
    return found


class Caller:
    """One op type as a function of Python arguments."""

    __slots__ = ("args", "bound", "count", "input_names", "op_def", "outputs", "plain", "simple")

    def __init__(self, op_def: OpDef) -> None:
        self.op_def = op_def
        self.args: tuple[Arg, ...] = op_def.signature.inputs
        self.count = len(self.args)
        self.input_names = {a.name for a in self.args}
        self.outputs = len(op_def.signature.outputs)
        self.bound: dict[Any, Bound] = {}
        self.plain: dict[int, Bound] = {}  # the same by dtypes alone: one or two tensors in, one out
        self.simple = not any(a.is_list for a in self.args) and not op_def.traits.handle

    def __call__(self, context: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs and not self.op_def.traits.handle:
            kwargs.pop("name", None)
        return self._general(context, args, kwargs)

    def _general(self, context: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs and not self.input_names.isdisjoint(kwargs):
            args = self._positional(args, kwargs)
        flat: list[Any] = []
        key = self._key(context, args, kwargs, flat)
        found = self.bound.get(key) if key is not None else None
        if found is None:
            return context.build(self, key, flat, args if key is None else _with_handles(args), kwargs)
        for i, item in enumerate(flat):
            if not isinstance(item, EagerTensor):
                if found.codes[i] == _HOST:
                    flat[i] = HostTensor(list(item) if isinstance(item, tuple) else item, found.kinds[i])
                else:
                    flat[i] = scalar(item, found.kinds[i])
        return self.wrap(found, run(found, flat, context))

    def _positional(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Any]:
        """Inputs given by name, in their places, as far as they go."""
        ordered = list(args)
        for arg in self.args[len(args) :]:
            if arg.name not in kwargs:
                break
            ordered.append(kwargs.pop(arg.name))
        return ordered

    def _key(self, context: Any, args: Sequence[Any], kwargs: dict[str, Any], flat: list[Any]) -> Any:
        """What decides the binding, and in ``flat`` the inputs; None where only building can tell."""
        count = self.count
        if len(args) < count or self.op_def.traits.handle:
            return None
        tokens: list[Any] = []
        for arg, value in zip(self.args, args, strict=False):
            if arg.is_list:
                if not isinstance(value, (list, tuple)):
                    return None
                tokens.append(-len(value) - 1)
                for item in value:
                    if not _token(item, arg, tokens, flat):
                        return None
            elif not _token(value, arg, tokens, flat):
                return None
        if len(args) > count:
            tokens.append(tuple(args[count:]))
        if kwargs:
            tokens.append(tuple(kwargs.items()))
        if context._gradient_overrides:
            tokens.append(context._gradient_overrides.get(self.op_def.name, ""))
        if context.several_devices:
            tokens.append(context.place())
        try:
            hash(made := tuple(tokens))
        except TypeError:  # lists among the attributes
            try:
                hash(made := _frozen(made))
            except TypeError:
                return None
        return made

    def remember(self, key: Any, flat: Sequence[Any], bound: Bound) -> None:
        """Keeps the binding for arguments of this kind, if they came to it as they are."""
        if any(isinstance(t, EagerTensor) and t._kind != kind for t, kind in zip(flat, bound.kinds, strict=True)):
            return
        if len(self.bound) >= _LIMIT:
            self.bound.clear()
        self.bound[key] = bound
        if bound.plain and len(key) == len(flat) and all(type(t) is int for t in key):
            if len(key) == 1:
                self.plain[key[0]] = bound
            elif len(key) == 2:
                self.plain[key[0] * _KINDS + key[1]] = bound

    def wrap(self, bound: Bound, outputs: Sequence[Any]) -> Any:
        if not bound.multiple:
            return outputs[0]
        if not outputs and not self.outputs:
            return None
        return wrap_outputs(self.op_def, Record(self.op_def, (), outputs, bound.node_attrs))  # type: ignore[arg-type]


def call(context: Any, op_def: OpDef, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs an op on Python arguments.  The way of most ops, tensors in and one tensor out, is here in one piece."""
    how = _callers.get(op_def) or caller(op_def)
    if not how.simple or not context.quick:
        return how(context, args, kwargs)
    if kwargs:
        kwargs.pop("name", None)
    count = how.count
    if count == 1 and not kwargs and len(args) == 1:
        x = args[0]
        if type(x) is EagerTensor and (found := how.plain.get(x._kind)) is not None:
            try:
                value = found.function(x._value, *found.attrs)
            except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
                raise explain(e, op_def, args) from e
            made = _new(EagerTensor)
            made._value = value
            made._kind = found.kind
            if (tapes := record.active.get()) and found.recorded:
                record.keep(tapes, Record(op_def, args, (made,), found.node_attrs))
            return made
    inputs = args if len(args) == count else args[:count]
    for t in inputs:
        if type(t) is not EagerTensor:
            return how(context, args, kwargs)
    if kwargs or len(args) != count:
        try:
            found = how.bound.get(_key_of(inputs, args[count:], kwargs))
        except TypeError:  # an attribute that is a list
            return how(context, args, kwargs)
    elif count == 2:
        found = how.plain.get(inputs[0]._kind * _KINDS + inputs[1]._kind)
    else:
        found = how.bound.get(tuple([t._kind for t in inputs]))
    if found is None:
        return how(context, args, kwargs)
    if not found.plain:
        return how.wrap(found, run(found, inputs, context))
    try:
        value = found.function(*[t._value for t in inputs], *found.attrs)
    except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
        raise explain(e, op_def, inputs) from e
    made = _new(EagerTensor)
    made._value = value
    made._kind = found.kind
    tapes = record.active.get()
    if tapes and found.recorded:
        record.keep(tapes, Record(op_def, inputs, (made,), found.node_attrs))
    return made


def _key_of(inputs: Sequence[Any], attrs: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The key of a call whose inputs are all tensors; see ``Caller._key``."""
    if not kwargs:
        return (*[t._kind for t in inputs], tuple(attrs))
    if not attrs:
        return (*[t._kind for t in inputs], tuple(kwargs.items()))
    return (*[t._kind for t in inputs], tuple(attrs), tuple(kwargs.items()))


def binary(op_def: OpDef) -> Callable[[Any, Any], Any]:
    """The same for two eager tensors known to be such, when ops run at once: for Python operators."""
    how = caller(op_def)
    plain = how.plain
    tapes_now = record.active.get

    def run(x: Any, y: Any) -> Any:
        found = plain.get(x._kind * _KINDS + y._kind)
        if found is None:
            return how(graphs.get_default_graph(), (x, y), {})
        try:
            value = found.function(x._value, y._value, *found.attrs)
        except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
            raise explain(e, op_def, (x, y)) from e
        made = _new(EagerTensor)
        made._value = value
        made._kind = found.kind
        tapes = tapes_now()
        if tapes and found.recorded:
            record.keep(tapes, Record(op_def, (x, y), (made,), found.node_attrs))
        return made

    return run


def operator(op_def: OpDef, otherwise: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``binary`` in one piece for ``x + y`` of two eager tensors of known dtypes; anything else is left to ``otherwise``."""
    plain = caller(op_def).plain
    tapes_now, entered, default = record.active.get, graphs.entered_graphs, graphs.get_default_graph

    def apply(x: Any, y: Any) -> Any:
        if y.__class__ is not EagerTensor:
            return otherwise(x, y)
        found = plain.get(x._kind * _KINDS + y._kind)
        if found is None:
            return otherwise(x, y)
        graphs_entered = entered()
        context: Any = graphs_entered[-1] if graphs_entered else default()
        if not context.executing_eagerly or not context.quick:
            return otherwise(x, y)
        try:
            value = found.function(x._value, y._value, *found.attrs)
        except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
            raise explain(e, op_def, (x, y)) from e
        made = _new(EagerTensor)
        made._value = value
        made._kind = found.kind
        tapes = tapes_now()
        if tapes and found.recorded:
            record.keep(tapes, Record(op_def, (x, y), (made,), found.node_attrs))
        return made

    return apply


def of_two(op_type: str) -> Callable[[Any, Any], Any]:
    """``binary`` in whatever context: for the library's functions of one op."""
    found: list[Callable[[Any, Any], Any]] = []
    default = graphs.get_default_graph

    def run(x: Any, y: Any) -> Any:
        context: Any = default()
        if not (context.executing_eagerly and context.quick):
            return build_call(REGISTRY.get(op_type), (x, y), {})
        if not found:
            found.append(binary(REGISTRY.get(op_type)))
        return found[0](x, y)

    return run


def unary(op_type: str) -> Callable[[Any], Any]:
    """The same for one eager tensor, in whatever context: for the library's functions of one op."""
    found_caller: list[Caller] = []
    tapes_now = record.active.get
    default = graphs.get_default_graph

    def run(x: Any) -> Any:
        context: Any = default()
        if not found_caller:
            found_caller.append(caller(REGISTRY.get(op_type)))
        how = found_caller[0]
        found = how.plain.get(x._kind) if context.executing_eagerly and context.quick else None
        if found is None:
            return build_call(how.op_def, (x,), {})
        try:
            value = found.function(x._value, *found.attrs)
        except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
            raise explain(e, how.op_def, (x,)) from e
        made = _new(EagerTensor)
        made._value = value
        made._kind = found.kind
        tapes = tapes_now()
        if tapes and found.recorded:
            record.keep(tapes, Record(how.op_def, (x,), (made,), found.node_attrs))
        return made

    return run


def _token(value: Any, arg: Arg, tokens: list[Any], flat: list[Any]) -> bool:
    kind = type(value)
    if kind is EagerTensor or kind is EagerHandle or kind is HostTensor:
        tokens.append(value._kind)
    elif kind is int or ((kind is float or kind is bool) and not arg.host):
        if kind is int and not -(2**31) <= value < 2**31:
            return False  # its dtype depends on the value
        tokens.append(kind)
    elif arg.host and (kind is list or kind is tuple) and all(type(v) is int for v in value):
        tokens.append(list if value else "empty")
        value = tuple(value)
    elif arg.host and kind is np.ndarray and value.ndim == 1 and value.dtype == np.int32:
        tokens.append(np.ndarray)
        value = tuple(value.tolist())
    elif isinstance(value, EagerTensor):
        tokens.append(value._kind)
    elif kind in _handles:
        value = _handles[kind](value)
        if not isinstance(value, EagerHandle):
            return False
        tokens.append(value._kind)
    else:
        return False
    flat.append(value)
    return True


def _with_handles(args: Sequence[Any]) -> list[Any]:
    """The arguments with handles in the place of variables."""
    return [
        [as_handle(v) for v in a] if isinstance(a, (list, tuple)) else as_handle(a) if type(a) in _handles else a
        for a in args
    ]


def _frozen(value: Any) -> Any:
    return tuple([_frozen(v) for v in value]) if isinstance(value, (list, tuple)) else value


_callers: dict[OpDef, Caller] = {}


def caller(op_def: OpDef) -> Caller:
    found = _callers.get(op_def)
    if found is None:
        found = _callers[op_def] = Caller(op_def)
    return found
