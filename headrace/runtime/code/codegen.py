"""A strand as generated Python: one line a node, kernels and constants bound by name, values released after their last use.

    def strand(i0, i1):
        v0 = s0.value
        v1 = k1(i0, v0, False, False); del v0
        return v1,

Nothing is looked up, checked or recorded per node at run time.  When a line raises, its number tells the node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import CodeType, MappingProxyType
from typing import Any, Protocol, cast

import numpy as np

from headrace.core import dtypes
from headrace.core.registry import ALL, ArrayKernel, Kernel
from headrace.core.signature import Arg
from headrace.graph.body import Detached
from headrace.graph.infer import group_inputs
from headrace.passes.arrays import named_inputs, on_arrays
from headrace.passes.instantiate import on_host
from headrace.passes.pipeline import Context, Stage, run_stage
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.resources.calling.dispatch import with_autograd
from headrace.resources.calling.invoke import array_attrs, bind_attrs, extras
from headrace.resources.calling.value import NATIVE
from headrace.runtime.code.depth import deep
from headrace.runtime.code.holder import ANYWHERE, ARRAY, EITHER, HOST, LIST, NUMBER, Holder
from headrace.runtime.code.number import number, tensor_of, wrap, wrapped
from headrace.runtime.code.script import Script
from headrace.runtime.host.hooks import HookedPlace
from headrace.runtime.host.recorder import Recorder
from headrace.runtime.host.refusal import refusing, shapes_refused

LONG = 6  # kernel calls


class Binder(Protocol):
    """What generated code needs from the worker that will run it."""

    threads: int  # the most that kernels may use
    recorder: Recorder | None  # of a traced step: notes when each node ran

    @property
    def arrays(self) -> bool: ...  # whether small values may be held as arrays

    def kernel(self, node: Node, kernel_type: str) -> Kernel: ...
    def state(self, node: Node) -> Any: ...
    def constant(self, node: Node, torch_device: Any) -> Any: ...
    def torch_device(self, name: str) -> Any: ...
    def place(self, name: str) -> Any: ...  # the torch device, or a HookedPlace


@dataclass(frozen=True, slots=True)
class Program:
    """Generated code: the function, its text, and the node behind each line."""

    call: Callable[..., Any]
    source: str
    lines: dict[int, Node]
    names: dict[Value, str]
    bodies: tuple[Program, ...] = ()  # those that lines of this one call
    long: bool = False  # whether bypassing torch's autograd pays
    on_arrays: frozenset[Node] = frozenset()  # the nodes that run on numpy arrays
    array_inputs: frozenset[int] = frozenset()  # of a body: the parameters that it uses as arrays only
    # names of values in another form, by name and place
    converted: dict[tuple[str, Any], str] = field(default_factory=dict)


class _Recursive:
    """A function that calls itself, while it is being written: the namespaces that must get it."""

    def __init__(self) -> None:
        self.call: Callable[..., Any] | None = None
        self.users: list[tuple[dict[str, Any], str]] = []


_Recursions = dict[tuple[StepGraph, Any], _Recursive]


def _function_name(node: Node) -> str:
    """The function that a node calls, in words, with the line that defines it."""
    f = node.origin.attrs.get("f") if node.origin is not None else None
    return f"the function of {node.name}" if f is None else f"{f.description} ({f.defined or f.source})"


def _may_be_refused(node: Node) -> bool:
    """Whether the shape rule refuses the inputs, or cannot tell before they are there.

    It is asked again, since a plan knows shapes that the graph did not: a placeholder without a shape stands for its default.
    """
    if not all(v.shape.is_fully_defined() for v in node.inputs):
        return True
    values = [v.op.attrs["value"] if v.op.op_def.traits.constant else v for v in node.inputs]
    return shapes_refused(node.op_def, node.attrs, group_inputs(node.op_def, values, node.attrs)) is not None


class _Writer:
    """Writes the lines of nodes, in order."""

    def __init__(self, binder: Binder, recursions: _Recursions, on_arrays: Mapping[Node, ArrayKernel]) -> None:
        self.binder = binder
        self.on_arrays = on_arrays
        self.recursions = recursions
        self.script = Script(binder.recorder)
        self.holder = Holder(self.script, binder)
        self.place_of = cache(binder.place)
        self.bodies: list[Program] = []
        self.written: dict[StepGraph, Program] = {}  # the bodies of the node that is being written
        self.read_on_host: set[Value] = set()  # values that only the host reads

    def write_on_numbers(self, node: Node) -> bool:
        """Writes arithmetic on Python numbers, if that is what the node's inputs are."""
        holder, expression = self.holder, node.op_def.kernels.on_numbers
        if expression == ALL:
            return self.write_list(node)
        if expression is None or not any(holder.is_number(v) for v in node.inputs):
            return False
        if not all(on_host(v.dtype, v.shape) for v in (*node.inputs, *node.outputs)):
            return False
        if not all(holder.places[v] in (NUMBER, ANYWHERE) for v in node.inputs):
            return False
        result = node.outputs[0]
        name = self.script.local("v")
        holder.put(result, name, NUMBER)
        call = expression.format(*[holder.number(v) for v in node.inputs])
        self.script.write(wrapped(call, result.dtype, name, self.script.bind("g", wrap)), node)
        return True

    def write_list(self, node: Node) -> bool:
        """Writes a list of Python numbers, if only the host reads the value: the bounds of a slice, the sizes of a shape."""
        holder, result = self.holder, node.outputs[0]
        if (
            result not in self.read_on_host
            or result.dtype not in _NUMBERS
            or not all(map(holder.is_on_host, node.inputs))
        ):
            return False
        numbers = ", ".join([holder.number(v) for v in node.inputs])
        name = self.script.local("v")
        holder.put(result, name, LIST)
        self.script.write(f"{name} = [{numbers}]", node)
        return True

    def node(self, node: Node) -> None:
        op_def = node.op_def
        if op_def.traits.constant:
            self.holder.put_constant(node.outputs[0])
            return
        if op_def.traits.handle:
            self.holder.put(node.outputs[0], self.script.bind("s", self.binder.state(node)), None)
            return
        if self.write_on_numbers(node):
            return
        device, place = self.place(node)
        if op_def.traits.identity:
            self.holder.pass_on(node.inputs[0], node.outputs[0], device, place, node)
            return
        array_kernel = self.on_arrays.get(node)
        arguments = self.arguments(node, device, array_kernel is not None)
        if array_kernel is not None:
            arguments += [self.script.literal(a) for a in array_attrs(op_def, node.attrs)]
            if array_kernel.wants_state:
                arguments.append(f"state={self.script.bind('x', self.binder.state(node))}")
            self.assign(node, f"{self.script.bind('k', array_kernel.call)}({', '.join(arguments)})", ARRAY)
            return
        if op_def.kernels.inline is not None and not has_own_kernel(node, self.binder):
            call = op_def.kernels.inline.format(*arguments)
        else:
            call = self.call(node, device, arguments)
        self.assign(node, call, EITHER if op_def.traits.takes_arrays and device.type == "cpu" else place)
        if op_def.traits.reads_buffer and device.type == "cpu":  # the array is that of a buffer on the host
            self.holder.put_read(node.outputs[0], arguments[0])

    def place(self, node: Node) -> tuple[Any, Any]:
        """The place to run on, and where the outputs are."""
        traits = node.op_def.traits
        device = self.place_of(node.device)
        if device.type == "cpu":
            return device, device
        host = self.place_of("")
        if traits.host or (isinstance(device, HookedPlace) and _is_outside(node)):
            return host, host
        if traits.host_output:
            return device, HOST
        places = [self.holder.places[v] for arg, v in named_inputs(node) if not arg.host]
        if all(p in (HOST, ANYWHERE, NUMBER) for p in places) and any(p in (HOST, NUMBER) for p in places):
            if all(v.dtype.base_dtype.is_integer or v.dtype.base_dtype.is_bool for v in node.outputs):
                return host, HOST  # integer arithmetic on shapes stays on the host, as TF1's int32 kernels do
        return device, device

    def arguments(self, node: Node, device: Any, as_arrays: bool) -> list[str]:
        """The expressions of the inputs, each in the form that the kernel takes."""
        if node.op_def.takes_tensors:
            if as_arrays:
                return [self.holder.array(v, node) for v in node.inputs]
            args = zip(node.op_def.signature.inputs, node.inputs, strict=True)
            return [self.argument(node, arg, v, i, device, as_arrays) for i, (arg, v) in enumerate(args)]
        arguments = []
        position = 0
        grouped = group_inputs(node.op_def, node.inputs, node.attrs)
        for arg, value_or_list in zip(node.op_def.signature.inputs, grouped, strict=True):
            values = value_or_list if arg.is_list else [value_or_list]
            names = [self.argument(node, arg, v, position + i, device, as_arrays) for i, v in enumerate(values)]
            arguments.append(f"[{', '.join(names)}]" if arg.is_list else names[0])
            position += len(values)
        return arguments

    def argument(self, node: Node, arg: Arg, value: Value, position: int, device: Any, as_arrays: bool) -> str:
        holder, traits = self.holder, node.op_def.traits
        if arg.host:
            return holder.host(value)
        if arg.ref:
            return holder.names[value]
        if as_arrays:
            return holder.array(value, node)
        if position in node.attrs.get("host_inputs", ()):
            return holder.number(value)
        place = holder.places[value]
        if (
            (traits.transfers and place not in (ANYWHERE, ARRAY, EITHER, NUMBER) and not holder.has_border(value))
            or (traits.takes_arrays and place in (ARRAY, EITHER) and device.type == "cpu")
            or (traits.takes_numbers and place is NUMBER)
        ):
            return holder.names[value]
        if traits.takes_arrays and position in self.array_inputs(node, device):
            return holder.array(value, node)
        return holder.tensor(value, device, node)

    def array_inputs(self, node: Node, device: Any) -> Collection[int]:
        """The inputs of a loop that stay the same and that its body uses as arrays: converted once, before the loop."""
        body = node.attrs.get("body")
        if not isinstance(body, StepGraph):
            return ()
        first = 0 if "cond" in node.attrs else 1
        variables = len(node.attrs["T"])
        return {first + i for i in self.body_program(body, device, node).array_inputs if i >= variables}

    def body(self, body: StepGraph, device: Any, node: Node) -> str:
        """The name of the function of an instantiated body of a node."""
        return self.script.bind("f", self.body_program(body, device, node).call)

    def body_program(self, body: StepGraph, device: Any, node: Node) -> Program:
        program = self.written.get(body)
        if program is None:
            variables = len(node.attrs["T"]) if body is node.attrs.get("body") else 0  # else it is no loop's body
            program = self.written[body] = generate_body(body, self.binder, device, self.recursions, variables)
            self.bodies.append(program)
        return program

    def recursive(self, body: StepGraph, device: Any, node: Node) -> str:
        """The name of the function of a body that calls itself.  While it is being written, the name stands for a placeholder."""
        recursion = self.recursions.get((body, device))
        outside = all(r.call is not None for r in self.recursions.values())
        if recursion is None:
            recursion = self.recursions[body, device] = _Recursive()
            program = generate_body(body, self.binder, device, self.recursions)
            self.bodies.append(program)
            recursion.call = program.call
            for namespace, name in recursion.users:
                namespace[name] = program.call
        if recursion.call is not None:
            return self.script.bind("f", deep(recursion.call, _function_name(node)) if outside else recursion.call)
        name = self.script.bind("f", recursion)
        recursion.users.append((self.script.namespace, name))
        return name

    def call(self, node: Node, device: Any, arguments: list[str]) -> str:
        if isinstance(node.attrs.get("f"), StepGraph):  # a recursive call: no more Python frames than it needs
            return f"{self.recursive(node.attrs['f'], device, node)}(*{arguments[0]}, *{arguments[1]})"
        hooked = device if isinstance(device, HookedPlace) else None
        torch_device = device if hooked is None else hooked.torch_device
        kernel = self.binder.kernel(node, torch_device.type)
        target = kernel.call
        if not node.op_def.built_in:
            target = with_autograd(target)
        if node.op_def.traits.lenient and _may_be_refused(node):
            target = refusing(node.op_def, node.attrs, target)
        if hooked is not None:
            target = hooked.launched(target, node)
        if isinstance(node.attrs.get("body"), StepGraph):
            arguments = self.give(node, arguments)
        arguments = arguments + [self.attribute(a, device, node) for a in bind_attrs(node.op_def, node.attrs)]
        wants = extras(kernel, torch_device, None, node)
        if kernel.wants_state:
            wants["state"] = self.binder.state(node)
        arguments += [f"{key}={self.script.bind('x', value)}" for key, value in wants.items()]
        return f"{self.script.bind('k', target)}({', '.join(arguments)})"

    def attribute(self, attr: Any, device: Any, node: Node) -> str:
        """The expression of an attribute; a body is a function."""
        if isinstance(attr, StepGraph):
            return self.body(attr, device, node)
        if isinstance(attr, Detached):  # its node is never part of what is compiled, so the binder is a worker's
            return self.script.bind("f", cast(Any, self.binder).callable(attr.body))
        return self.script.literal(attr)

    def begin(self, node: Node) -> str:
        """Writes the line that begins an asynchronous node; returns the name of what it waits for."""
        device, _ = self.place(node)
        begin = node.op_def.kernels.begin
        assert begin is not None, node.type
        arguments = self.arguments(node, device, False)
        arguments += [self.script.literal(a) for a in bind_attrs(node.op_def, node.attrs)]
        wants = extras(begin, device, None, node)
        if begin.wants_state:
            wants["state"] = self.binder.state(node)
        arguments += [f"{key}={self.script.bind('x', value)}" for key, value in wants.items()]
        recorder = self.binder.recorder
        done = (
            f"{self.script.bind('w', recorder.until_done)}({self.script.bind('n', node)}, done)" if recorder else "done"
        )
        arguments += [f"done={done}", *(["step=step"] if begin.wants_step else [])]
        self.script.write(f"wait = {self.script.bind('k', begin.call)}({', '.join(arguments)})", node)
        return "wait"

    def give(self, node: Node, arguments: list[str]) -> list[str]:
        """A loop gets its variables in a list that it empties, so that what a gradient has taken from a stash is freed."""
        box = self.script.fresh("b")
        at = 0 if "cond" in node.attrs else 1
        self.script.write(f"{box} = {arguments[at]}", node)
        return [*arguments[:at], box, *arguments[at + 1 :]]

    def assign(self, node: Node, call: str, place: Any) -> None:
        outputs = node.op_def.signature.outputs
        targets = []
        rest = list(node.outputs)
        hosted = node.attrs.get("host_outputs", ())
        after: list[str] = []
        for out in outputs:
            count = 1
            if out.is_list:
                count = node.attrs[out.number_attr] if out.number_attr else len(node.attrs[out.type_list_attr or ""])
            names = []
            for value in rest[:count]:
                name = self.script.local("v")
                self.holder.put(value, name, NUMBER if value.value_index in hosted else place)
                if node.op_def.traits.takes_numbers and value.dtype.base_dtype in _NUMBERS:
                    after.append(self._normal(value, name, place))
                names.append(name)
            rest = rest[count:]
            targets.append(f"[{', '.join(names)}]" if out.is_list else names[0])
        self.script.write(f"{', '.join(targets)} = {call}" if targets else call, node)
        for line in after:
            self.script.write(line, node)

    def _normal(self, value: Value, name: str, place: Any) -> str:
        """A line that turns a number or a tensor into the form that is expected of the value."""
        if on_host(value.dtype, value.shape):
            self.holder.put(value, name, NUMBER)
            return f"{name} = {self.script.bind('g', number)}({name})"
        dtype = self.script.bind("y", value.dtype.base_dtype)
        if isinstance(place, HookedPlace):
            return f"{name} = {self.script.bind('g', place.from_number)}({name}, {dtype})"
        device = self.script.bind("d", self.place_of("") if place is EITHER else place)
        return f"{name} = {self.script.bind('g', tensor_of)}({name}, {dtype}, {device})"


