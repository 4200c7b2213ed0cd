"""The eager context: a graph whose nodes run as soon as they are created and are then forgotten.

It has a graph's scopes (names, devices, gradient overrides, seed), so the library works in it unchanged; it keeps no nodes, no
names and no collections of variables.  One context serves the process; what is in force is each thread's own.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from headrace.autodiff.custom import takes_variables
from headrace.core import errors
from headrace.core.dtypes import DType, as_dtype, float32, float64, int32, int64, string
from headrace.core.registry import REGISTRY, OpDef
from headrace.core.source import at, user_source
from headrace.eager import execute, function, tape_entry, tensor
from headrace.eager.binding import Bound, run, scalar
from headrace.eager.execute import Caller
from headrace.eager.tape import GradientTape
from headrace.eager.tape_entry import TapeEntry
from headrace.eager.tensor import EagerHandle, EagerOperation, EagerTensor, Immediate, as_handle, holding
from headrace.graph import context, raw_ops
from headrace.graph.build import add_node
from headrace.graph.collection import GraphKeys
from headrace.graph.constant import make_array
from headrace.graph.functional import holds_function
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.resources.calling.invoke import CPU, bind_attr, find_kernel
from headrace.resources.calling.value import from_numpy
from headrace.resources.state.container import Containers
from headrace.runtime.host import defaults
from headrace.runtime.host.device import Device
from headrace.runtime.host.pool import Pool
from headrace.runtime.host.registered import StateContext
from headrace.runtime.host.threads import default_threads

SYNC, ASYNC = 0, 1
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT, DEVICE_PLACEMENT_SILENT_FOR_INT32 = range(4)
_HOST_SIZE = 64
_STATES = 256  # random generators kept, by their seeds
_NUMBERS = {  # Python's numbers whose values need no check, by the dtype asked for
    (float, None): float32, (float, float32): float32, (float, float64): float64,
    (int, None): int32, (int, int32): int32, (int, int64): int64, (int, float32): float32, (int, float64): float64,
}  # fmt: skip
_FLOATS = ({float},)
_ARRAYS = {np.dtype(d.name): d for d in (float32, float64, int32, int64)}  # whose arrays torch takes as they are
_NOTHING = contextlib.nullcontext()


def _adopting(args: Sequence[Any]) -> Graph | None:
    """The graph that an op becomes a node of, though ops run eagerly: that of one of its inputs, if it wants such nodes."""
    for arg in args:
        for item in arg if isinstance(arg, (list, tuple)) else (arg,):
            if isinstance(item, Tensor) and not isinstance(item, Immediate) and item.graph.adopts_ops:
                return item.graph
    return None


class EagerContext(Graph):
    """Thread-safe.  Runs ops where it is called; see the module docstring for what it keeps."""

    executing_eagerly = True

    def __init__(self) -> None:
        super().__init__()
        defaults.settings().initialized = True
        asked = defaults.session_defaults()
        self.devices: list[Device] = defaults.default_devices()
        self.several_devices = len({d.torch_device for d in self.devices}) > 1 or any(d.hooks for d in self.devices)
        self.quick = not self.several_devices  # whether dtypes and attributes alone decide how an op is run
        self.default_device = next(d.torch_device for d in self.devices if d.hooks is None)
        self._resources = Containers()  # state shared by name
        self._states: OrderedDict[Any, Any] = OrderedDict()
        self._cores = (asked and asked.intra_op_parallelism_threads) or default_threads()
        self._ahead = Pool("headrace-ahead-", most=max(16, 2 * self._cores))  # for datasets
        self._random = random.Random()
        self._const = REGISTRY.get("Const")

    # ---- running ops

    call = execute.call  # returns the output, a named tuple of outputs, or None if there is none

    def build(self, how: Caller, key: Any, flat: Sequence[Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Converts and checks the arguments as a graph does, runs the op, and keeps its binding under ``key``."""
        if key is None and (graph := _adopting(args)) is not None:
            with graph.as_default():
                return getattr(raw_ops, how.op_def.name)(*args, **kwargs)
        node: Any = add_node(self, how.op_def, args, kwargs)
        bound = node.bound
        if bound is None:
            return node._outputs[0]
        if key is not None and not any(map(callable, bound.attrs)):  # a function would be kept with it
            how.remember(key, flat, bound)
        return how.wrap(bound, node._outputs)

    def wrong_dtype(self, message: str) -> Exception:
        return errors.InvalidArgumentError(None, None, message)

    def create_op(
        self, op_type: str | OpDef, inputs: Sequence[Tensor], dtypes: Sequence[DType] | None = None,
        input_types: Any = None, name: str | None = None, attrs: dict[str, Any] | None = None, op_def: Any = None,
        compute_shapes: bool = True, compute_device: bool = True,
    ) -> Any:  # fmt: skip
        """Runs one op on tensors; the result has the outputs of a node."""
        definition = REGISTRY.get(op_type) if isinstance(op_type, str) else op_type
        outputs = list(dtypes or ())
        attrs = {} if attrs is None else attrs
        if definition is self._const:
            return TapeEntry(definition, (), (self._constant(attrs),), attrs)
        if definition.traits.handle:
            return self._make_handle(definition, outputs[0], name or definition.name, attrs)
        if definition.traits.feed:
            raise RuntimeError(
                f"tf.{definition.name.lower()}() is not compatible with eager execution: there is nobody to feed it. {at()}"
            )
        override = self._gradient_overrides.get(definition.name)
        if override is not None:
            attrs = {**attrs, "_gradient_op_type": override}
        inputs = [self._own(t, definition.name) for t in inputs]
        if holds_function(attrs):
            return self.run_function(definition, inputs, attrs)
        attrs = {name: function.detached(a) for name, a in attrs.items()}
        bound = Bound(definition, [t.dtype for t in inputs], attrs, outputs, self.place())
        return TapeEntry(definition, inputs, run(bound, inputs, self), attrs, bound=bound)

    def run_function(self, definition: OpDef, inputs: Sequence[Any], attrs: dict[str, Any]) -> TapeEntry:
        """Runs a call of a function on tensors."""
        return function.call(definition, inputs, attrs["Tout"], attrs, self)

    def call_again(self, op: TapeEntry, count: int) -> TapeEntry:
        """A call of a function with more of its results, for a gradient that needs them."""
        return function.call_again(op, count, self)

    def constant(self, value: Any, dtype: DType | None) -> EagerTensor:
        """``value`` as a tensor of its own; a Python number costs little."""
        number = _NUMBERS.get((type(value), dtype))
        if number is not None and not self.several_devices and (type(value) is not int or -(2**31) <= value < 2**31):
            return holding(scalar(value, number.as_datatype_enum)._value, number)
        if value.__class__ is list and not self.several_devices and {*map(type, value)} in _FLOATS:
            if dtype is None or dtype is float32:
                return holding(from_numpy(np.array(value, np.float32)), float32)
        if value.__class__ is np.ndarray and dtype is None and not self.several_devices:
            plain = _ARRAYS.get(value.dtype)
            if plain is not None:
                return holding(torch.from_numpy(value.copy()), plain)
        array = make_array(value, dtype)
        if isinstance(value, np.ndarray):
            array = array.copy()
        element_type = dtype or (string if array.dtype == object else as_dtype(array.dtype))
        # A few integers are shapes or indices, which the host will ask for.
        small_numbers = element_type.is_integer and array.size <= _HOST_SIZE
        where = CPU if small_numbers else self.place()
        tensor = from_numpy(array, None if element_type == string else element_type, where)
        return holding(tensor, element_type.base_dtype)

    def _constant(self, attrs: dict[str, Any]) -> EagerTensor:
        dtype, where = attrs["dtype"], self.place()
        kernel = find_kernel(self._const, where.type, attrs)
        return holding(kernel.call(attrs["value"], bind_attr(dtype), device=where), dtype)

    def _make_handle(self, op_def: OpDef, dtype: DType, name: str, attrs: dict[str, Any]) -> TapeEntry:
        full = name[:-1] if name.endswith("/") else self.unique_name(name)
        resources = self._resources if attrs.get("shared_name") else Containers()
        rule: Any = op_def.state_fn
        state = rule(self._state_context(full, attrs, self.place(), resources))
        handle = EagerHandle(state, dtype, EagerOperation(self, full, op_def.name, user_source(2)))
        return TapeEntry(op_def, (), (handle,), attrs)

    def _state_context(self, name: str, attrs: dict[str, Any], device: Any, resources: Containers) -> StateContext:
        return StateContext(name, attrs, device, resources, self, submit=self._ahead.submit, cores=self._cores)

    def state(self, bound: Bound) -> Any:
        """What a kernel keeps between calls.  A random op goes on where the last one with the same seeds stopped."""
        rule: Any = bound.op_def.state_fn
        attrs = bound.node_attrs
        state_context = self._state_context(bound.op_def.name, attrs, bound.device, self._resources)
        if not bound.op_def.traits.random:
            return rule(state_context)
        key = (bound.op_def.name, attrs.get("seed"), attrs.get("seed2"), bound.device)
        with self._lock:
            state = self._states.get(key)
            if state is None:
                state = self._states[key] = rule(state_context)
                if len(self._states) > _STATES:
                    self._states.popitem(last=False)
            else:
                self._states.move_to_end(key)
            return state

    def _own(self, tensor: Tensor, op_type: str) -> Tensor:
        if isinstance(tensor, Immediate):
            return tensor
        if not isinstance(tensor, Tensor):
            raise TypeError(f"input of {op_type} must be a Tensor, got {tensor!r}")
        raise TypeError(
            f"{tensor!r} (made at {tensor.op.source}) belongs to a graph and has no value, but the {op_type} that uses it "
            f"is executed eagerly {at()}. Build both under `with graph.as_default():`, or run the graph in a tf.Session."
        )

    def run_custom(self, f: Any, inputs: Sequence[Any], kwargs: Any) -> tuple[Any, Any, list[tuple[Any, Any]]]:
        """A function of ``custom_gradient``: its result, its gradient function, and the variables it read besides."""
        with GradientTape() as tape:
            outcome = f(*inputs, **kwargs)
        if not (isinstance(outcome, tuple) and len(outcome) == 2 and callable(outcome[1])):
            raise TypeError(
                f"a function decorated with custom_gradient must return (result, grad_fn), {f.__name__} returned {outcome!r}"
            )
        arguments = {id(t) for t in inputs}
        variables = [(v, as_handle(v)) for v in tape.watched_variables() if id(as_handle(v)) not in arguments]
        if variables and not takes_variables(outcome[1]):
            raise TypeError(
                "If using @custom_gradient with a function that uses variables, then grad_fn must accept a 'variables' "
                f"keyword argument. {at()}"
            )
        return outcome[0], outcome[1], variables

    def custom(self, name: str, inputs: Sequence[Any], results: Sequence[Any], rule: Any) -> list[Any]:
        """New tensors with the values of the results.  Tapes see one op with the gradient ``rule(node, *grads)``."""
        identity = REGISTRY.get("Identity")
        token = tape_entry.active.set(())
        try:
            outputs = [self.call(identity, (r,), {}) for r in results]
        finally:
            tape_entry.active.reset(token)
        tapes = tape_entry.active.get()
        if tapes:
            tape_entry.keep_custom(tapes, TapeEntry(identity, list(inputs), outputs, {"name": name}, rule=rule))
        return outputs

    # ---- devices

    def place(self) -> Any:
        """The torch device in force."""
        scopes = self._scopes.devices
        if not self.several_devices or not scopes:
            return self.default_device
        node = EagerOperation(self, "op", "op")
        placed = _Placed(node)
        self._apply_device(placed)  # type: ignore[arg-type]
        return self._torch_device(placed._device)

    def _torch_device(self, device_name: str) -> Any:
        if not device_name:
            return self.default_device
        for device in self.devices:
            if "/device:" in device_name and device.name.endswith(device_name[device_name.find("/device:") :]):
                if device.hooks is not None:
                    raise errors.UnimplementedError(
                        None, None,
                        f"{device.name} has hooks, which steps of a session call: an op cannot run on it eagerly {at()}",
                    )  # fmt: skip
                return device.torch_device
        if defaults.settings().soft_placement:
            return self.default_device
        names = ", ".join(d.name for d in self.devices)
        raise RuntimeError(f"there is no device {device_name!r} here; there are {names} {at()}")

    # ---- scopes that mean less, or nothing, when ops run eagerly

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """The name under the current scope; names need not be unique here."""
        prefix = self._scopes.name
        return f"{prefix}/{name}" if prefix else name

    def control_dependencies(self, control_inputs: Any) -> Any:
        """Does nothing: what was called before has already run."""
        return _NOTHING

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        return _NOTHING

    def colocate_with_name(self, name: str) -> Any:
        return _NOTHING

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        try:
            with super().gradient_override_map(op_type_map):
                self.quick = False
                context.eager_tapes.set(None)
                yield
        finally:
            self.quick = not self.several_devices and not self._gradient_overrides

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Keeps nothing: a collection would keep alive what the program has dropped.  Only the global step is looked up there."""
        if name == GraphKeys.GLOBAL_STEP:
            self._collections[name] = [value]

    def forget(self) -> None:
        """A fresh start: no global step, no scopes of variables, no shared state, no seed."""
        with self._lock:
            self._collections.clear()
            self._resources.clear()
        self.seed = None

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        if isinstance(obj, (Immediate, EagerOperation)):
            return obj
        if isinstance(obj, str):
            raise KeyError(f"The name {obj!r} refers to nothing: what is executed eagerly is not found by name. {at()}")
        raise TypeError(
            f"Can not convert a {type(obj).__name__} into a Tensor or Operation of the eager context. {at()}"
        )

    # ---- seeds

    @property
    def seed(self) -> int | None:
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        with self._lock:
            self._seed = seed
            self._random = random.Random(seed)
            self._states.clear()

    @property
    def _last_id(self) -> int:
        """A seed for the next op: a fixed sequence after ``set_random_seed``."""
        return self._random.randint(0, 2**31 - 1)

    def __str__(self) -> str:
        return "the eager context"


class _Placed:
    """What a device function may look at."""

    def __init__(self, op: EagerOperation) -> None:
        self.name, self.type, self._device, self.graph = op.name, op.type, "", op.graph

    @property
    def device(self) -> str:
        return self._device


_contexts: list[EagerContext] = []
_lock = threading.Lock()


def the_context() -> EagerContext:
    """The eager context of the process, created on first use."""
    if not _contexts:
        with _lock:
            if not _contexts:
                eager = EagerContext()
                tensor.set_context(eager)
                TapeEntry.graph = eager
                context.on_reset(eager.forget)
                _contexts.append(eager)
    return _contexts[0]


# ---- what users call


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Makes ops run eagerly in the whole program, outside ``with graph.as_default()`` blocks.

    Call it at program startup, before anything is built.  ``device_policy`` and ``execution_mode`` are checked; values are
    always copied between devices silently, and kernels of accelerators always run asynchronously.

    Args:
      config: Accepted as TensorFlow does; it changes nothing.
      device_policy: None, or one of ``tf.contrib.eager.DEVICE_PLACEMENT_*``.
      execution_mode: None, ``tf.contrib.eager.SYNC`` or ``tf.contrib.eager.ASYNC``.

    Example: ``tf.enable_eager_execution()``
    """
    if device_policy not in (None, 0, 1, 2, 3):
        raise ValueError("device_policy must be one of None, tf.contrib.eager.DEVICE_PLACEMENT_*")
    if execution_mode not in (None, SYNC, ASYNC):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    if context.executing_eagerly():
        return
    built = context.global_graph()
    if context.inside_graph() or (built is not None and built._nodes):
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    context.set_global_eager(the_context())


