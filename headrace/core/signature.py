"""The signature language: one line of text that says what an op takes and gives.

    MatMul(a: T, b: T; transpose_a: bool = False) -> (product: T)
    Reshape(tensor: T, shape: host Tshape) -> (output: T)
    AddN(inputs: N*T) -> (sum: T)
    IdentityN(input: list(T)) -> (output: list(T))
    Assign(ref: ref T, value: T; use_locking: bool = True) -> (output_ref: ref T)
    AssignVariableOp(resource: resource dtype, value: dtype) -> ()

Inputs stand before the semicolon, attributes after it.  A capitalised type that is not a dtype name is a type
variable; its allowed dtypes are given beside the text (``T=NUMERIC``).  ``host`` marks an input whose *value*
decides shapes: kernels receive it as plain Python numbers, shape rules as numbers with ``None`` for unknown ones.
A number in brackets is the rank of an input, ``input: T[4]``; ``[2+]`` is two or more, ``[1-]`` one at most.
An op all of whose outputs have the rank 0, ``size: int32[0]``, needs no shape rule.
An attribute may have a least value or length, ``block_size: int >= 2``, or choices, ``padding: string in {SAME, VALID}``.
``ref`` marks a handle to mutable state; ``resource T`` the handle of a resource variable whose elements are T (``resource``
alone is the handle of anything else: a table, a queue).

Owns: parsing and the objects it yields.  Does not know: graphs, kernels, the registry.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import TensorShape


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()

SCALAR_KINDS: Final = ("bool", "int", "float", "string", "type", "shape", "tensor", "func", "any")
_ATTR = re.compile(r"\s*(\w+(?:\(\w+\))?)\s*(?:>=\s*(-?\d+)\s*)?(?:in\s*\{([^}]*)\}\s*)?(?:=\s*(.*))?\Z", re.S)
_TYPE = re.compile(r"((?:\w+\*)?\w+|list\(\w+\))(?:\[(\d)([+-]?)\])?\Z")
ANY_RANK: Final = 99
"""More dimensions than any tensor has: the greatest rank of an input that may have any."""
_HEAD = re.compile(r"^\s*([A-Za-z_>][A-Za-z0-9_>]*)\s*\((.*)\)\s*->\s*\((.*)\)\s*$", re.S)


@dataclass(frozen=True, slots=True)
class Arg:
    """One input or output.  Exactly one of ``dtype``, ``type_attr`` and ``type_list_attr`` is set."""

    name: str
    dtype: DType | None = None
    type_attr: str | None = None
    type_list_attr: str | None = None
    number_attr: str | None = None
    host: bool = False
    ref: bool = False
    resource: bool = False  # of a ref: the handle of a resource variable
    ranks: tuple[int, int] | None = None  # the least and the greatest; of an output only 0 means something

    @property
    def is_list(self) -> bool:
        return self.number_attr is not None or self.type_list_attr is not None

    def __str__(self) -> str:
        type_text = self.dtype.name if self.dtype else self.type_attr or f"list({self.type_list_attr})"
        counted = f"{self.number_attr}*{type_text}" if self.number_attr else type_text
        words = ["host"] * self.host + [self.handle_word] * self.ref + [counted]
        return f"{self.name}: {' '.join(words)}{self._rank_text}"

    @property
    def _rank_text(self) -> str:
        if self.ranks is None:
            return ""
        least, greatest = self.ranks
        return f"[{least}+]" if greatest == ANY_RANK else f"[{greatest}{'' if least == greatest else '-'}]"

    @property
    def handle_word(self) -> str:
        return "resource" if self.resource else "ref"


@dataclass(frozen=True, slots=True)
class Attr:
    """An attribute: ``kind`` is one of SCALAR_KINDS or ``list(kind)``.  ``inferred`` ones come from the inputs."""

    name: str
    kind: str
    default: Any = REQUIRED
    inferred: bool = False
    minimum: int | None = None  # the least number, or the least length of a list
    choices: tuple[str, ...] = ()  # the texts that it may be, if not any

    @property
    def is_list(self) -> bool:
        return self.kind.startswith("list(")

    def __str__(self) -> str:
        least = "" if self.minimum is None else f" >= {self.minimum}"
        choices = f" in {{{', '.join(self.choices)}}}" if self.choices else ""
        return f"{self.name}: {self.kind}{least}{choices}" + (
            "" if self.default is REQUIRED else f" = {self.default!r}"
        )

    def check(self, value: Any) -> None:
        """ValueError, in TF1's words, for a value below the minimum or none of the choices."""
        if self.minimum is not None:
            number = len(value) if self.is_list else value
            if number < self.minimum:
                what = "Length" if self.is_list else "Value"
                raise ValueError(f"{what} for attr '{self.name}' of {number} must be at least minimum {self.minimum}")
        if self.choices and value not in self.choices:
            listed = ", ".join(f'"{choice}"' for choice in self.choices)
            raise ValueError(
                f"Value for attr '{self.name}' of \"{value}\" is not in the list of allowed values: {listed}"
            )


