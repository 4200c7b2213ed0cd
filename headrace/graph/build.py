"""Calling an op: Python arguments -> converted inputs and checked attributes -> one node in the graph.

The errors raised here are the ones users meet most; each names the op, the argument, what was received and what is accepted.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape, as_shape
from headrace.core.signature import REQUIRED, Arg, Attr
from headrace.core.source import user_source
from headrace.graph import context
from headrace.graph.constant import make_array
from headrace.graph.convert import install_builders, to_tensor
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor

_result_types: dict[OpDef, Any] = {}


def call(op_def: OpDef, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Adds a node for ``op_def``; returns its output, its outputs as a named tuple, or the Operation if it has none."""
    default = context.get_default_graph()
    if default.executing_eagerly:
        return default.call(op_def, args, kwargs)
    name = kwargs.pop("name", None)
    arguments = _bind(op_def, args, kwargs)
    graph = graph_of_inputs([arguments.get(a.name) for a in op_def.signature.inputs])
    if graph is context.get_default_graph():
        node = _add(graph, op_def, arguments, name)
    else:
        with graph.as_default():
            node = _add(graph, op_def, arguments, name)
    return wrap_outputs(op_def, node)


def add_node(graph: Graph, op_def: OpDef, args: Sequence[Any], kwargs: dict[str, Any]) -> Operation:
    """Does what ``call`` does up to the node itself, in ``graph``, which must be the default one."""
    name = kwargs.pop("name", None)
    return _add(graph, op_def, _bind(op_def, args, kwargs), name)


def wrap_outputs(op_def: OpDef, node: Operation) -> Any:
    """A node's outputs as the caller sees them."""
    outputs = op_def.signature.outputs
    values = node._outputs
    if not values:
        return node
    if len(outputs) == 1:
        return list(values) if outputs[0].is_list else values[0]
    result_type = _result_types.get(op_def)
    if result_type is None:
        result_type = _result_types[op_def] = namedtuple(op_def.name.lstrip("_"), [o.name for o in outputs])
    parts: list[Any] = []
    position = 0
    for out in outputs:
        if out.is_list:
            count = node.attrs[out.number_attr] if out.number_attr else len(node.attrs[out.type_list_attr or ""])
            parts.append(list(values[position : position + count]))
            position += count
        else:
            parts.append(values[position])
            position += 1
    return result_type(*parts)


def graph_of_inputs(values: Sequence[Any]) -> Graph:
    """The graph of the first symbolic input; the default graph if there is none or a function is being built."""
    default = context.get_default_graph()
    if default.building_function or default.executing_eagerly:
        return default
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            graph = item.op.graph if isinstance(item, Tensor) else getattr(item, "graph", None)
            if isinstance(graph, Graph) and not graph.executing_eagerly:
                return default if graph.building_function else graph  # a finished body takes no more nodes
    return default


