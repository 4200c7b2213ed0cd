"""The op registry: every op type with its signature, traits, rules and kernels, declared once and in one place.

Rules and kernels are opaque callables here, so this module needs neither torch nor the graph.

    matmul = op("MatMul(a: T, b: T; transpose_a: bool = False) -> (product: T)", T=NUMERIC)

    @matmul.shape      def _(a, b, transpose_a): ...       partial shapes -> partial shape
    @matmul.value      def _(node, a, b): ...              partial integer values -> partial value (static evaluation)
    @matmul.gradient   def _(node, grad): ...              builds nodes through raw_ops
    @matmul.state      def _(context): ...                 what one node keeps across the steps of one session
    @matmul.kernel     def _(a, b, transpose_a): ...       torch tensors in, torch tensors out
    @matmul.on_arrays  def _(a, b, transpose_a): ...       the same for small values on the CPU, numpy arrays in and out

Registering a name twice is an error that names the first place.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

from headrace.core.dtypes import DType
from headrace.core.signature import Signature, parse
from headrace.core.source import at

Rule = Callable[..., Any]
_PACKAGE: Final = f"{Path(__file__).parents[1]}{os.sep}"


@dataclass(frozen=True, slots=True)
class Traits:
    """What passes and the runtime may assume of an op.  They ask these, never op names."""

    stateful: bool = False  # reads or writes something that outlives the node: never folded, merged or dropped
    random: bool = False  # draws random numbers
    reads: bool = False  # looks at state without changing anything
    writes: bool = False  # changes the state behind its ref inputs
    handle: bool = False  # its only output is the state object itself (a variable, a queue)
    host: bool = False  # runs on the host whatever the device: strings, files, Python callbacks
    host_output: bool = False  # its outputs are small integers kept on the host (Shape, Size, Rank)
    blocking: bool = False  # may wait for another step or the outside: ends a strand
    view: bool = False  # an output may share memory with an input
    pairs: bool = False  # of a view: output i with input i only
    dynamic_shape: bool = False  # output shape depends on input values
    opaque: bool = False  # the compiler must not look inside
    opaque_on_cpu: bool = False  # the same on the CPU, where the kernel is faster than what the compiler makes of it
    transfers: bool = False  # moves its inputs to its device itself
    feed: bool = False  # a value the caller must supply (Placeholder)
    argument: bool = False  # of a feed: an argument of a function's body, which may be the handle of a variable
    constant: bool = False  # its value is the attribute "value", known while planning
    identity: bool = False  # hands its input on as it is
    reads_buffer: bool = False  # its output is the buffer of the variable it is given, not a copy of it
    compiled: bool = False  # a compiled part of a step: outputs may share memory, errors name the failed node
    flow: str = ""  # a primitive of control flow: its kind in runtime/frame.py

    pure: bool = field(init=False)
    has_effect: bool = field(init=False)  # running the node matters even if nobody uses its value

    def __post_init__(self) -> None:
        changed = self.stateful or self.random or self.writes or self.handle or self.blocking or self.feed
        effect = self.writes or self.blocking or (self.stateful and not (self.handle or self.random or self.reads))
        object.__setattr__(self, "pure", not (changed or self.flow))
        object.__setattr__(self, "has_effect", effect)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One implementation.  ``device`` None means any; ``types`` restricts type attributes.

    A keyword-only parameter called ``state`` receives the node's state, ``device`` the torch device it runs on.
    """

    function: Rule
    device: str | None
    types: tuple[tuple[str, tuple[DType, ...]], ...]
    wants_state: bool
    wants_device: bool
    wants_node: bool

    def accepts(self, device: str, attrs: dict[str, Any]) -> bool:
        if self.device is not None and self.device != device:
            return False
        return not self.types or all(attrs.get(name) in allowed for name, allowed in self.types)


@dataclass(frozen=True, slots=True)
class ArrayKernel:
    """An implementation on numpy arrays, for values on the CPU so small that calling torch costs more than the work.

    Called as a kernel is, with type attributes as numpy dtypes, and with no keyword but ``state``; it never warns about
    overflow.  Where it raises, the kernel is asked for the error.  ``most`` elements may each input and output have;
    ``saves`` are the microseconds, about, that it is quicker than the kernel.
    """

    function: Rule
    types: tuple[tuple[str, tuple[DType, ...]], ...]
    most: int
    saves: float
    strings: bool = False  # it takes and gives strings and resources too, as kernels do
    wants_state: bool = False

    def accepts(self, attrs: dict[str, Any]) -> bool:
        return not self.types or all(attrs.get(name) in allowed for name, allowed in self.types)