@dataclass(frozen=True, slots=True)
class Signature:
    """A parsed signature.  ``attrs`` are those the caller may give, in order; ``inferred`` come from the inputs."""

    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: tuple[Attr, ...]
    inferred: tuple[Attr, ...]
    allowed: Mapping[str, tuple[DType, ...]]
    minimums: Mapping[str, int] = field(default_factory=dict)  # the shortest list of each length attribute, if not 1

    def __str__(self) -> str:
        attrs = "; " + ", ".join(map(str, self.attrs)) if self.attrs else ""
        return f"{self.name}({', '.join(map(str, self.inputs))}{attrs}) -> ({', '.join(map(str, self.outputs))})"


def _split(text: str, separator: str = ",") -> list[str]:
    """Splits at separators that are not inside brackets or quotes."""
    parts: list[str] = []
    for piece in text.split(separator):
        if parts and _is_open(parts[-1]):
            parts[-1] += separator + piece
        else:
            parts.append(piece)
    return [p.strip() for p in parts if p.strip()]


def _is_open(text: str) -> bool:
    """Whether a bracket or a quote is open at the end.  Quick, since import reads hundreds of signatures."""
    count = text.count
    return (
        count("(") > count(")")
        or count("{") > count("}")
        or count("[") > count("]")
        or count('"') % 2 == 1
        or count("'") % 2 == 1
    )


def _parse_arg(text: str, where: str) -> Arg:
    name, colon, type_text = text.partition(":")
    words = type_text.split()
    if not colon or not words:
        raise ValueError(f"{where}: expected 'name: type', got {text.strip()!r}")
    unknown = [w for w in words[:-1] if w not in ("host", "ref", "resource")]
    if unknown:
        raise ValueError(f"{where}: {unknown[0]!r} in {text.strip()!r} is not known; known: host, ref, resource")
    host, resource = "host" in words[:-1], "resource" in words[:-1]
    ref = resource or "ref" in words[:-1]
    number: str | None = None
    match = _TYPE.match(words[-1])
    if match is None:
        spec = words[-1]
        raise ValueError(f"{where}: {spec!r} in {text.strip()!r} is not a type; types are T, float32, N*T and list(T)")
    spec, rank, how = match.groups()
    ranks = None if rank is None else (0 if how == "-" else int(rank), ANY_RANK if how == "+" else int(rank))
    if spec.startswith("list("):
        return Arg(name.strip(), type_list_attr=spec[5:-1], host=host, ref=ref, resource=resource, ranks=ranks)
    if "*" in spec:
        number, spec = spec.split("*")
    dtype = dtypes.as_dtype(spec) if spec in _DTYPE_NAMES else None
    type_attr = None if dtype else spec
    return Arg(
        name.strip(), dtype=dtype, type_attr=type_attr, number_attr=number, host=host, ref=ref, resource=resource,
        ranks=ranks,
    )  # fmt: skip


_DTYPE_NAMES: Final = frozenset(
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
    "complex128 resource variant".split()
)