def _bind(op_def: OpDef, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    signature = op_def.signature
    names = [a.name for a in signature.inputs] + [a.name for a in signature.attrs]
    if len(args) > len(names):
        raise TypeError(f"{op_def.name} takes at most {len(names)} arguments ({', '.join(names)}), got {len(args)}")
    arguments = dict(zip(names, args, strict=False))
    extra = {a.name for a in signature.inferred}
    for key, value in kwargs.items():
        if key in arguments:
            raise TypeError(f"{op_def.name} got two values for argument {key!r}")
        if key not in names and key not in extra:
            raise TypeError(f"{op_def.name} has no argument {key!r}; it has {', '.join(names)}")
        arguments[key] = value
    for arg in signature.inputs:
        if arg.name not in arguments:
            raise TypeError(f"No argument for input {arg.name!r} of {signature}")
    return arguments


def _add(graph: Graph, op_def: OpDef, arguments: dict[str, Any], name: str | None) -> Operation:
    attrs = {a.name: _attr_value(op_def, a, arguments) for a in op_def.signature.attrs}
    for attr in op_def.signature.inferred:
        if arguments.get(attr.name) is not None:
            attrs[attr.name] = checked_attr(op_def, attr, arguments[attr.name])
    name = name or op_def.name.lstrip("_")  # node names must not start with the mark of internal ops
    full = None
    if _has_python_value(op_def, arguments):
        # Constants made of arguments are named inside the node's own scope, as TF1 names them: add, add/y.
        graph.checked_name(name)
        full = name[:-1] if name.endswith("/") else graph.unique_name(name)
        name = full + "/"
        scopes = graph._scopes
        old = scopes.name
        scopes.name = full
        try:
            inputs = _convert_inputs(op_def, arguments, attrs)
        finally:
            scopes.name = old
    else:
        inputs = _convert_inputs(op_def, arguments, attrs)
    out_dtypes = output_dtypes(op_def, attrs)
    _check_allowed(op_def, attrs)
    first = op_def.signature.inputs[0] if op_def.signature.inputs else None
    state = inputs[0].op if first is not None and first.ref and not first.resource else None
    if state is not None and state.graph is graph:  # what uses a handle is placed with the state behind it
        with graph.colocate_with(state):
            return graph.create_op(op_def, inputs, out_dtypes, name=name, attrs=attrs)
    return graph.create_op(op_def, inputs, out_dtypes, name=name, attrs=attrs)


def _has_python_value(op_def: OpDef, arguments: dict[str, Any]) -> bool:
    for arg in op_def.signature.inputs:
        value = arguments[arg.name]
        if isinstance(value, Tensor):
            continue
        if arg.is_list and isinstance(value, (list, tuple)) and all(isinstance(v, Tensor) for v in value):
            continue
        return True
    return False


# ---- attributes


def _attr_value(op_def: OpDef, attr: Attr, arguments: dict[str, Any]) -> Any:
    value = arguments.get(attr.name, REQUIRED)
    if value is REQUIRED or (value is None and attr.default is not REQUIRED):
        if attr.default is REQUIRED:
            raise TypeError(f"No argument for attr {attr.name!r} of {op_def.signature}")
        return attr.default
    return checked_attr(op_def, attr, value)


def _bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError("a bool")


def _int(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        if hasattr(value, "value") and isinstance(value.value, int):
            return value.value
        raise TypeError("an int")
    return int(value)


def _float(value: Any) -> float:
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    raise TypeError("a float")


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    raise TypeError("a string")


def _func(value: Any) -> Any:
    return value


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "bool": _bool, "int": _int, "float": _float, "string": _string, "type": dtypes.as_dtype, "shape": as_shape,
    "tensor": make_array, "func": _func, "any": _func,
}  # fmt: skip


def checked_attr(op_def: OpDef, attr: Attr, value: Any) -> Any:
    """The attribute's value in its canonical form: TypeError if it is of another kind, ValueError if it is not allowed."""
    canonical = _canonical(op_def, attr, value)
    try:
        attr.check(canonical)
    except ValueError as e:
        raise ValueError(f"{e} for '{op_def.name}' Op (at {user_source(2)})") from None
    return canonical


def _canonical(op_def: OpDef, attr: Attr, value: Any) -> Any:
    kind = attr.kind[5:-1] if attr.is_list else attr.kind
    check = _CHECKS[kind]
    try:
        if not attr.is_list:
            return check(value)
        if isinstance(value, TensorShape):
            value = value.as_list()
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise TypeError(f"a list of {kind}")
        return tuple(check(v) for v in value)
    except (TypeError, ValueError) as e:
        why = str(e).partition(" (at ")[0]
        if kind == "shape" and isinstance(e, ValueError):
            raise ValueError(f"Error converting {attr.name} to a TensorShape: {why}. (at {user_source(2)})") from None
        expected = why if why.startswith("a") and len(why) < 24 else f"{attr.kind} ({why})"
        raise TypeError(
            f"Expected {expected} for attr '{attr.name}' of '{op_def.name}' Op, got {value!r} of type "
            f"'{type(value).__name__}' (at {user_source(2)})"
        ) from None


# ---- inputs


def _convert_inputs(op_def: OpDef, arguments: dict[str, Any], attrs: dict[str, Any]) -> list[Tensor]:
    inputs: list[Tensor] = []
    for arg in op_def.signature.inputs:
        value = arguments[arg.name]
        if arg.is_list:
            inputs.extend(_convert_list(op_def, arg, value, attrs))
        else:
            inputs.append(_convert_one(op_def, arg, value, attrs))
    return inputs


def _convert_one(op_def: OpDef, arg: Arg, value: Any, attrs: dict[str, Any]) -> Tensor:
    dtype = arg.dtype or attrs.get(arg.type_attr or "")
    preferred = None
    if dtype is None and arg.type_attr and not isinstance(value, Tensor):
        preferred = _preferred(op_def, arg, value)
    tensor = _to_tensor(op_def, arg, value, dtype, preferred, attrs)
    if arg.type_attr:
        attrs.setdefault(arg.type_attr, tensor.dtype.base_dtype)
    if arg.ref and not tensor.dtype._is_ref_dtype:
        raise TypeError(
            f"'{op_def.name}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable), got "
            f"{value!r} (at {user_source(2)})"
        )
    return tensor


def _preferred(op_def: OpDef, arg: Arg, value: Any) -> DType | None:
    """The dtype of a Python value that has none of its own: the only one allowed; for ``[]``, the first (a shape is int32)."""
    allowed = op_def.signature.allowed.get(arg.type_attr or "")
    empty = isinstance(value, (list, tuple)) and not value
    return allowed[0] if allowed and (len(allowed) == 1 or (empty and dtypes.float32 not in allowed)) else None


def _to_tensor(
    op_def: OpDef, arg: Arg, value: Any, dtype: DType | None, preferred: DType | None, attrs: dict[str, Any]
) -> Tensor:
    if isinstance(value, Tensor):
        tensor = value
    else:
        try:
            tensor = to_tensor(value, dtype, arg.name, as_ref=arg.ref, preferred=preferred)
        except (TypeError, ValueError) as e:
            if dtype is None:
                raise type(e)(
                    f"Argument '{arg.name}' of '{op_def.name}' Op cannot be converted to a Tensor: {e} "
                    f"(at {user_source(2)})"
                ) from None
            try:
                dtype_name = to_tensor(value, None, arg.name).dtype.name
            except (TypeError, ValueError):
                raise type(e)(f"{e} (argument '{arg.name}' of '{op_def.name}' Op, at {user_source(2)})") from None
            raise _wrong_dtype(_mismatch(op_def, arg, dtype_name, dtype)) from None
    if tensor.dtype._is_ref_dtype and tensor.dtype._is_resource and not arg.resource:
        takes = "the reference of a variable made with use_resource=False" if arg.ref else "a value"
        raise TypeError(
            f"Input '{arg.name}' of '{op_def.name}' Op has type resource: it is the handle of a resource variable, "
            f"{tensor.name}, and the op takes {takes}. ReadVariableOp gives the variable's value. (at {user_source(2)})"
        )
    if dtype is not None and tensor.dtype.base_dtype != dtype.base_dtype:
        raise _wrong_dtype(_mismatch(op_def, arg, tensor.dtype.base_dtype.name, dtype))
    return tensor


def _wrong_dtype(message: str) -> Exception:
    return context.get_default_graph().wrong_dtype(message)


def _mismatch(op_def: OpDef, arg: Arg, dtype_name: str, dtype: DType) -> str:
    where = f" (at {user_source(2)})"
    if arg.dtype is not None:
        return (
            f"Input '{arg.name}' of '{op_def.name}' Op has type {dtype_name} that does not match expected type of "
            f"{dtype.name}.{where}"
        )
    for other in op_def.signature.inputs:
        if other.type_attr == arg.type_attr and other.name != arg.name:
            return (
                f"Input '{arg.name}' of '{op_def.name}' Op has type {dtype_name} that does not match type "
                f"{dtype.base_dtype.name} of argument '{other.name}'.{where}"
            )
    return f"Input '{arg.name}' of '{op_def.name}' Op has type {dtype_name}, but attr '{arg.type_attr}' is {dtype.name}.{where}"


def _convert_list(op_def: OpDef, arg: Arg, value: Any, attrs: dict[str, Any]) -> list[Tensor]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"Expected list for '{arg.name}' argument to '{op_def.name}' Op, not {value!r}. (at {user_source(2)})"
        )
    if arg.type_list_attr:
        listed_types = attrs.get(arg.type_list_attr)
        if listed_types is not None and len(listed_types) != len(value):
            raise ValueError(
                f"'{op_def.name}' Op expects {len(listed_types)} tensors for '{arg.name}', got {len(value)}. "
                f"(at {user_source(2)})"
            )
        tensors = []
        for i, item in enumerate(value):
            dtype = listed_types[i] if listed_types is not None else None
            # A list of references holds what a body has captured: handles of variables of both kinds.
            one = Arg(f"{arg.name}_{i}", type_list_attr=arg.type_list_attr, host=arg.host, resource=arg.ref)
            tensors.append(_to_tensor(op_def, one, item, dtype, None, attrs))
        attrs[arg.type_list_attr] = tuple(t.dtype.base_dtype for t in tensors)
        return tensors
    number = arg.number_attr or ""
    if number in attrs and attrs[number] != len(value):
        raise ValueError(
            f"List argument '{arg.name}' to '{op_def.name}' Op with length {len(value)} must match length "
            f"{attrs[number]} of the lists before it. (at {user_source(2)})"
        )
    attrs[number] = len(value)
    shortest = op_def.signature.minimums.get(number, 1)
    if len(value) < shortest and arg.name != "indices":
        raise ValueError(
            f"List argument '{arg.name}' to '{op_def.name}' Op with length {len(value)} shorter than minimum length "
            f"{shortest}. (at {user_source(2)})"
        )
    item_dtype = arg.dtype or attrs.get(arg.type_attr or "")
    if item_dtype is None:
        for item in value:
            if isinstance(item, Tensor) or hasattr(item, "_as_graph_element"):
                item_dtype = item.dtype.base_dtype
                break
    tensors = []
    for i, item in enumerate(value):
        one = Arg(f"{arg.name}_{i}", type_attr=arg.type_attr, dtype=arg.dtype, host=arg.host)
        tensor = _list_item(op_def, arg, one, item, item_dtype, attrs, value)
        item_dtype = item_dtype or tensor.dtype.base_dtype
        tensors.append(tensor)
    if arg.type_attr and item_dtype is not None:
        attrs[arg.type_attr] = item_dtype.base_dtype
    return tensors