_NUMBERS = (dtypes.int32, dtypes.int64, dtypes.bool)


def _is_outside(node: Node) -> bool:
    """Whether a node on a device with hooks runs on the host: one that waits, or that brings values to a partition or a file."""
    traits = node.op_def.traits
    return traits.waits or (traits.transfers and not node.outputs)


def generate(
    nodes: Sequence[Node], inputs: Sequence[Value], outputs: Sequence[Value], binder: Binder, title: str,
    places: dict[Value, Any] | None = None, result_places: Sequence[Any] | None = None,
    recursions: _Recursions | None = None, arrays: Mapping[Node, ArrayKernel] | None = None,
) -> Program:  # fmt: skip
    """``nodes`` in the order to run; ``inputs`` become the function's parameters, ``outputs`` its result, always a tuple.

    Results are brought to ``result_places`` (torch devices, NUMBER or EITHER) if those are given.  Those of nodes in ``arrays``,
    which run on arrays, are arrays if no ``places`` are asked for.
    """
    writer = _Writer(binder, {} if recursions is None else recursions, arrays or {})
    script, holder = writer.script, writer.holder
    host = binder.torch_device("")
    for i, value in enumerate(inputs):
        holder.put(value, f"i{i}", (places and places.get(value)) or host)
    writer.read_on_host = _read_on_host(nodes, outputs)
    for node in nodes:
        writer.node(node)
    results = []
    for i, value in enumerate(outputs):
        if result_places is not None:
            result_place = result_places[i]
            if result_place is NUMBER:
                results.append(holder.returned_number(value))
            elif result_place is EITHER:
                results.append(holder.either(value, host, value.op))
            else:
                results.append(holder.tensor(value, result_place, value.op))
        elif holder.places[value] in (NUMBER, ANYWHERE) or (
            holder.places[value] in (ARRAY, EITHER) and places is not None
        ):
            results.append(holder.tensor(value, host, value.op))
        else:
            results.append(holder.names[value])
    if places is not None:
        places.update((v, p) for v, p in holder.places.items() if p not in (ANYWHERE, ARRAY, EITHER, None, NUMBER))
    outermost = recursions is None
    quiet = outermost and (bool(arrays) or any(f.on_arrays for f in writer.bodies))
    if quiet:
        script.namespace["quiet"] = np.errstate
    returned = f"({', '.join(results)}{',' if results else ''})"
    text, numbered = script.assemble(len(inputs), returned, (), holder.read_as_arrays, quiet)
    exec(_code(text) if outermost else compile(text, f"<headrace {title}>", "exec"), script.namespace)
    # The function is taken out of its globals: no circle keeps what they hold when the plan is dropped.
    long = bool(writer.bodies) or sum(n.op_def.kernels.inline is None for n in numbered.values()) >= LONG
    small = frozenset(arrays or ()).union(*(f.on_arrays for f in writer.bodies))
    as_arrays = frozenset(i for i in range(len(inputs)) if holder.used_as_array(f"i{i}"))
    call = script.namespace.pop("strand")
    return Program(call, text, numbered, holder.names, tuple(writer.bodies), long, small, as_arrays, holder.converted)


