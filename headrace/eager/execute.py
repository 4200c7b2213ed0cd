"""Running an op eagerly and cheaply: a call is bound once for each (op, dtypes, attributes) and then only its kernel runs.

``Bound`` is that binding.  ``Caller`` finds it for Python arguments, an op type each; arguments it does not know go the way
of graph building (``build``), which converts, checks and names what is wrong, and leaves a ``Bound`` behind for the next call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.registry import OpDef
from headrace.core.signature import Arg
from headrace.core.wording import cause
from headrace.eager import tape_entry
from headrace.eager.binding import HOST, LIMIT, Bound, HostTensor, run, scalar, unshare
from headrace.eager.failure import op_error
from headrace.eager.tape_entry import TapeEntry
from headrace.eager.tensor import EagerHandle, EagerTensor, Immediate, _handles, as_handle
from headrace.graph.build import wrap_outputs


class Caller:
    """One op type as a function of Python arguments."""

    __slots__ = ("args", "bound", "count", "input_names", "op_def", "outputs", "simple")

    def __init__(self, op_def: OpDef) -> None:
        self.op_def = op_def
        self.args: tuple[Arg, ...] = op_def.signature.inputs
        self.count = len(self.args)
        self.input_names = {a.name for a in self.args}
        self.outputs = len(op_def.signature.outputs)
        self.bound: dict[Any, Bound] = {}
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
        bound = self.bound.get(key) if key is not None else None
        if bound is None:
            return context.build(self, key, flat, args if key is None else _with_handles(args), kwargs)
        for i, item in enumerate(flat):
            if not isinstance(item, Immediate):
                if bound.codes[i] == HOST:
                    flat[i] = HostTensor(list(item) if isinstance(item, tuple) else item, bound.enums[i])
                else:
                    flat[i] = scalar(item, bound.enums[i])
        return self.wrap(bound, run(bound, flat, context))

    def _positional(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The positional arguments, with inputs passed by name in their places, up to the first that is missing."""
        ordered = list(args)
        for arg in self.args[len(args) :]:
            if arg.name not in kwargs:
                break
            ordered.append(kwargs.pop(arg.name))
        return ordered

    def _key(self, context: Any, args: Sequence[Any], kwargs: dict[str, Any], flat: list[Any]) -> Any:
        """The key of the binding; None if only ``build`` can decide it.  Appends the inputs to ``flat``."""
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
            hash(key := tuple(tokens))
        except TypeError:  # lists among the attributes
            try:
                hash(key := frozen(key))
            except TypeError:
                return None
        return key

    def remember(self, key: Any, flat: Sequence[Any], bound: Bound) -> None:
        """Keeps the binding under the key, unless an input had to be converted for it."""
        if any(isinstance(t, Immediate) and t._dtype_enum != enum for t, enum in zip(flat, bound.enums, strict=True)):
            return
        if len(self.bound) >= LIMIT:
            self.bound.clear()
        self.bound[key] = bound

    def wrap(self, bound: Bound, outputs: Sequence[Any]) -> Any:
        if not bound.multiple:
            return outputs[0]
        if not outputs and not self.outputs:
            return None
        return wrap_outputs(self.op_def, TapeEntry(self.op_def, (), outputs, bound.node_attrs))  # type: ignore[arg-type]


def call(context: Any, op_def: OpDef, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Runs an op on Python arguments.  The path of most ops is short: tensors or variables in, one tensor out."""
    how = _callers.get(op_def) or caller(op_def)
    if not how.simple or not context.quick:
        return how(context, args, kwargs)
    kwargs.pop("name", None)
    count = how.count
    inputs = [_handles[t.__class__](t) if t.__class__ in _handles else t for t in args[:count]]
    key: list[Any] = [t._dtype_enum for t in inputs if isinstance(t, Immediate)]
    if len(key) != count:
        return how(context, args, kwargs)
    if len(args) > count:
        key.append(tuple(args[count:]))
    if kwargs:
        key.append(tuple(kwargs.items()))
    try:
        bound = how.bound.get(tuple(key))
    except TypeError:  # an attribute that is a list
        bound = None
    if bound is None:
        return how(context, args, kwargs)
    if bound.plain:
        return _run_plain(bound, inputs)
    return _update(bound, inputs) if bound.updates else how.wrap(bound, run(bound, inputs, context))


def _run_plain(bound: Bound, inputs: Sequence[Any]) -> EagerTensor:
    """Runs an op that takes tensors only and gives one."""
    try:
        value = bound.kernel(*[t._value for t in inputs], *bound.attrs)
    except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
        raise op_error(e, bound.op_def, inputs, bound.node_attrs) from cause(e)
    output = EagerTensor()
    output._value = value
    output._dtype_enum = bound.out_enum
    if tapes := tape_entry.active.get():
        tape_entry.keep(tapes, bound, inputs, (output,))
    return output


def _update(bound: Bound, inputs: Sequence[Any]) -> Any:
    """Runs an op whose first inputs are variables that it changes, and returns the first one."""
    try:
        values = [t._value for t in inputs]
        for state in values[: bound.updates]:
            unshare(state)
        bound.kernel(*values, *bound.attrs)
    except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
        raise op_error(e, bound.op_def, inputs, bound.node_attrs) from cause(e)
    if tapes := tape_entry.active.get():
        tape_entry.keep(tapes, bound, inputs, inputs[:1])
    return inputs[0]


def _token(value: Any, arg: Arg, tokens: list[Any], flat: list[Any]) -> bool:
    value_class = type(value)
    if value_class is EagerTensor or value_class is EagerHandle or value_class is HostTensor:
        tokens.append(value._dtype_enum)
    elif value_class is int or ((value_class is float or value_class is bool) and not arg.host):
        if value_class is int and not -(2**31) <= value < 2**31:
            return False  # its dtype depends on the value
        tokens.append(value_class)
    elif arg.host and (value_class is list or value_class is tuple) and all(type(v) is int for v in value):
        tokens.append(list if value else "empty")
        value = tuple(value)
    elif arg.host and value_class is np.ndarray and value.ndim == 1 and value.dtype == np.int32:
        tokens.append(np.ndarray)
        value = tuple(value.tolist())
    elif isinstance(value, Immediate):
        tokens.append(value._dtype_enum)
    elif value_class in _handles:
        value = _handles[value_class](value)
        if not isinstance(value, EagerHandle):
            return False
        tokens.append(value._dtype_enum)
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


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple([frozen(v) for v in value]) if isinstance(value, (list, tuple)) else value


_callers: dict[OpDef, Caller] = {}


def caller(op_def: OpDef) -> Caller:
    cached = _callers.get(op_def)
    if cached is None:
        cached = _callers[op_def] = Caller(op_def)
    return cached
