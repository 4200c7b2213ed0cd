"""The op registry: every op type with its signature, traits, rules and kernels, declared once and in one place.

Rules and kernels are opaque callables here, so this module needs neither torch nor the graph.

    matmul = op("MatMul(a: T, b: T; transpose_a: bool = False) -> (product: T)", T=NUMERIC)

    @matmul.shape      def _(a, b, transpose_a): ...       partial shapes -> partial shape
    @matmul.value      def _(node, a, b): ...              partial integer values -> partial value (static evaluation)
    @matmul.refuse     def _(a, b, transpose_a): ...       what was wrong with the inputs of a kernel that failed
    @matmul.gradient   def _(node, grad): ...              builds nodes through raw_ops
    @matmul.state      def _(context): ...                 what one node keeps across the steps of one session
    @matmul.kernel     def _(a, b, transpose_a): ...       torch tensors in, torch tensors out
    @matmul.array_kernel  def _(a, b, transpose_a): ...    small values on the CPU: numpy arrays in, numpy arrays out
    @dequeue.begin     def _(queue, *, done): ...          an op that waits: begins, and calls ``done`` when it is over

Registering a name, a rule or a kernel twice is an error that names both places.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Final

from headrace.core.device import kernel_device
from headrace.core.dtypes import DType
from headrace.core.signature import Arg, Signature, parse
from headrace.core.source import at

Rule = Callable[..., Any]
Fits = Callable[[Sequence[Sequence[Any]], dict[str, Any]], bool]  # of the inputs' shapes and the attributes
_PACKAGE: Final = f"{Path(__file__).parents[1]}{os.sep}"


def _machine(name: str) -> str:
    """The registry's name for a family of processors: macOS calls ``arm64`` what Linux calls ``aarch64``."""
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(name.lower(), name.lower())


ALL: Final = "[...]"  # a number kernel

MACHINE: Final = _machine(platform.machine())


@dataclass(frozen=True, slots=True)
class Traits:
    """What passes and the runtime may assume of an op.  They ask these, never op names."""

    stateful: bool = False  # reads or writes something that outlives the node: never folded, merged or dropped
    random: bool = False  # draws random numbers
    saves_generators: bool = False  # gives the states of what draws them, so that these must be the nodes' own
    reads: bool = False  # looks at state without changing anything
    writes: bool = False  # changes the state behind its ref inputs
    rows: str = ""  # of one that writes some rows only: the input with their numbers
    handle: bool = False  # its only output is the state object itself (a variable, a queue)
    host: bool = False  # runs on the host whatever the device: strings, files, Python callbacks
    host_output: bool = False  # its outputs are small integers kept on the host (Shape, Size, Rank)
    of_shapes: bool = False  # its value depends on the shapes of its inputs alone, not on their values
    asynchronous: bool = False  # waits for another step without holding a thread: has a ``begin`` rule; ends a strand
    blocking: bool = False  # its kernel may block its thread: runs on a thread of the worker's pool; ends a strand
    saves: bool = False  # makes files of its inputs: may leave that for later (resources/stepping/saving.py)
    keeps: bool = False  # holds its inputs when the step is over (a queue): they must be memory of its own
    view: bool = False  # an output may share memory with an input
    pairs: bool = False  # of a view: output i with input i only
    dynamic_shape: bool = False  # output shape depends on input values
    lenient: bool = False  # its kernel takes shapes that its rule refuses: the rule is asked when it runs, too
    opaque: bool = False  # the compiler must not look inside
    opaque_on_cpu: bool = False  # opaque on the CPU only, where the kernel is faster than compiled code
    transfers: bool = False  # moves its inputs to its device itself
    takes_numbers: bool = False  # passes integer and bool scalars on, as Python numbers or as tensors
    takes_arrays: bool = False  # looks at its inputs or hands them on: they, and its outputs, may be numpy arrays
    feed: bool = False  # a value the caller must supply (Placeholder)
    argument: bool = False  # of a feed: an argument of a function's body, which may be the handle of a variable
    constant: bool = False  # its value is the attribute "value", known while planning
    identity: bool = False  # hands its input on as it is
    reads_buffer: bool = False  # its output is the buffer of the variable it is given, not a copy of it
    compiled: bool = False  # a compiled part of a step: outputs may share memory, errors name the failed node
    by_ref: str = ""  # of an op on resource variables: the op on reference variables that does the same
    primitive: str = (
        ""  # of control flow: which (switch, merge, enter, exit, next, trigger), or plain (runtime/drive/frame.py)
    )

    waits: bool = field(init=False)  # asynchronous or blocking
    pure: bool = field(init=False)
    has_effect: bool = field(init=False)  # running the node matters even if nobody uses its value

    def __post_init__(self) -> None:
        waits = self.asynchronous or self.blocking
        changed = self.stateful or self.random or self.writes or self.handle or waits or self.feed
        effect = self.writes or waits or (self.stateful and not (self.handle or self.random or self.reads))
        object.__setattr__(self, "waits", waits)
        object.__setattr__(self, "pure", not (changed or self.primitive))
        object.__setattr__(self, "has_effect", effect)