def _read_on_host(nodes: Sequence[Node], outputs: Sequence[Value]) -> set[Value]:
    """The vectors of numbers that nothing but the host reads, among those that can be written as lists."""
    vectors = {n.outputs[0] for n in nodes if n.op_def.kernels.on_numbers == ALL and n.outputs[0].shape.ndims == 1}
    if vectors:
        vectors.difference_update(outputs)
        for node in nodes:
            if not vectors.isdisjoint(node.inputs):
                vectors.difference_update(value for arg, value in named_inputs(node) if not arg.host)
    return vectors


@lru_cache(16)
def _code(text: str) -> CodeType:
    """The compiled text.  Partitions that do the same, towers for instance, share it: a tenth of the time to plan them."""
    return compile(text, "<headrace strand>", "exec")


def generate_begin(
    nodes: Sequence[Node], inputs: Sequence[Value], outputs: Sequence[Value], binder: Binder, title: str,
    places: dict[Value, Any],
) -> Program:  # fmt: skip
    """The function ``strand(i0, i1, ..., done, step)`` that begins the last node, an asynchronous one; it gives the wait."""
    writer = _Writer(binder, {}, {})
    script, holder = writer.script, writer.holder
    host = binder.torch_device("")
    for i, value in enumerate(inputs):
        holder.put(value, f"i{i}", places.get(value) or host)
    for node in nodes[:-1]:
        writer.node(node)
    wait = writer.begin(nodes[-1])
    text, numbered = script.assemble(len(inputs), wait, ("done", "step"))
    exec(compile(text, f"<headrace begin {title}>", "exec"), script.namespace)
    return Program(script.namespace.pop("strand"), text, numbered, holder.names)