def disable_eager_execution() -> None:
    """Back to building graphs.

    >>> tf.disable_eager_execution()
    >>> tf.executing_eagerly()
    False
    """
    context.set_global_eager(None)


@contextlib.contextmanager
def eager_mode() -> Iterator[None]:
    """Ops called in this block, in this thread, run eagerly: ``with headrace.eager_mode():``.

    Returns:
      A context manager.

    >>> with tf.eager_mode():
    ...     print(tf.add(1, 2).numpy())
    3
    """
    with the_context().as_default():
        yield


def executing_eagerly() -> bool:
    """Whether ops run eagerly here; False inside ``with tf.Graph().as_default():``.

    Returns:
      True or False.

    >>> with tf.eager_mode():
    ...     tf.executing_eagerly()
    True
    """
    return context.executing_eagerly()


def executing_eagerly_outside_functions() -> bool:
    """Whether ops run eagerly in the program around the function or body that is being built, if there is one.

    Returns:
      True or False.

    >>> tf.executing_eagerly_outside_functions()
    False
    """
    graph: Any = context.get_default_graph()
    while graph.building_function and getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    return bool(graph.executing_eagerly)


@contextlib.contextmanager
def execution_mode(mode: int | None) -> Iterator[None]:
    """Accepted for TF1's sake: kernels of accelerators always run asynchronously, those of the host never do.

    Args:
      mode: None, ``tf.contrib.eager.SYNC`` or ``tf.contrib.eager.ASYNC``.

    Returns:
      A context manager.

    >>> with tf.contrib.eager.execution_mode(tf.contrib.eager.SYNC):
    ...     x = tf.constant(1.0)
    """
    if mode not in (None, SYNC, ASYNC):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    yield


def async_wait() -> None:
    """Waits for everything that accelerators still have to do.

    >>> tf.contrib.eager.async_wait()
    """
    for device in the_context().devices:
        if device.torch_device.type == "cuda":
            torch.cuda.synchronize(device.torch_device)


def async_clear_error() -> None:
    """Does nothing: errors are raised where they happen, and none is kept.

    >>> tf.contrib.eager.async_clear_error()
    """


def list_devices() -> list[str]:
    """The names of the devices that ops may run on.

    Returns:
      A list of strings.

    >>> tf.contrib.eager.list_devices()[0]
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    return [d.name for d in the_context().devices]


def num_gpus() -> int:
    """The number of GPUs.

    Returns:
      An integer.

    >>> tf.contrib.eager.num_gpus() >= 0
    True
    """
    return sum(d.device_type == "GPU" for d in the_context().devices)