def _parse_attr(text: str, where: str) -> Attr:
    name, colon, rest = text.partition(":")
    if not colon:
        raise ValueError(f"{where}: expected 'name: kind [= default]', got {text!r}")
    match = _ATTR.match(rest)
    if match is None:
        raise ValueError(f"{where}: expected 'name: kind [>= number] [in {{texts}}] [= default]', got {text!r}")
    kind, least, choices, default_text = match.groups()
    kind = {"str": "string", "list(str)": "list(string)"}.get(kind, kind)
    base = kind[5:-1] if kind.startswith("list(") else kind
    if base not in SCALAR_KINDS:
        raise ValueError(f"{where}: attribute {name.strip()!r} has unknown kind {kind!r}; known: {SCALAR_KINDS}")
    default: Any = REQUIRED
    if default_text is not None:
        default = _parse_default(kind, default_text.strip())
    texts = () if choices is None else tuple(choice.strip() for choice in choices.split(","))
    return Attr(name.strip(), kind, default, False, None if least is None else int(least), texts)


# What most defaults are: literal_eval calls the compiler, and there are hundreds of signatures to read at import.
_SIMPLE: Final = {
    **{str(v): v for v in (True, False, 0, 1, -1, 0.0, 1.0)},
    **{f'"{v}"': v for v in ("", "NHWC", "NDHWC")},
    "[]": (),
    "[1, 1, 1, 1]": (1, 1, 1, 1),
}


def _parse_default(kind: str, text: str) -> Any:
    if text == "None":
        return None
    if kind == "type":
        return dtypes.as_dtype(text)
    if kind == "list(type)":
        return tuple(dtypes.as_dtype(t) for t in _split(text.strip("[]()")))
    value = _SIMPLE[text] if text in _SIMPLE else ast.literal_eval(text)
    if kind == "shape":
        return TensorShape(value)
    return tuple(value) if isinstance(value, list) else value


def parse(text: str, constraints: Mapping[str, Sequence[DType] | DType | int]) -> Signature:
    """Parses the text; ``constraints`` gives the dtypes each type variable may take, and the shortest list of a length."""
    match = _HEAD.match(text)
    if match is None:
        raise ValueError(f"not an op signature: {text!r}; expected 'Name(inputs; attributes) -> (outputs)'")
    name, left, right = match.groups()
    halves = _split_once(left)
    inputs = tuple(_parse_arg(t, name) for t in _split(halves[0]))
    attrs = tuple(_parse_attr(t, name) for t in _split(halves[1]))
    outputs = tuple(_parse_arg(t, name) for t in _split(right))
    _check_distinct(name, "arguments", [*(a.name for a in inputs), *(a.name for a in attrs)])
    _check_distinct(name, "outputs", [a.name for a in outputs])
    explicit = {a.name for a in attrs}
    minimums = {k: v for k, v in constraints.items() if isinstance(v, int)}
    allowed = {k: (v,) if isinstance(v, DType) else tuple(v) for k, v in constraints.items() if not isinstance(v, int)}
    inferred: dict[str, Attr] = {}
    for arg in inputs:
        if arg.type_attr and arg.type_attr not in explicit:
            inferred[arg.type_attr] = Attr(arg.type_attr, "type", inferred=True)
        if arg.number_attr and arg.number_attr not in explicit:
            inferred[arg.number_attr] = Attr(arg.number_attr, "int", inferred=True)
        if arg.type_list_attr and arg.type_list_attr not in explicit:
            inferred[arg.type_list_attr] = Attr(arg.type_list_attr, "list(type)", inferred=True)
    declared = explicit | set(inferred)
    for arg in outputs:
        for attr in (arg.type_attr, arg.number_attr, arg.type_list_attr):
            if attr and attr not in declared:
                raise ValueError(f"{name}: output {arg.name!r} uses {attr!r}, which no input or attribute fixes")
    for attr in allowed:
        if attr not in declared:
            raise ValueError(f"{name}: dtypes are given for {attr!r}, which the signature does not mention")
    for attr in minimums:
        if attr not in declared:
            raise ValueError(f"{name}: a shortest length is given for {attr!r}, which the signature does not mention")
    return Signature(name, inputs, outputs, attrs, tuple(inferred.values()), allowed, minimums)


def _check_distinct(where: str, what: str, names: Sequence[str]) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"{where}: two {what} are called {name!r}")


def _split_once(text: str) -> tuple[str, str]:
    parts = _split(text, ";")
    if len(parts) == 1 and text.strip().startswith(";"):
        return "", parts[0]
    return (parts + ["", ""])[0], (parts + ["", ""])[1]