def generate_body(body: StepGraph, binder: Binder, device: Any, recursions: _Recursions, variables: int = 0) -> Program:
    """The function of an instantiated body: its feeds are the parameters, its fetches the results.

    The first ``variables`` results of a loop's body are its parameters in the next iteration.
    What leaves the body never shares memory with a variable.  This is the place to compile hot bodies instead.
    """
    run_stage(Stage.BODY, body, Context())
    fed = {v.op for v in body.feeds}
    place = EITHER if device.type == "cpu" else device
    places = {v: NUMBER if h else place for v, h in zip(body.feeds, body.host_feeds, strict=True)}
    result_places = [NUMBER if h else place for h in body.host_fetches]
    nodes = [n for n in body.nodes if n not in fed]
    again = dict(zip(body.feeds[:variables], body.fetches, strict=False))
    small = choose_arrays(nodes, (), binder, body.feeds, again) if place is EITHER else {}
    return generate(nodes, body.feeds, body.fetches, binder, "body", places, result_places, recursions, small)


def choose_arrays(
    nodes: Sequence[Node], escaping: Sequence[Value], binder: Binder, free: Sequence[Value] = (),
    again: Mapping[Value, Value] = MappingProxyType({}),
) -> dict[Node, ArrayKernel]:  # fmt: skip
    """The nodes that are to run on arrays; ``escaping`` values are wanted as tensors, ``free`` ones come in either form.

    ``again``: of a loop's variables, what each is in the next iteration.
    """
    if not binder.arrays:
        return {}
    place_of = cache(binder.place)

    def may_be_array(node: Node) -> bool:
        return place_of(node.device).type == "cpu" and not has_own_kernel(node, binder)

    return on_arrays(nodes, escaping, NATIVE, may_be_array, frozenset(free), again)


def has_own_kernel(node: Node, binder: Binder) -> bool:
    """Whether a kernel was declared for the type of the node's device: no other form of the op stands in for it."""
    named = [k.device for k in node.op_def.kernels.by_device if k.device is not None and k.device.isupper()]
    return bool(named) and binder.kernel(node, binder.torch_device(node.device).type).device in named
