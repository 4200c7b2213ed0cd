"""opcheck: is an op whole?  Shapes against the kernel, dtypes, aliasing, gradients, every device, compiled code.

Each sample is one call of the op.  It is built and run the way a user's program would be, through a graph and a
Session; the kernel by itself is looked at by ``runtime.kernel_problems``, gradients by ``numeric_gradient``.  All problems
of all samples are collected and raised together, each with the sample it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headrace.client.session import Session
from headrace.core import dtypes
from headrace.core.config import ConfigProto
from headrace.core.device import DeviceSpec
from headrace.core.dtypes import DType
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.shape import TensorShape
from headrace.core.signature import Arg
from headrace.graph.build import call
from headrace.graph.constant import make_array
from headrace.graph.convert import make_constant
from headrace.graph.graph import Graph
from headrace.graph.operation import Operation, Tensor
from headrace.library.testing.numeric_gradient import gradient_problems
from headrace.runtime.code.kernel_problems import array_problems, can_call, can_trace, kernel_problems, trace_problems
from headrace.runtime.host.device import local_devices

_TRACED = 2  # samples of one op that are traced: tracing is slow, and says little about values
_OTHER_DEVICE = 2e-3  # the least tolerance for another device, whose convolutions may round their inputs
_LOOSE = {dtypes.float16: 1e-2, dtypes.bfloat16: 5e-2}


class OpCheckError(AssertionError):
    """An op does not keep its promises; the message lists every problem found."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One call of an op to check it with.

    ``inputs``: one entry per signature input: an array (or Python value), or a list of arrays for a list input.  For a
    ref input the array is the variable's value (None: it has none yet).  A function is called to make the input: it
    builds and returns a Tensor (a queue's handle, say).
    ``attrs``: attributes by name.  ``gradient``: whether to check gradients with respect to the floating-point inputs
    (False where the op has none at this point: kinks, integers); ``wrt`` restricts that to the inputs named, ``second``
    says whether the gradient is differentiated once more.
    ``error``: the exception class the call must raise, while building or while running.
    ``random``: outputs differ from run to run, so only shape and dtype are compared.  ``unique`` is False where devices may
    differ in what the op leaves open (the signs of eigenvectors).
    """

    inputs: Sequence[Any] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    gradient: bool = True
    error: type[BaseException] | None = None
    random: bool = False
    rtol: float = 1e-4
    atol: float = 1e-4
    note: str = ""
    wrt: Sequence[str] | None = None
    second: bool = True
    unique: bool = True


def opcheck(op_or_name: OpDef | str, samples: Sequence[Sample], *, devices: Sequence[str] | None = None) -> None:
    """Raises OpCheckError listing every problem of the op on the samples; ``devices`` default to all present."""
    op_def = op_or_name if isinstance(op_or_name, OpDef) else REGISTRY.get(op_or_name)
    if not samples:
        raise ValueError(f"opcheck of {op_def.name} needs at least one Sample")
    others = [d.name for d in local_devices()] if devices is None else list(devices)
    others = [d for d in others if DeviceSpec.from_string(d).device_type != "CPU"]
    problems: list[str] = []
    traced = 0
    for number, sample in enumerate(samples):
        sample_problems, tried = _Check(op_def, sample, others, traced < _TRACED).problems()
        traced += tried
        label = f"sample {number}" + (f" ({sample.note})" if sample.note else "")
        problems += [f"{label}: {p}" for p in sample_problems]
    if problems:
        text = "\n  ".join(problems)
        raise OpCheckError(f"{op_def.name} (declared at {op_def.location}):\n  {text}\n  signature: {op_def.signature}")


@dataclass(slots=True)
class Slot:
    """One flat input: where it stands in the signature, its value and its dtype."""

    arg: Arg
    value: Any
    dtype: DType

    @property
    def made(self) -> bool:
        """Whether a function makes this input, so that its value is not known here."""
        return callable(self.value)


@dataclass(slots=True)
class Built:
    """One node made from a sample, with the placeholders behind its inputs and what must run before it."""

    graph: Graph
    node: Operation
    inputs: list[Tensor]
    feed: dict[Tensor, Any]
    initializers: list[Operation]

    def session(self) -> Session:
        session = Session(graph=self.graph, config=ConfigProto(allow_soft_placement=True, compile="off"))
        if self.initializers:
            session.run(self.initializers)
        return session


def _has_kernel(op_def: OpDef, node: Operation, device: str) -> bool:
    """Whether the device may run it; where the op is declared without a kernel for it, the node goes to another."""
    place = next((d for d in local_devices() if d.name == device), None)
    if place is None or not op_def.kernels.by_device:
        return True
    return op_def.find_kernel(place.kernel_type, node.attrs, name=place.device_type) is not None


class _Check:
    """One sample under examination."""

    def __init__(self, op_def: OpDef, sample: Sample, devices: Sequence[str], trace: bool) -> None:
        self.op_def = op_def
        self.sample = sample
        self.devices = devices
        self.trace = trace

    def problems(self) -> tuple[list[str], bool]:
        """What is wrong, and whether the kernel was traced."""
        if self.sample.error is not None:
            return self._error_problems(self.sample.error), False
        try:
            slots = flatten(self.op_def, self.sample)
            built = build(self.op_def, self.sample, slots)
            results = run(built)
        except Exception as e:  # an op that cannot be built or run is what opcheck is here to report
            return [f"does not run: {type(e).__name__}: {e}"], False
        problems = _result_problems(built.node.outputs, results)
        problems += self._partial_shape_problems(slots, results)
        problems += self._again_problems(slots, results)
        kernel, traced = self._kernel_problems(slots, built.node)
        problems += kernel
        problems += self._device_problems(slots, results, built.node)
        if self.sample.gradient:
            problems += self._guarded("gradient", lambda: gradient_problems(self.op_def, self.sample, slots, build))
        return problems, traced

    def _guarded(self, what: str, find_problems: Callable[[], list[str]]) -> list[str]:
        try:
            return find_problems()
        except Exception as e:  # reported like any other problem
            return [f"{what}: {type(e).__name__}: {e}"]

    def _error_problems(self, error: type[BaseException]) -> list[str]:
        """The error may come while building (what is static decides) or while running (nothing is known before)."""
        raised = []
        for shapes in (None, [TensorShape(None)] * 99):
            try:
                slots = flatten(self.op_def, self.sample)
                run(build(self.op_def, self.sample, slots, shapes=shapes, hosts=shapes is None))
            except error:
                return []
            except Exception as e:  # compared with what the sample says
                raised.append(f"{type(e).__name__}: {e}")
        return [f"must raise {error.__name__}; raised {raised or 'nothing'}"]

    @property
    def _values_differ(self) -> bool:
        return self.sample.random or self.op_def.traits.random

    def _partial_shape_problems(self, slots: list[Slot], results: list[Any]) -> list[str]:
        """Every dimension unknown in turn, then every rank, then the values that decide shapes."""
        problems = []
        for what, shapes, hosts in less_known(slots):
            try:
                node = build(self.op_def, self.sample, slots, shapes=shapes, hosts=hosts).node
            except Exception as e:  # reported like any other problem
                problems.append(f"cannot be built with {what}: {type(e).__name__}: {e}")
                continue
            problems += [f"with {what}, {p}" for p in _result_problems(node.outputs, results)]
        return problems

    def _again_problems(self, slots: list[Slot], results: list[Any]) -> list[str]:
        """Runs the sample again with nothing known before running, then with all inputs constant, so that it may be folded."""
        unknown = [TensorShape(None)] * len(slots)
        problems = []
        for what, options in (
            ("with nothing known", {"shapes": unknown, "hosts": False}),
            ("folded", {"constant": True}),
        ):
            try:
                again = run(build(self.op_def, self.sample, slots, **options))
            except Exception as e:  # reported like any other problem
                problems.append(f"does not run {what}: {type(e).__name__}: {e}")
                continue
            if not self._values_differ and not self.op_def.traits.stateful:
                problems += [f"{what}, {p}" for p in self._differences(results, again)]
        return problems

    def _kernel_problems(self, slots: list[Slot], node: Operation) -> tuple[list[str], bool]:
        if any(s.made for s in slots) or not can_call(self.op_def, node.attrs):
            return [], False
        arrays = [s.value for s in slots]
        input_dtypes = [s.dtype._as_ref if s.arg.ref else s.dtype for s in slots]
        output_dtypes = [t.dtype for t in node.outputs]
        problems = self._guarded(
            "kernel", lambda: kernel_problems(self.op_def, arrays, input_dtypes, node.attrs, output_dtypes)
        )
        rtol = max([self.sample.rtol, *(_LOOSE.get(d, 0.0) for d in (*input_dtypes, *output_dtypes))])
        if not self._values_differ:
            problems += self._guarded(
                "kernel on arrays",
                lambda: array_problems(
                    self.op_def, arrays, input_dtypes, node.attrs, output_dtypes, rtol, self.sample.atol
                ),
            )
        if (
            not self.trace
            or self._values_differ
            or not can_trace(self.op_def, node.attrs, [*input_dtypes, *output_dtypes])
        ):
            return problems, False
        return problems + self._guarded(
            "tracing", lambda: trace_problems(self.op_def, arrays, input_dtypes, node.attrs, rtol, self.sample.atol)
        ), True

    def _device_problems(self, slots: list[Slot], results: list[Any], node: Operation) -> list[str]:
        problems: list[str] = []
        if self.op_def.traits.host:
            return problems
        for device in self.devices:
            if not _has_kernel(self.op_def, node, device):
                continue
            try:
                there = run(build(self.op_def, self.sample, slots, device=device))
            except Exception as e:  # reported like any other problem
                problems.append(f"does not run on {device}: {type(e).__name__}: {e}")
                continue
            if not self._values_differ and self.sample.unique:
                problems += [f"on {device}, {p}" for p in self._differences(results, there, _OTHER_DEVICE)]
        return problems

    def _differences(self, expected: list[Any], got: list[Any], least: float = 0.0) -> list[str]:
        differences = []
        for i, (a, b) in enumerate(zip(expected, got, strict=True)):
            a, b = np.asarray(a), np.asarray(b)
            if a.shape != b.shape or a.dtype != b.dtype:
                differences.append(f"output {i} is {b.dtype}{list(b.shape)} instead of {a.dtype}{list(a.shape)}")
            elif not _close(a, b, max(self.sample.rtol, least), max(self.sample.atol, least)):
                differences.append(f"output {i} differs from the CPU's: {_short(b)} instead of {_short(a)}")
        return differences


def _close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    if a.dtype == np.float16:
        rtol = atol = max(rtol, 1e-2)
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def _short(value: Any) -> str:
    text = " ".join(str(value.tolist()).split())
    return text if len(text) <= 80 else text[:77] + "..."


# ---- a sample as a graph


def flatten(op_def: OpDef, sample: Sample) -> list[Slot]:
    """The sample's inputs, one slot per flat input, as arrays of the dtypes the signature and the sample give them."""
    if len(sample.inputs) != len(op_def.signature.inputs):
        raise ValueError(
            f"{op_def.name} takes {len(op_def.signature.inputs)} inputs; the sample has {len(sample.inputs)}"
        )
    type_attrs = {k: dtypes.as_dtype(v) for k, v in sample.attrs.items() if _is_type(op_def, k)}
    for arg, value in zip(op_def.signature.inputs, sample.inputs, strict=True):  # arrays decide before Python values do
        for item in value if arg.is_list else [value]:
            if arg.type_attr and isinstance(item, (np.ndarray, np.generic)):
                type_attrs.setdefault(arg.type_attr, _dtype_of(item))
    slots = []
    for arg, value in zip(op_def.signature.inputs, sample.inputs, strict=True):
        listed = sample.attrs.get(arg.type_list_attr or "")
        for i, item in enumerate(value if arg.is_list else [value]):
            dtype = dtypes.as_dtype(listed[i]) if listed else arg.dtype or type_attrs.get(arg.type_attr or "")
            slots.append(_slot(op_def, arg, item, dtype, type_attrs))
    return slots


def _is_type(op_def: OpDef, name: str) -> bool:
    return any(a.name == name and a.kind == "type" for a in (*op_def.signature.attrs, *op_def.signature.inferred))


def _dtype_of(array: Any) -> DType:
    return dtypes.string if array.dtype.kind in "SUO" else dtypes.as_dtype(array.dtype)


def _slot(op_def: OpDef, arg: Arg, value: Any, expected: DType | None, type_attrs: dict[str, DType]) -> Slot:
    if callable(value) or value is None:
        return Slot(arg, value, expected or dtypes.float32)
    if expected is None and arg.type_attr:
        allowed = op_def.signature.allowed.get(arg.type_attr)
        expected = allowed[0] if allowed and len(allowed) == 1 else None
    array = make_array(value, expected)
    dtype = expected or _dtype_of(array)
    if arg.type_attr:
        type_attrs.setdefault(arg.type_attr, dtype)
    return Slot(arg, array, dtype)


def build(
    op_def: OpDef, sample: Sample, slots: list[Slot], *, shapes: Sequence[TensorShape | None] | None = None,
    hosts: bool = True, constant: bool = False, device: str = "/device:CPU:0",
) -> Built:  # fmt: skip
    """The sample as one node in a graph of its own.

    Inputs are placeholders, of the given static ``shapes`` (None: the array's own) or ``constant``; those whose values
    decide shapes are constants unless ``hosts`` is False.
    """
    graph = Graph()
    feed: dict[Tensor, Any] = {}
    initializers: list[Operation] = []
    with graph.as_default(), graph.device(device):
        tensors = []
        for i, slot in enumerate(slots):
            shape = shapes[i] if shapes is not None else None
            tensors.append(_input(slot, i, shape, constant or (slot.arg.host and hosts), feed, initializers))
        grouped = _group(op_def, sample, tensors)
        result = call(op_def, grouped, dict(sample.attrs))
        node = graph.get_operations()[-1] if not isinstance(result, Operation) else result
    return Built(graph, node, tensors, feed, initializers)


def _input(
    slot: Slot, number: int, shape: TensorShape | None, constant: bool, feed: dict[Tensor, Any],
    initializers: list[Operation],
) -> Tensor:  # fmt: skip
    if slot.made:
        return slot.value()
    if slot.arg.ref:
        return _variable(slot, number, initializers)
    if constant:
        return make_constant(slot.value, slot.dtype, f"input_{number}")
    static = TensorShape(slot.value.shape) if shape is None else shape
    placeholder: Tensor = call(
        REGISTRY.get("Placeholder"), (), {"dtype": slot.dtype, "shape": static, "name": f"input_{number}"}
    )
    feed[placeholder] = slot.value.copy()  # a kernel that changes its input must not spoil the sample
    return placeholder


def _variable(slot: Slot, number: int, initializers: list[Operation]) -> Tensor:
    shape = TensorShape(None if slot.value is None else slot.value.shape)
    handle: Tensor = call(
        REGISTRY.get("VariableV2"), (), {"shape": shape, "dtype": slot.dtype, "name": f"input_{number}"}
    )
    if slot.value is not None:
        value = make_constant(slot.value, slot.dtype, f"value_{number}")
        initializers.append(call(REGISTRY.get("Assign"), (handle, value), {}).op)
    return handle


def _group(op_def: OpDef, sample: Sample, tensors: list[Tensor]) -> list[Any]:
    grouped: list[Any] = []
    rest = iter(tensors)
    for arg, value in zip(op_def.signature.inputs, sample.inputs, strict=True):
        grouped.append([next(rest) for _ in value] if arg.is_list else next(rest))
    return grouped


def run(built: Built) -> list[Any]:
    """The node's outputs from a session of their own; [] for an op without any."""
    with built.session() as session:
        outputs = [t for t in built.node.outputs if not _is_handle(t)]
        if not outputs:
            session.run(built.node, built.feed)
            return []
        return session.run(outputs, built.feed)


def _is_handle(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype in (dtypes.resource, dtypes.variant)


# ---- results against what was inferred


def _result_problems(outputs: Sequence[Tensor], results: Sequence[Any]) -> list[str]:
    problems = []
    plain = [t for t in outputs if not _is_handle(t)]
    for i, (tensor, result) in enumerate(zip(plain, results, strict=bool(results))):
        array = np.asarray(result) if not isinstance(result, bytes) else np.asarray(result, dtype=object)
        if not tensor.shape.is_compatible_with(array.shape):
            problems.append(f"output {i} was inferred as {tensor.shape}, but is {list(array.shape)}")
        expected = tensor.dtype.base_dtype
        numpy_dtype = np.dtype(np.float32 if expected == dtypes.bfloat16 else expected.as_numpy_dtype)
        if array.dtype != numpy_dtype and not (expected.is_quantized and array.dtype.itemsize == numpy_dtype.itemsize):
            problems.append(f"output {i} is declared {expected.name}, but is {array.dtype}")
    return problems


def less_known(slots: list[Slot]) -> Iterator[tuple[str, list[TensorShape | None], bool]]:
    """(what is unknown, the static shapes, whether values that decide shapes are known)."""
    exact: list[TensorShape | None] = [None] * len(slots)
    for i, slot in enumerate(slots):
        if slot.made or slot.arg.ref or slot.arg.host:
            continue
        for axis in range(slot.value.ndim):
            dims = [None if a == axis else d for a, d in enumerate(slot.value.shape)]
            yield f"dimension {axis} of input {i} unknown", [*exact[:i], TensorShape(dims), *exact[i + 1 :]], True
        yield f"the rank of input {i} unknown", [*exact[:i], TensorShape(None), *exact[i + 1 :]], True
    if any(s.arg.host for s in slots):
        yield "the values that decide shapes unknown", exact, False
    yield "all ranks unknown", [TensorShape(None)] * len(slots), True