def is_own_code(function: Any) -> bool:
    """Whether Headrace itself defines the function, or a library in C++, and not a user's program."""
    code = getattr(function, "__code__", None)
    return code is None or code.co_filename.startswith(_PACKAGE)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One implementation.  ``device`` None means any, ``machine`` any processor; ``types`` restricts type attributes.

    A keyword-only parameter called ``state`` receives the node's state, ``device`` the torch device it runs on.
    """

    call: Rule
    device: str | None
    types: tuple[tuple[str, tuple[DType, ...]], ...]
    wants_state: bool
    wants_device: bool
    wants_node: bool
    machine: str | None = None
    wants_step: bool = False  # of a begin rule

    @property
    def is_general(self) -> bool:
        """Whether it runs on every device and for all types."""
        return self.device is None and self.machine is None and not self.types

    def accepts(self, device: str, attrs: dict[str, Any], machine: str | None = MACHINE) -> bool:
        if self.device is not None and self.device != device:
            return False
        if self.machine is not None and self.machine != machine:
            return False
        return not self.types or all(attrs.get(name) in allowed for name, allowed in self.types)


@dataclass(frozen=True, slots=True)
class ArrayKernel:
    """An implementation on numpy arrays, for values on the CPU so small that calling torch costs more than the work.

    It takes what the kernel takes, with type attributes as numpy dtypes, and returns arrays.  The planner runs it only where
    the shapes of all inputs and outputs are known, so the op's shape rule has checked them.  What the shape rule cannot check,
    such as an index, the array kernel checks by the kernel's own function.  It need not mind overflow: numpy is told not to warn.
    A keyword-only parameter called ``state`` receives the node's state.

    ``fits`` says for which inputs it is better than the kernel on tensors; None: for all that the planner holds as arrays.
    """

    call: Rule
    types: tuple[tuple[str, tuple[DType, ...]], ...]
    fits: Fits | None = None
    wants_state: bool = False
    large: str = ""  # the input that may have any size if it is a variable's value or a constant

    def accepts(self, attrs: dict[str, Any]) -> bool:
        return not self.types or all(attrs.get(name) in allowed for name, allowed in self.types)


@dataclass(slots=True)
class Kernels:
    """The ways to run one op.  ``by_device`` serves every op; the others are quicker ways for some values of some ops.

    Filled by the methods of `OpDef` only.  ``inline`` and ``on_numbers`` are Python expressions of the inputs that stand in
    generated code in the place of a call: "{0}.value", "{0} + {1}".
    """

    by_device: list[Kernel] = field(default_factory=list)  # the most specific first
    on_arrays: list[ArrayKernel] = field(default_factory=list)
    inline: str | None = None
    on_numbers: str | None = None  # for integer and bool scalars held as Python numbers; ALL for a list of all inputs
    begin: Kernel | None = None  # of an asynchronous op


class OpDef:
    """One op type.  Not thread-safe while being declared; read-only afterwards."""

    __slots__ = (
        "_places", "attr_names", "gradient_fn", "has_gradient_rule", "kernels", "location", "name", "ranks", "refuse_fn",
        "shape_fn", "signature", "state_fn", "takes_tensors", "traits", "value_fn",
    )  # fmt: skip

    def __init__(self, signature: Signature, traits: Traits, location: str) -> None:
        self.signature = signature
        self.name = signature.name
        self.traits = traits
        self.location = location
        self.attr_names = tuple(a.name for a in signature.attrs)
        # Of the inputs that say their rank: position, least, greatest.
        self.ranks = tuple((i, *a.ranks) for i, a in enumerate(signature.inputs) if a.ranks)
        # Whether each input is one tensor: no list, no host value, no handle.
        self.takes_tensors = not any(a.is_list or a.host or a.ref for a in signature.inputs)
        scalars = [()] * len(signature.outputs) if all(a.ranks == (0, 0) for a in signature.outputs) else []
        self.shape_fn: Rule | None = (lambda *arguments: scalars) if scalars else None
        self.refuse_fn: Rule | None = None
        self.value_fn: Rule | None = None
        self.gradient_fn: Rule | None = None
        # True also for "not differentiable", where gradient_fn is None.  That goes without saying where no output has gradients,
        # but not for users' ops: they may come to be differentiable by tf.RegisterGradient.
        self.has_gradient_rule = self.built_in and not any(map(self._has_gradient, signature.outputs))
        self.state_fn: Rule | None = None
        self.kernels = Kernels()
        self._places: dict[Any, tuple[str, int]] = {}  # where each rule and kernel was registered: file and line

    @property
    def built_in(self) -> bool:
        """Whether Headrace itself declares it, and not a user."""
        return self.location.startswith(_PACKAGE)

    def _has_gradient(self, output: Arg) -> bool:
        """Whether an output may hold what gradients are taken of."""
        attr = output.type_attr or output.type_list_attr
        allowed = (output.dtype,) if output.dtype else self.signature.allowed.get(attr or "")
        return allowed is None or any(d.is_floating or d.is_complex or d.name == "variant" for d in allowed)

    def _claim(self, what: str, *variant: Any) -> None:
        """Notes where a rule or kernel is registered; an error if there is one already."""
        place = _caller()
        first = self._places.setdefault((what, *variant), place)
        if first is not place:
            raise ValueError(
                f"the {what} of op {self.name!r}{_described(variant)} is registered at {place[0]}:{place[1]}, "
                f"but was registered before at {first[0]}:{first[1]}"
            )

    # ---- rules

    def shape(self, rule: Rule) -> Rule:
        """Registers the shape rule: partial shapes of the inputs, and attributes, to partial shapes of the outputs."""
        self._claim("shape rule")
        self.shape_fn = rule
        return rule

    def value(self, rule: Rule) -> Rule:
        """Registers the rule that follows small integer values while the graph is built."""
        self._claim("value rule")
        self.value_fn = rule
        return rule

    def refuse(self, rule: Rule) -> Rule:
        """Registers what is asked when a kernel has failed: takes what the kernel takes, raises ValueError with what is wrong.

        For what the shape rule cannot see, values above all, and what would cost too much to check before each call.
        """
        self._claim("refuse rule")
        self.refuse_fn = rule
        return rule

    def gradient(self, rule: Rule) -> Rule:
        """Registers the gradient rule: ``rule(node, *grads)`` gives one gradient per input."""
        self._claim("gradient rule")
        self.gradient_fn = rule
        self.has_gradient_rule = True
        return rule

    def not_differentiable(self) -> OpDef:
        """Gradients stop here without an error, although an output may hold floating-point or complex numbers."""
        self._claim("gradient rule")
        self.gradient_fn = None
        self.has_gradient_rule = True
        return self

    def state(self, rule: Rule) -> Rule:
        """Registers what makes the state that one node keeps across the steps of one session."""
        self._claim("state rule")
        self.state_fn = rule
        return rule

    # ---- kernels

    def kernel(
        self, call: Rule | None = None, *, device: str | None = None, machine: str | None = None,
        **types: DType | Sequence[DType],
    ) -> Any:  # fmt: skip
        """Registers a kernel: ``@op.kernel`` or ``@op.kernel(device="cuda", T=string)``.  The most specific wins.

        ``device`` is the name of a registered type of device, "TPU", which wins, or a torch device type, for all that are one.

        ``machine`` is for kernels that suit one family of processors, as ``platform.machine()`` names it:
        ``@op.kernel(device="cpu", machine="aarch64")``.  Other processors never run them.
        """
        if call is None:
            return lambda f: self.kernel(f, device=device, machine=machine, **types)
        if machine is not None and device != "cpu":
            raise TypeError(
                f"a kernel of {self.name} is declared with machine={machine!r} and device={device!r}; "
                f'a kernel for one machine needs device="cpu" {at()}'
            )
        if device is not None:
            try:
                device = kernel_device(device)
            except ValueError as e:
                raise ValueError(
                    f"a kernel of {self.name} is declared for a device that is not known: {e} {at()}"
                ) from None
        wants = _keyword_only(call)
        unknown = wants - {"state", "device", "node"}
        if unknown:
            raise TypeError(
                f"kernel of {self.name} has keyword-only parameters {sorted(unknown)}; known: device, node, state"
            )
        kernel = Kernel(
            call, device, self._constraint(types), "state" in wants, "device" in wants, "node" in wants,
            None if machine is None else _machine(machine),
        )  # fmt: skip
        self._claim("kernel", device, kernel.machine, *kernel.types)
        self.kernels.by_device.append(kernel)
        self.kernels.by_device.sort(key=lambda k: (k.device is None, k.machine is None, -len(k.types)))
        return call

    def _constraint(self, values: dict[str, Any]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """What attributes may be for a kernel: a dtype, or several values.  Other keywords are mistakes."""
        attributes = [a.name for a in (*self.signature.inferred, *self.signature.attrs)]
        for name, allowed in values.items():
            if name not in attributes or not isinstance(allowed, (DType, list, tuple)):
                raise TypeError(
                    f"a kernel of {self.name} is declared with {name}={allowed!r}; keywords give a dtype, or a list of values, "
                    f"for one of its attributes: {', '.join(attributes) or 'it has none'} {at()}"
                )
        return tuple((k, (v,) if isinstance(v, DType) else tuple(v)) for k, v in sorted(values.items()))

    def find_kernel(
        self, device: str, attrs: dict[str, Any], machine: str | None = MACHINE, name: str = ""
    ) -> Kernel | None:
        """The most specific kernel that may run on a torch device type; one declared for the type of device ``name`` wins.

        ``machine`` None leaves out those for one processor family.
        """
        for kernel in self.kernels.by_device if name else ():
            if kernel.device == name and kernel.accepts(name, attrs, machine):
                return kernel
        for kernel in self.kernels.by_device:
            if kernel.accepts(device, attrs, machine):
                return kernel
        return None

    def array_kernel(
        self, call: Rule | None = None, fits: Fits | None = None, *, large: str = "", **types: DType | Sequence[DType]
    ) -> Any:
        """Registers a kernel on numpy arrays: ``@op.array_kernel`` or ``op.array_kernel(np.add, T=FLOATING)``.

        ``fits(shapes, attrs)``: whether to use it for inputs of these shapes.  ``large`` names an input of which the kernel looks
        at parts only: it may have any size.  No two may accept the same types.
        """
        if call is None:
            return lambda f: self.array_kernel(f, fits, large=large, **types)
        wants = _keyword_only(call)
        unknown = wants - {"state"}
        if unknown:
            raise TypeError(
                f"the array kernel of {self.name} has keyword-only parameters {sorted(unknown)}; known: state {at()}"
            )
        inputs = [arg.name for arg in self.signature.inputs]
        if large and large not in inputs:
            raise TypeError(
                f"the array kernel of {self.name} names {large!r}, which is none of its inputs {inputs} {at()}"
            )
        constraint = self._constraint(types)
        for one in self.kernels.on_arrays:
            if _overlap(one.types, constraint):
                self._claim("array kernel", *one.types)
        self._claim("array kernel", *constraint)
        self.kernels.on_arrays.append(ArrayKernel(call, constraint, fits, bool(wants), large))
        return call

    def find_array_kernel(self, attrs: dict[str, Any]) -> ArrayKernel | None:
        for kernel in self.kernels.on_arrays:
            if kernel.accepts(attrs):
                return kernel
        return None

    def begin(self, call: Rule) -> Rule:
        """Registers what begins an asynchronous op: it takes what a kernel takes, and calls ``done`` when it is over.

        ``done(result, None)`` or ``done(None, error)`` is called exactly once, by any thread.  The rule returns what can end
        the waiting before (a `stepping.waiting.Wait`), or None if it is over already.  Keyword-only parameters: ``done``, and
        if wanted ``step``, ``state``, ``device``, ``node``.  Where a step cannot go on meanwhile (eager calls, bodies that run
        as Python functions), a kernel that begins and waits is derived.
        """
        if not self.traits.asynchronous:
            raise TypeError(f"op {self.name} has a begin rule but not the trait asynchronous {at()}")
        wants = _keyword_only(call)
        unknown = wants - {"done", "step", "state", "device", "node"}
        if unknown or "done" not in wants:
            raise TypeError(
                f"the begin rule of {self.name} has keyword-only parameters {sorted(wants)}; it takes done, and may take "
                f"step, state, device and node {at()}"
            )
        self._claim("begin rule")
        extra = ("state" in wants, "device" in wants, "node" in wants)
        self.kernels.begin = Kernel(call, None, (), *extra, wants_step="step" in wants)

        def begin_and_wait(*args: Any, node: Any, **keywords: Any) -> Any:
            if REGISTRY.wait is None:
                raise TypeError(f"op {self.name} waits, and nothing here can wait for it")
            if "node" in wants:
                keywords["node"] = node
            return REGISTRY.wait(call, node, "step" in wants, args, keywords)

        self._claim("kernel", None, None)
        self.kernels.by_device.append(Kernel(begin_and_wait, None, (), *extra[:2], wants_node=True))
        return call

    def inline_kernel(self, expression: str) -> OpDef:
        """Registers an expression of the inputs that replaces the call of the kernel in generated code."""
        self._claim("inline kernel")
        self.kernels.inline = expression
        return self

    def number_kernel(self, expression: str) -> OpDef:
        """Registers an expression of inputs that are Python numbers: integer and bool scalars on the host.

        ``ALL`` is the list of them all, which stands for a vector that only the host reads.
        """
        self._claim("number kernel")
        self.kernels.on_numbers = expression
        return self

    def __repr__(self) -> str:
        return f"<op {self.signature}>"


# These declare ops for the lines that call them.
_CONSTRUCTORS: Final = frozenset({"unary", "binary", "regular", "op", "_declare", "dense", "sparse"})


def _caller() -> tuple[str, int]:
    """The file and line that declares an op or one of its parts."""
    frame = sys._getframe(2)
    while frame.f_back is not None and (frame.f_code.co_filename == __file__ or frame.f_code.co_name in _CONSTRUCTORS):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _described(variant: tuple[Any, ...]) -> str:
    """Which of an op's kernels: its device or input, and what its attributes may be."""
    parts = [
        v if isinstance(v, str) else f"{v[0]}={'|'.join(str(getattr(a, 'name', a)) for a in v[1])}"
        for v in variant
        if v
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _overlap(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Whether some values of the attributes meet both constraints."""
    allowed = dict(second)
    return all(set(values) & set(allowed[name]) for name, values in first if name in allowed)


def _keyword_only(call: Rule) -> set[str]:
    """Names of the keyword-only parameters without a default.  Reads the code object, because ``inspect`` is slow at import."""
    if isinstance(call, partial):
        return _keyword_only(call.func) - set(call.keywords)
    code = getattr(call, "__code__", None)
    if code is None:  # builtins of torch have none
        return set()
    first = code.co_argcount
    names = code.co_varnames[first : first + code.co_kwonlyargcount]
    return set(names) - set(getattr(call, "__kwdefaults__", None) or ())


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
        # How to begin an asynchronous op and wait on this thread until it is over (set by the resources folder).
        self.wait: Callable[[Rule, Any, bool, Sequence[Any], dict[str, Any]], Any] | None = None

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
    filename, line = _caller()
    location = f"{filename}:{line}"
    return REGISTRY.add(OpDef(parse(signature, options), Traits(**traits), location))
