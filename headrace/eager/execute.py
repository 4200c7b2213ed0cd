"""Running an op at once, cheaply: a call is bound once for each (op, dtypes, attributes) and then only its kernel runs.

``Bound`` is that binding.  ``Caller`` finds it for Python arguments, an op type each; arguments it does not know go the way
of graph building (``build``), which converts, checks and names what is wrong, and leaves a ``Bound`` behind for the next call.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch

from headrace.core.registry import OpDef
from headrace.core.signature import Arg
from headrace.eager import record
from headrace.eager.binding import HOST, LIMIT, Bound, HostTensor, run, scalar, storage_uses, unshare
from headrace.eager.failure import explain
from headrace.eager.record import Record
from headrace.eager.tensor import EagerHandle, EagerTensor, Immediate, _handles, as_handle
from headrace.graph import context as graphs
from headrace.graph.build import wrap_outputs

F = TypeVar("F", bound=Callable[..., Any])


class Caller:
    """One op type as a function of Python arguments."""

    __slots__ = ("args", "bound", "count", "input_names", "op_def", "outputs", "pairs", "plain", "simple")

    def __init__(self, op_def: OpDef) -> None:
        self.op_def = op_def
        self.args: tuple[Arg, ...] = op_def.signature.inputs
        self.count = len(self.args)
        self.input_names = {a.name for a in self.args}
        self.outputs = len(op_def.signature.outputs)
        self.bound: dict[Any, Bound] = {}
        self.plain: dict[int, Bound] = {}  # the same by the dtype alone: one tensor in, one out
        self.pairs: dict[tuple[int, int], Bound] = {}  # by two dtypes: two tensors in, one out
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
            if not isinstance(item, Immediate):
                if found.codes[i] == HOST:
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
                hash(made := frozen(made))
            except TypeError:
                return None
        return made

    def remember(self, key: Any, flat: Sequence[Any], bound: Bound) -> None:
        """Keeps the binding for arguments of this kind, if they came to it as they are."""
        if any(isinstance(t, Immediate) and t._kind != kind for t, kind in zip(flat, bound.kinds, strict=True)):
            return
        if len(self.bound) >= LIMIT:
            self.bound.clear()
        self.bound[key] = bound
        if bound.plain and len(key) == len(flat) and all(type(t) is int for t in key):
            if len(key) == 1:
                self.plain[key[0]] = bound
            elif len(key) == 2:
                self.pairs[key[0], key[1]] = bound

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
            made = EagerTensor()
            made._value = value
            made._kind = found.kind
            if tapes := record.active.get():
                record.keep(tapes, found, args, (made,))
            return made
    inputs: Any = args if len(args) == count else args[:count]
    kinds = []
    for i, t in enumerate(inputs):
        if not isinstance(t, EagerTensor) and not isinstance(t, EagerHandle):
            if t.__class__ not in _handles:
                return how(context, args, kwargs)
            t = _handles[t.__class__](t)  # variables stand for their handles
            inputs = [*inputs[:i], t, *inputs[i + 1 :]]
            if not isinstance(t, EagerHandle) and not isinstance(t, EagerTensor):
                return how(context, args, kwargs)
        kinds.append(t._kind)
    if len(args) != count:
        kinds.append(tuple(args[count:]))
    if kwargs:
        kinds.append(tuple(kwargs.items()))
    try:
        found = how.bound.get(tuple(kinds))
    except TypeError:  # an attribute that is a list
        return how(context, args, kwargs)
    if found is None:
        return how(context, args, kwargs)
    if not found.plain:
        return _update(found, inputs) if found.updates else how.wrap(found, run(found, inputs, context))
    function = found.function
    try:
        value = function(*[t._value for t in inputs], *found.attrs)
    except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
        raise explain(e, op_def, inputs) from e
    made = EagerTensor()
    made._value = value
    made._kind = found.kind
    tapes = record.active.get()
    if tapes:
        record.keep(tapes, found, inputs, (made,))
    return made


def _update(bound: Bound, inputs: Sequence[Any]) -> Any:
    """Runs an op that changes variables, which come first: the first one."""
    function = bound.function
    try:
        values = [t._value for t in inputs]
        for state in values[: bound.updates]:
            unshare(state)
        function(*values, *bound.attrs)
    except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
        raise explain(e, bound.op_def, inputs) from e
    if tapes := record.active.get():
        record.keep(tapes, bound, inputs, inputs[:1])
    return inputs[0]


def binary(op_def: OpDef) -> Callable[[Any, Any], Any]:
    """The same for two eager tensors, in whatever context."""
    how = caller(op_def)
    quick = operator(op_def, lambda x, y: how(graphs.get_default_graph(), (x, y), {}))
    return quick


def operator(op_def: OpDef, otherwise: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``x + y`` of two eager tensors of known dtypes, or a tensor and a variable; anything else is left to ``otherwise``."""
    how = caller(op_def)
    known = _Pairs(how.pairs)
    rows, find = known.rows, known.find
    now, enter, keep, snapshot, handles = record.now, record.enter, record.keep, record.snapshot, _handles

    def apply(x: Any, y: Any) -> Any:
        tapes = now()
        if tapes is None:
            tapes = enter()
            if tapes is None:
                return otherwise(x, y)
        if isinstance(y, EagerTensor):
            kind, second = y._kind, y._value
        elif y.__class__ in handles:
            handle = handles[y.__class__](y)
            if handle.__class__ is not EagerHandle or not hasattr(handle._value, "value"):
                return otherwise(x, y)
            y = snapshot(tapes, handle) if tapes else handle
            kind, second = handle._kind - 100, handle._value.value  # the dtype of the value, not of the reference
        else:
            return otherwise(x, y)
        found = rows[x._kind][kind]
        if found is None:
            found = find(x._kind, kind)
            if found is None:
                return otherwise(x, snapshot(tapes, y))
        first, function = x._value, found.function
        try:
            value = function(first, second) if found.more is None else function(first, second, *found.more)
        except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
            raise explain(e, op_def, (x, y)) from e
        made = EagerTensor()
        made._value = value
        made._kind = found.kind
        if tapes:
            keep(tapes, found, (x, y), (made,))
        return made

    return apply


