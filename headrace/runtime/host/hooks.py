"""Devices with hooks: a type of device that allocates its memory, copies to and from it, or runs kernels itself.

Such a device has memory of its own, whatever its torch type: a value that crosses its border is copied.  Plans bind the hooks
into the generated code, so steps on other devices have nothing to ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NoReturn
from weakref import WeakSet

import torch

from headrace.core.dtypes import DType
from headrace.core.errors import InternalError, InvalidArgumentError, OpError, ResourceExhaustedError
from headrace.core.registry import REGISTRY
from headrace.passes.step_graph import Node, StepGraph, Value, behind_identities
from headrace.resources.calling.value import TORCH_DTYPES, torch_dtype
from headrace.runtime.host.device import Device, DeviceHooks, LaunchedNode


class HookedPlace:
    """The memory of one device with hooks, as a place that generated code holds values in.  Thread-safe if the hooks are."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.torch_device = device.torch_device
        self.type = device.device_type  # in capitals, so that it is never taken for one of torch's
        self.hooks = device.hooks or DeviceHooks()
        self.memory = None if self.hooks.allocate is None else self._buffer
        self._given: WeakSet[Any] = WeakSet()  # memory from the allocate hook: storages of tensors

    # ---- memory

    def allocated(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """New memory of the device."""
        allocate = self.hooks.allocate
        if allocate is None:
            return torch.empty(shape, dtype=dtype, device=self.torch_device)
        try:
            memory = allocate(shape, dtype, self.device)
        except Exception as e:  # noqa: BLE001 - it is raised again, with the hook's name
            self._fail("allocate", e)
        if not isinstance(memory, torch.Tensor) or not (
            memory.dtype == dtype
            and memory.shape == shape
            and memory.device == self.torch_device
            and memory.is_contiguous()
        ):
            self._refuse_memory(memory, shape, dtype)
        self._given.add(memory.untyped_storage())
        return memory

    def _refuse_memory(self, memory: Any, shape: tuple[int, ...], dtype: torch.dtype) -> NoReturn:
        flaw = " that is not contiguous" if isinstance(memory, torch.Tensor) and not memory.is_contiguous() else ""
        raise InvalidArgumentError(
            None, None,
            f"{self._hook('allocate')} returned {_described(memory)}{flaw}; expected is a contiguous tensor of "
            f"{_text(dtype, shape)} on {self.torch_device}",
        )  # fmt: skip

    def _own(self, value: torch.Tensor) -> torch.Tensor:
        """The value in memory from the allocate hook: itself, if that is where it is."""
        return value if value.untyped_storage() in self._given else self._buffer(value, False)

    def _buffer(self, value: torch.Tensor, keep: bool) -> torch.Tensor:
        """A copy of the value; the value itself if it may be kept and is in memory from the allocate hook."""
        if keep and value.is_contiguous() and value.untyped_storage() in self._given:
            return value
        buffer = self.allocated(tuple(value.shape), value.dtype)
        buffer.copy_(value)
        return buffer

    # ---- copies

    def from_host(self, value: torch.Tensor) -> torch.Tensor:
        target = self.allocated(tuple(value.shape), value.dtype)
        self._copy(value, target, None, self.device)
        return target

    def to_host(self, value: torch.Tensor) -> torch.Tensor:
        target = torch.empty(value.shape, dtype=value.dtype)
        self._copy(value, target, self.device, None)
        return target

    def from_other(self, value: torch.Tensor, other: HookedPlace) -> torch.Tensor:
        """The value of another device of the type."""
        target = self.allocated(tuple(value.shape), value.dtype)
        self._copy(value, target, other.device, self.device)
        return target

    def from_number(self, value: Any, dtype: DType) -> Any:
        """A Python number as a tensor on the device; what is a tensor there already stays as it is."""
        return self.from_host(torch.tensor(value, dtype=torch_dtype(dtype))) if isinstance(value, int) else value

    def _copy(
        self, value: torch.Tensor, target: torch.Tensor, source_device: Device | None, target_device: Device | None
    ) -> None:
        copy = self.hooks.copy
        if copy is None:
            target.copy_(value)
            return
        try:
            result: object = copy(value.resolve_conj().resolve_neg().contiguous(), target, source_device, target_device)
        except Exception as e:  # noqa: BLE001 - as above
            self._fail("copy", e)
        if result is not None:
            said = f"{self._hook('copy')} returned {_described(result)}; it fills its target and returns None"
            raise InvalidArgumentError(None, None, said)

    # ---- launches

    def launched(self, kernel: Callable[..., Any], node: Node) -> Callable[..., Any]:
        """The kernel as it runs on the device.  Of a node that holds bodies the kernels in these are launched, not its own."""
        launch = self.hooks.launch
        if node.op_def.traits.host_output or any(isinstance(attr, StepGraph) for attr in node.attrs.values()):
            return kernel
        if launch is not None:
            kernel = self._through(launch, kernel, node)
        if self.hooks.allocate is None or not any(map(_is_tensor, node.outputs)):
            return kernel

        def run(*args: Any, **kwargs: Any) -> Any:
            return _each(node, kernel(*args, **kwargs), self._own)

        return run

    def _through(
        self, launch: Callable[[Callable[[], Any], LaunchedNode], Any], kernel: Callable[..., Any], node: Node
    ) -> Callable[..., Any]:
        shown = node.origin.type if node.origin is not None and node.type.startswith("_") else node.type
        launched = LaunchedNode(node.name, shown, str(node.source), self.device)

        def run(*args: Any, **kwargs: Any) -> Any:
            results: list[Any] = []
            errors: list[Exception] = []

            def run_kernel() -> Any:
                try:
                    results.append(kernel(*args, **kwargs))
                except Exception as e:
                    errors.append(e)
                    raise
                return results[-1]

            try:
                result = launch(run_kernel, launched)
            except Exception as e:  # noqa: BLE001 - as above
                if any(e is one for one in errors):
                    raise
                self._fail("launch", e)
            finally:
                errors.clear()  # an error and the frame that holds it would keep each other, and the tensors
            return result if results and result is results[-1] else self._checked(result, node)

        return run

    def _checked(self, result: Any, node: Node) -> Any:
        """What a launch hook returned that is not the kernel's own result."""
        values = iter(node.outputs)

        def check(output: Any) -> Any:
            value = next(values)
            if not _is_tensor(value):
                fits = output is not None
            else:
                fits = (
                    isinstance(output, torch.Tensor) and output.dtype == TORCH_DTYPES[value.dtype.base_dtype]
                    and value.shape.is_compatible_with(tuple(output.shape))
                    and output.device.type == self.torch_device.type
                )  # fmt: skip
            if not fits:
                shape = value.shape.tuple
                expected = f"{value.dtype.name}{'' if shape is None else list(shape)} on {self.torch_device.type!r}"
                raise InvalidArgumentError(
                    None, None,
                    f"{self._hook('launch')} returned {_described(output)} for {value.name}; expected is {expected}, as "
                    "run() returns it",
                )  # fmt: skip
            return output

        try:
            return _each(node, result, check, True)
        except TypeError:
            raise InvalidArgumentError(
                None, None,
                f"{self._hook('launch')} returned {_described(result)}; expected are {len(node.outputs)} outputs, as "
                "run() returns them",
            ) from None  # fmt: skip

    # ---- errors

    def _hook(self, name: str) -> str:
        return f"the {name} hook of device type {self.type}"

    def _fail(self, name: str, error: Exception) -> NoReturn:
        """Says that a hook raised an error: of TF1's tree if it is of that, or says that there is no memory."""
        raised_class: Any = type(error) if isinstance(error, OpError) else InternalError
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
            raised_class = ResourceExhaustedError
        said = error.message if isinstance(error, OpError) else f"{type(error).__name__}: {error}"
        raise raised_class(None, None, f"{self._hook(name)} raised {said}") from error


def _is_tensor(value: Value) -> bool:
    return not value.dtype._is_ref_dtype and value.dtype in TORCH_DTYPES


def _each(node: Node, result: Any, convert: Callable[[Any], Any], every: bool = False) -> Any:
    """A kernel's result with each output converted: those that are tensors, or every one.  TypeError if it has another form."""
    outputs = node.op_def.signature.outputs
    if not outputs:
        return result
    rest = iter(node.outputs)

    def one(output: Any) -> Any:
        return convert(output) if every | _is_tensor(next(rest)) else output

    if len(outputs) == 1 and not outputs[0].is_list:
        return one(result)
    groups = [result] if len(outputs) == 1 else result
    if not isinstance(groups, (tuple, list)) or len(groups) != len(outputs):
        raise TypeError
    converted = []
    for out, group in zip(outputs, groups, strict=True):
        if out.is_list:
            if not isinstance(group, (tuple, list)) or len(group) != _length(node, out):
                raise TypeError
            converted.append([one(output) for output in group])
        else:
            converted.append(one(group))
    return converted[0] if len(outputs) == 1 else converted


def _length(node: Node, out: Any) -> int:
    return int(node.attrs[out.number_attr]) if out.number_attr else len(node.attrs[out.type_list_attr or ""])


def _text(dtype: torch.dtype, shape: Any) -> str:
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of {_text(value.dtype, value.shape)} on {value.device}"
    return repr(value) if value is None or isinstance(value, (bool, int, float)) else f"a {type(value).__name__}"


def fetch_from_host(graph: StepGraph, hooked: Collection[str], host: str) -> StepGraph:
    """The graph in which copies on the host are fetched instead of values on devices with hooks, whose names these are."""
    brought: dict[Value, Value] = {}
    for value in graph.fetches:
        if value in brought or not _is_tensor(value) or behind_identities(value).op.device not in hooked:
            continue
        copy = Node(
            f"_own_fetch/{value.op.name}/{value.value_index}", REGISTRY.get("_Own"), [value],
            {"T": value.dtype.base_dtype}, value.op.order, None, host, value.op.source, value.op.origin,
        ).add_outputs([(value.dtype, value.shape)])  # fmt: skip
        graph.nodes.append(copy)
        brought[value] = copy.outputs[0]
    graph.fetches = [brought.get(value, value) for value in graph.fetches]
    return graph