MOST: Final = 8192  # elements, unless an array kernel says otherwise
ANY_SIZE: Final = 1 << 62  # elements: for array kernels that are as quick for many
SAVES: Final = 2.0


class OpDef:
    """One op type.  Not thread-safe while being declared; read-only afterwards."""

    __slots__ = (
        "array_kernels", "attr_names", "gradient_fn", "has_gradient_rule", "in_place", "inline", "kernels", "location",
        "name", "on_numbers", "shape_fn", "signature", "state_fn", "takes_arrays", "takes_numbers", "traits", "value_fn",
    )  # fmt: skip

    def __init__(self, signature: Signature, traits: Traits, location: str) -> None:
        self.signature = signature
        self.name = signature.name
        self.traits = traits
        self.location = location
        self.attr_names = tuple(a.name for a in signature.attrs)
        self.shape_fn: Rule | None = None
        self.value_fn: Rule | None = None
        self.gradient_fn: Rule | None = None
        self.has_gradient_rule = False  # True also for "not differentiable", where gradient_fn is None
        self.state_fn: Rule | None = None
        self.inline: str | None = None  # a Python expression of the inputs that replaces the kernel call: "{0}.value"
        # The same for integer and bool scalars held as Python numbers: "{0} + {1}".
        self.on_numbers: str | None = None
        self.takes_numbers = False  # its inputs and outputs may be such numbers as they are
        self.takes_arrays = False  # the kernel hands its inputs on or prints them: they may be arrays
        self.kernels: list[Kernel] = []
        self.array_kernels: list[ArrayKernel] = []
        self.in_place: dict[int, Rule] = {}  # by position: kernels that leave the result in that input's memory

    @property
    def built_in(self) -> bool:
        """Whether Headrace itself declares it, and not a user."""
        return self.location.startswith(_PACKAGE)

    def shape(self, function: Rule) -> Rule:
        self.shape_fn = function
        return function

    def value(self, function: Rule) -> Rule:
        self.value_fn = function
        return function

    def gradient(self, function: Rule) -> Rule:
        self.gradient_fn = function
        self.has_gradient_rule = True
        return function

    def not_differentiable(self) -> OpDef:
        """Gradients stop here without an error."""
        self.gradient_fn = None
        self.has_gradient_rule = True
        return self

    def state(self, function: Rule) -> Rule:
        self.state_fn = function
        return function

    def kernel(
        self, function: Rule | None = None, *, device: str | None = None, **types: DType | Sequence[DType]
    ) -> Any:
        """Registers a kernel: ``@op.kernel`` or ``@op.kernel(device="cuda", T=string)``.  The most specific wins."""
        if function is None:
            return lambda f: self.kernel(f, device=device, **types)
        wants = _keyword_only(function)
        unknown = wants - {"state", "device", "node"}
        if unknown:
            raise TypeError(
                f"kernel of {self.name} has keyword-only parameters {sorted(unknown)}; known: device, node, state"
            )
        kernel = Kernel(function, device, self._constraint(types), "state" in wants, "device" in wants, "node" in wants)
        self.kernels.append(kernel)
        self.kernels.sort(key=lambda k: (k.device is None, -len(k.types)))
        return function

    def _constraint(self, values: dict[str, Any]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """What attributes may be for a kernel: a dtype, or several values.  Other keywords are mistakes."""
        known = [a.name for a in (*self.signature.inferred, *self.signature.attrs)]
        for name, allowed in values.items():
            if name not in known or not isinstance(allowed, (DType, list, tuple)):
                raise TypeError(
                    f"a kernel of {self.name} is declared with {name}={allowed!r}; keywords give a dtype, or a list of values, "
                    f"for one of its attributes: {', '.join(known) or 'it has none'} {at()}"
                )
        return tuple((k, (v,) if isinstance(v, DType) else tuple(v)) for k, v in sorted(values.items()))

    def find_kernel(self, device: str, attrs: dict[str, Any]) -> Kernel | None:
        for kernel in self.kernels:
            if kernel.accepts(device, attrs):
                return kernel
        return None

    def on_arrays(
        self, function: Rule | None = None, *, most: int = MOST, saves: float = SAVES, strings: bool = False,
        **types: DType | Sequence[DType],
    ) -> Any:  # fmt: skip
        """Registers an array kernel: ``@op.on_arrays``, ``op.on_arrays(np.add)`` or ``@op.on_arrays(most=512, T=FLOATING)``.

        Of several, the first that accepts the types is taken.
        """
        if function is None:
            return lambda f: self.on_arrays(f, most=most, saves=saves, strings=strings, **types)
        wants = _keyword_only(function)
        if wants - {"state"}:
            raise TypeError(
                f"the array kernel of {self.name} has keyword-only parameters {sorted(wants)}; known: state {at()}"
            )
        self.array_kernels.append(ArrayKernel(function, self._constraint(types), most, saves, strings, bool(wants)))
        return function

    def find_array_kernel(self, attrs: dict[str, Any]) -> ArrayKernel | None:
        for kernel in self.array_kernels:
            if kernel.accepts(attrs):
                return kernel
        return None

    def __repr__(self) -> str:
        return f"<op {self.signature}>"


def _keyword_only(function: Rule) -> set[str]:
    """Names of the keyword-only parameters without a default.  Read off the code: ``inspect`` is slow, and import counts."""
    if isinstance(function, partial):
        return _keyword_only(function.func) - set(function.keywords)
    code = getattr(function, "__code__", None)
    if code is None:  # builtins of torch have none
        return set()
    first = code.co_argcount
    names = code.co_varnames[first : first + code.co_kwonlyargcount]
    return set(names) - set(getattr(function, "__kwdefaults__", None) or ())


class Registry:
    """Op types by name."""

    def __init__(self) -> None:
        self._ops: dict[str, OpDef] = {}
        self.forgetting: list[Callable[[str], None]] = []  # called with the name of an op that is removed
        self.gradients: dict[str, Rule | None] = {}  # names given to RegisterGradient
        # How to shape an op without a rule (set by the ops folder, which may use torch's meta device).
        self.shape_fallback: Callable[[OpDef, Sequence[Any], dict[str, Any]], Any] | None = None
        # How to evaluate a pure op on constants while the graph is built (set by the ops folder).
        self.evaluate: Callable[[OpDef, Sequence[Any], dict[str, Any]], Any] | None = None

    def add(self, definition: OpDef) -> OpDef:
        first = self._ops.get(definition.name)
        if first is not None:
            raise ValueError(
                f"op {definition.name!r} is registered at {definition.location}, "
                f"but was registered before at {first.location}"
            )
        self._ops[definition.name] = definition
        return definition

    def remove(self, name: str) -> None:
        """Forgets a user-defined op (for tests and notebooks)."""
        self._ops.pop(name, None)
        for forget in self.forgetting:
            forget(name)

    def get(self, name: str) -> OpDef:
        try:
            return self._ops[name]
        except KeyError:
            import difflib

            near = difflib.get_close_matches(name, self._ops, 3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise ValueError(f"no op type is called {name!r}{hint}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._ops

    def __iter__(self) -> Iterator[OpDef]:
        return iter(list(self._ops.values()))

    def __len__(self) -> int:
        return len(self._ops)


REGISTRY: Final = Registry()
_TRAITS: Final = frozenset(f.name for f in fields(Traits) if f.init)


def op(signature: str, /, **options: Any) -> OpDef:
    """Declares an op: traits and dtype constraints are keywords (``op("...", T=NUMERIC, view=True)``)."""
    traits = {k: options.pop(k) for k in list(options) if k in _TRAITS}
    wrong = [k for k, v in options.items() if isinstance(v, bool)]
    if wrong:
        raise TypeError(f"{wrong[0]!r} is no trait of an op; traits are {', '.join(sorted(_TRAITS))} {at()}")
    frame = sys._getframe(1)
    while frame.f_code.co_name in ("unary", "binary", "regular", "op") and frame.f_back is not None:
        frame = frame.f_back
    location = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return REGISTRY.add(OpDef(parse(signature, options), Traits(**traits), location))
