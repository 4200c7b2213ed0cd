"""What ``help`` says of an op's function: made of the op's definition, so that it is always true."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.dtypes import ANY, FLOAT_OR_COMPLEX, FLOATING, INDEX, INTEGER, NUMERIC, REAL, DType
from headrace.core.registry import OpDef
from headrace.core.signature import REQUIRED, Arg, Attr, Signature

_SETS = {
    ANY: "any dtype", NUMERIC: "numbers", REAL: "real numbers", FLOATING: "floating point", INTEGER: "integers",
    INDEX: "int32 or int64", FLOAT_OR_COMPLEX: "floating point or complex",
}  # fmt: skip


def op_help(op_def: OpDef, shown: Mapping[str, str]) -> str:
    """The docstring.  ``shown``: what Python calls arguments that have another name in graphs."""
    signature = op_def.signature
    args = [(shown.get(one.name, one.name), _input(one, signature)) for one in signature.inputs]
    for one in sorted(signature.attrs, key=lambda attr: attr.default is not REQUIRED):  # as Python's signature has them
        args.append((shown.get(one.name, one.name), _attr(one)))
    args.append(("name", "a name for the node."))
    needed = [name for name, text in args if not text.endswith(")") and name != "name"]
    call = f"tf.raw_ops.{signature.name}({', '.join(f'{name}={name}' for name in needed)})"
    lines = [f"Adds a node of type {signature.name}: {signature}", "", "Args:"]
    lines += [f"  {name}: {text}" for name, text in args]
    return "\n".join([*lines, "", "Returns:", f"  {_results(signature)}", "", f"Example: ``{call}``"])


def _input(arg: Arg, signature: Signature) -> str:
    what = "a variable of " if arg.ref else "a list of tensors of " if arg.is_list else "a tensor of "
    return f"{what}{_dtypes(arg, signature)}{_rank(arg)}."


def _dtypes(arg: Arg, signature: Signature) -> str:
    attr = arg.type_attr or arg.type_list_attr
    if arg.dtype is not None:
        return arg.dtype.name
    allowed: tuple[DType, ...] | None = signature.allowed.get(attr or "")
    if not allowed:
        return f"dtype {attr}"
    return f"{_SETS.get(tuple(allowed)) or ' or '.join(one.name for one in allowed)} ({attr})"


def _rank(arg: Arg) -> str:
    if arg.ranks is None:
        return ""
    least, most = arg.ranks
    return (
        f", of rank {least}"
        if least == most
        else f", of rank {least} or more"
        if most > 8
        else f", of rank {least} to {most}"
    )


def _attr(attr: Attr) -> str:
    what = attr.kind.removeprefix("list(").removesuffix(")")
    text = f"a list of {what}" if attr.is_list else f"a {what}" if what[0] not in "aeiou" else f"an {what}"
    text += f", {attr.minimum} or more" if attr.minimum is not None else ""
    text += f", one of {', '.join(attr.choices)}" if attr.choices else ""
    return f"{text}." if attr.default is REQUIRED else f"{text} (default: {attr.default!r})"


def _results(signature: Signature) -> str:
    outputs = signature.outputs
    if not outputs:
        return "The operation."
    each = [f"{one.name} ({'a list of ' if one.is_list else ''}{_dtype(one)})" for one in outputs]
    if len(each) == 1:
        return f"{'Tensors' if outputs[0].is_list else 'A tensor'}: {each[0]}."
    return f"A named tuple of tensors: {', '.join(each)}."


def _dtype(arg: Arg) -> str:
    return arg.dtype.name if arg.dtype is not None else str(arg.type_attr or arg.type_list_attr)