def _list_item(
    op_def: OpDef, arg: Arg, one: Arg, item: Any, dtype: DType | None, attrs: dict[str, Any], everything: Any
) -> Tensor:
    try:
        return _to_tensor(op_def, one, item, dtype, None, attrs)
    except TypeError as e:
        received = [v.dtype.name if hasattr(v, "dtype") else type(v).__name__ for v in everything]
        raise TypeError(
            f"Tensors in list passed to '{arg.name}' of '{op_def.name}' Op have types [{', '.join(map(str, received))}] "
            f"that don't all match: {e}"
        ) from None


# ---- outputs


def output_dtypes(op_def: OpDef, attrs: dict[str, Any]) -> list[DType]:
    result: list[DType] = []
    for out in op_def.signature.outputs:
        if out.type_list_attr:
            dtype_list = list(attrs[out.type_list_attr])
        else:
            dtype_list = [out.dtype or attrs[out.type_attr or ""]]
            if out.number_attr:
                dtype_list = dtype_list * attrs[out.number_attr]
        result.extend(_output_dtype(out, dtype) for dtype in dtype_list)
    return result


def _output_dtype(out: Arg, dtype: DType) -> DType:
    if not out.ref:
        return dtype
    return dtype._as_handle if out.resource else dtype._as_ref


def _check_allowed(op_def: OpDef, attrs: dict[str, Any]) -> None:
    for name, allowed in op_def.signature.allowed.items():
        value = attrs.get(name)
        for dtype in value if isinstance(value, tuple) else (value,):
            if dtype is not None and dtype not in allowed:
                users = [a.name for a in op_def.signature.inputs if name in (a.type_attr, a.type_list_attr)]
                what = f"parameter '{users[0]}'" if users else f"attr '{name}'"
                raise TypeError(
                    f"Value passed to {what} of '{op_def.name}' Op has DataType {dtype.name} not in list of allowed "
                    f"values: {', '.join(d.name for d in allowed)} (at {user_source(2)})"
                )


def _pack(parts: list[Tensor], name: str) -> Tensor:
    packed: Tensor = call(REGISTRY.get("Pack"), (parts, 0), {"name": name})
    return packed


def _cast(tensor: Tensor, dtype: DType) -> Tensor:
    result: Tensor = call(REGISTRY.get("Cast"), (tensor, dtype), {"name": "Cast"})
    return result


install_builders(_pack, _cast)
