"""An exception in a kernel -> the error of TF1's tree, naming the node, its inputs, the user's line and the line of the run."""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

import numpy as np
import torch

from headrace.core import errors
from headrace.core.source import user_source
from headrace.core.wording import cause, is_from_below
from headrace.graph.collection import GraphKeys
from headrace.passes.schedule import root
from headrace.passes.step_graph import Node, Value
from headrace.runtime.code.codegen import Program
from headrace.runtime.host.refusal import refusal

_NODE = re.compile(r"\[\[node (\S+) \(")
_BY_TYPE: tuple[tuple[type[BaseException], type[errors.OpError]], ...] = (
    (MemoryError, errors.ResourceExhaustedError),
    (RecursionError, errors.ResourceExhaustedError),
    (torch.OutOfMemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
    (StopIteration, errors.OutOfRangeError),
    (ValueError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
    (IndexError, errors.InvalidArgumentError),
    (RuntimeError, errors.InvalidArgumentError),
    (ArithmeticError, errors.InvalidArgumentError),
)


def failed_node(program: Program, traceback: TracebackType | None) -> tuple[Node | None, dict[str, Any], Program]:
    """The node whose line raised, the values held then, and the program or body the line belongs to."""
    by_code = {p.call.__code__: p for p in _with_bodies(program)}
    failed: tuple[Node | None, dict[str, Any], Program] = (None, {}, program)
    while traceback is not None:
        frame = traceback.tb_frame
        owner = by_code.get(frame.f_code)
        if owner is not None:
            node = owner.lines.get(traceback.tb_lineno)
            inner = node is not None and (failed[0] is None or not node.op_def.traits.feed)
            if inner:  # the innermost one: a body's node rather than the loop around it, but no argument of the body
                failed = (node, dict(frame.f_locals), owner)
        traceback = traceback.tb_next
    return failed


def _with_bodies(program: Program) -> list[Program]:
    return [program, *(inner for body in program.bodies for inner in _with_bodies(body))]


def node_error(error: BaseException, program: Program) -> BaseException:
    """What to raise instead of ``error``; an error that no node raised passes through."""
    node, values, program = failed_node(program, error.__traceback__)
    if node is None or isinstance(error, (KeyboardInterrupt, SystemExit)):
        return error
    return blame(node, error, program, values)


def raisable(error: BaseException, program: Program) -> BaseException:
    """The `node_error`, ready to be raised: with the user's own exception for a cause, if there is one."""
    failure = node_error(error, program)
    if failure is not error:
        failure.__cause__ = cause(error)
    return failure


def blame(node: Node, error: BaseException, program: Program, by_name: dict[str, Any]) -> BaseException:
    """What to raise instead of an error of this node.  ``by_name`` are the values by their names in the program."""
    node = _blamed(node, error)
    if node.op_def.traits.compiled and isinstance(error, errors.OpError) and error.op is not None:
        return error  # it names its node already
    uninitialized = _uninitialized(node, error, program, by_name)
    if uninitialized is not None:
        raised_class: type[errors.OpError] = errors.FailedPreconditionError
        node, message = uninitialized
    elif node.op_def.built_in and is_from_below(error):
        values = [_value_of(v, program, by_name) for v in node.inputs]
        raised_class, message = refusal(node.op_def, node.attrs, values, error)
    else:
        raised_class, message = error_class(error)
    origin = node.origin
    shown = (
        origin.type if origin is not None and node.type.startswith("_") else node.type
    )  # the user knows no internal op
    text = (
        f"{message}\n\t [[node {node.name} ({shown}) made at {node.source}, on {node.device or 'no device'}]]"
        f"{_inputs(node, program, by_name)}\n\t run at {user_source(2)}"
    )
    if raised_class is errors.OpError:
        raised_class = errors.UnknownError
    return raised_class(None, origin, text)  # type: ignore[call-arg]


def _reader(value: Value) -> tuple[Node, Value] | None:
    """The node that reads the value from a variable, and the variable: code on arrays reads it at the line that needs it."""
    while value.op.op_def.traits.identity:
        value = value.op.inputs[0]
    return (value.op, value.op.inputs[0]) if value.op.op_def.traits.reads_buffer else None


def _blamed(node: Node, error: BaseException) -> Node:
    """Of several nodes that run as one (passes/fuse_updates.py, fuse_crop.py), the one the error is about."""
    members = node.attrs.get("_members")
    return node if members is None else members[getattr(error, "member", 0)]


def error_class(error: BaseException) -> tuple[type[errors.OpError], str]:
    """The class of TF1's tree for an exception of a kernel, and what it says."""
    if isinstance(error, errors.OpError):
        return (errors.UnknownError if type(error) is errors.OpError else type(error)), error.message
    tf_class = next((c for t, c in _BY_TYPE if isinstance(error, t)), errors.UnknownError)
    message = f"{type(error).__name__}: {error}" if tf_class is errors.UnknownError else str(error)
    if "ZeroDivisionError" in message and tf_class is errors.InvalidArgumentError:
        message = "Integer division by zero"
    return tf_class, message


def as_told(error: BaseException) -> tuple[int, str, str]:
    """An error as another process is told: its code, what it says, and the name of the node it is about."""
    tf_class, text = error_class(error)
    code = errors.error_code_from_exception_type(tf_class)
    found = _NODE.search(text)
    return errors.UNKNOWN if code is None else code, text, found.group(1) if found else ""


def _uninitialized(
    node: Node, error: BaseException, program: Program, values: dict[str, Any]
) -> tuple[Node, str] | None:
    """The node that reads, and what to say: a variable's buffer is an attribute that is unset until the first assignment."""
    if not isinstance(error, AttributeError) or getattr(error, "name", None) != "value":
        return None
    for used in node.inputs:
        reader, value = _reader(used) or (node, used)
        if value.dtype._is_ref_dtype:
            handle = values.get(program.names[value]) or program.call.__globals__.get(program.names[value])
            if getattr(handle, "initialized", False):
                continue
            origin = root(value).op
            return reader, (
                f"Attempting to use uninitialized value {origin.name}: the variable made at {origin.source} has no value in "
                f"this session yet. Run {_initializer(origin)}, or restore it, first"
            )
    return None


def _initializer(variable: Node) -> str:
    """The function whose operation gives this variable its first value."""
    graph = getattr(variable.origin, "graph", None)
    local = graph.get_collection(GraphKeys.LOCAL_VARIABLES) if graph is not None else ()
    is_local = any(getattr(v, "op", None) is variable.origin for v in local)
    return "tf.local_variables_initializer()" if is_local else "tf.global_variables_initializer()"


def client_name(value: Value) -> str:
    """The name the user knows: a feed stands for the tensor that is fed, a copy for what it copies."""
    name = value.name
    while name.startswith(("_feed/", "_own")):
        name, _, index = name.partition("/")[2].rpartition(":")[0].rpartition("/")
        name = f"{name}:{index}"
    return "(from compiled code)" if name.startswith("_region/") else name


def _static(value: Value) -> list[str]:
    dims = value.shape.tuple
    return ["..."] if dims is None else ["?" if d is None else str(d) for d in dims]


def _value_of(value: Value, program: Program, values: dict[str, Any]) -> Any:
    """The value that the step holds; None if it is gone by now."""
    if value.op.op_def.traits.constant:
        return value.op.attrs["value"]
    name = program.names.get(value, "")
    for one in (name, *(other for (of, _), other in program.converted.items() if of == name)):
        if one in values:
            return values[one]
    return program.call.__globals__.get(name)  # handles are not among the locals


def _inputs(node: Node, program: Program, values: dict[str, Any]) -> str:
    parts = []
    for value in node.inputs:
        held_value = _value_of(value, program, values)
        known = held_value.shape if isinstance(held_value, (torch.Tensor, np.ndarray)) else None
        shape = f"[{', '.join(_static(value))}]" if known is None else list(known)
        parts.append(f"{client_name(value)} {value.dtype.base_dtype.name}{shape}")
    return f"\n\t inputs: {', '.join(parts)}" if parts else ""