class _Pairs:
    """Bindings by two dtypes, as rows of a table: Python finds an item of a list without a call."""

    __slots__ = ("_pairs", "rows")

    def __init__(self, pairs: dict[tuple[int, int], Bound]) -> None:
        self._pairs = pairs
        self.rows: list[Sequence[Bound | None]] = [_EMPTY] * _KINDS

    def find(self, x: int, y: int) -> Bound | None:
        """One that is not in the table yet."""
        found = self._pairs.get((x, y))
        if found is not None:
            row = list(self.rows[x])
            row[y] = found
            self.rows[x] = row
        return found


_KINDS = 256  # more than there are dtypes
_EMPTY: list[Bound | None] = [None] * _KINDS


def updater(op_def: OpDef, attrs: Sequence[tuple[str, Any]]) -> Callable[[Any, Any], bool]:
    """``v.assign(x)`` of a handle and a tensor, with these attributes: whether it was done.  If not, nothing was."""
    bound, given = caller(op_def).bound, tuple(attrs)

    def apply(handle: Any, value: Any) -> bool:
        tapes = record.recording()
        if tapes is None or handle.__class__ is not EagerHandle:
            return False
        found = bound.get((handle._kind, value._kind, given))
        if found is None:
            return False
        _update(found, (handle, value))
        return True

    return apply


def updating(op_def: OpDef) -> Callable[[F], F]:
    """Decorates a variable's method of a tensor (``v.assign_add(x)``), whose op must say what it does ``in_place``.

    A tensor of a kind met before goes straight to that, in one piece; the method is for all else.
    """
    pairs: dict[tuple[int, int], Bound] = {}
    table, bound = _Pairs(pairs), caller(op_def).bound
    now, enter, keep, rows = record.now, record.enter, record.keep, table.rows
    references, uses, numel = sys.getrefcount, storage_uses, torch.Tensor.numel

    def find(x: int, y: int) -> Bound | None:
        found = bound.get((x, y, (("use_locking", False),)))
        if found is None or found.in_place is None:
            return None
        pairs[x, y] = found
        return table.find(x, y)

    def decorate(method: F) -> F:
        @functools.wraps(method)
        def change(
            self: Any, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
        ) -> Any:
            handle = self._variable
            tapes = now()
            if tapes is None:
                tapes = enter()
            if (
                use_locking
                or tapes is None
                or not isinstance(delta, EagerTensor)
                or not isinstance(handle, EagerHandle)
            ):
                return method(self, delta, use_locking, name, read_value)
            found = rows[handle._kind][delta._kind]
            if found is None:
                found = find(handle._kind, delta._kind)
                if found is None:
                    return method(self, delta, use_locking, name, read_value)
            value = delta._value
            try:
                buffer = handle._value.value
                which, storage, count, dims = handle._seen
                if which() is not buffer:
                    which, storage, count, dims = handle.look(buffer)
                # As ``unshare`` asks, but without a call.
                if references(buffer) > 3 or uses(storage) > 2:
                    buffer = None
                    unshare(handle._value)
                    buffer = handle._value.value
                if numel(value) == count or value.shape == dims:
                    found.in_place(buffer, value)
                else:
                    found.function(handle._value, value, *found.attrs)  # which says what is wrong
            except Exception as e:  # noqa: BLE001 - every failure of a kernel becomes an error that names the op
                raise explain(_refused(found, handle, value) or e, op_def, (handle, delta)) from e
            if tapes:
                keep(tapes, found, (handle, delta), (handle,))
            return self if read_value else None

        return change  # type: ignore[return-value]

    return decorate


def _refused(bound: Bound, handle: Any, value: Any) -> Exception | None:
    """What the kernel itself says of a value that could not be used in place."""
    try:
        bound.function(handle._value, value, *bound.attrs)
    except Exception as e:  # noqa: BLE001 - this is the one that counts
        return e
    return None


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
    elif isinstance(value, Immediate):
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


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    return tuple([frozen(v) for v in value]) if isinstance(value, (list, tuple)) else value


_callers: dict[OpDef, Caller] = {}


def caller(op_def: OpDef) -> Caller:
    found = _callers.get(op_def)
    if found is None:
        found = _callers[op_def] = Caller(op_def)
    return found
