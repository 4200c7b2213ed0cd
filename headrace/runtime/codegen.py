"""A strand as generated Python: one line a node, kernels and constants bound by name, values released after their last use.

    def strand(i0, i1):
        v0 = s0.value
        v1 = k1(i0, v0, False, False); del v0
        return v1,

Nothing is looked up, checked or recorded per node at run time.  When a line raises, its number tells the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from headrace.core import dtypes
from headrace.core.registry import ArrayKernel, Kernel
from headrace.graph.infer import group_inputs
from headrace.passes.arrays import on_arrays
from headrace.passes.instantiate import on_host
from headrace.passes.pipeline import Context, Stage, run_stage
from headrace.passes.step_graph import Node, StepGraph, Value
from headrace.resources.dispatch import with_autograd
from headrace.resources.invoke import array_attrs, bind_attrs, extras, host_value
from headrace.resources.value import NATIVE, as_tensor
from headrace.runtime.depth import deep
from headrace.runtime.number import number, tensor_of, wrap, wrapped

_LITERALS = (bool, int, str, type(None))
ANYWHERE = "anywhere"  # a constant: bound wherever it is used
HOST = "host"  # small integers that stay on the host
LONG = 6  # kernel calls
NUMBER = "number"  # a scalar held as a Python number
ARRAY = "array"  # a small value held as a numpy array
_ELSEWHERE = ("string", "variant", "resource")  # dtypes whose values are not in the memory of a device


class Binder(Protocol):
    """What generated code needs from the worker that will run it."""

    threads: int  # the most that kernels may use

    @property
    def arrays(self) -> bool: ...  # whether small values may be held as arrays

    def kernel(self, node: Node, kernel_type: str) -> Kernel: ...
    def state(self, node: Node) -> Any: ...
    def constant(self, node: Node, torch_device: Any) -> Any: ...
    def torch_device(self, name: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Program:
    """Generated code: the function, its text, and the node behind each line."""

    function: Callable[..., Any]
    source: str
    lines: dict[int, Node]
    names: dict[Value, str]
    functions: tuple[Program, ...] = ()  # the bodies that lines of this one call
    long: bool = False  # so that calling below torch's autograd is worth entering it
    on_arrays: frozenset[Node] = frozenset()  # the nodes that run on numpy arrays
    arrays: dict[Value, str] = field(default_factory=dict)  # the names of values turned into arrays


class _Recursive:
    """A function that calls itself while it is being written: who must be told of it."""

    def __init__(self) -> None:
        self.function: Callable[..., Any] | None = None
        self.users: list[tuple[dict[str, Any], str]] = []


_Recursions = dict[tuple[StepGraph, Any], _Recursive]


def _function_name(node: Node) -> str:
    """The function that a node calls, in words, with the line that defines it."""
    f = node.origin.attrs.get("f") if node.origin is not None else None
    return f"the function of {node.name}" if f is None else f"{f.kind} ({f.defined or f.source})"


class _Writer:
    def __init__(self, binder: Binder, recursions: _Recursions, on_arrays: Mapping[Node, ArrayKernel]) -> None:
        self.binder = binder
        self.on_arrays = on_arrays
        self.recursions = recursions
        self.namespace: dict[str, Any] = {}
        self.names: dict[Value, str] = {}
        self.places: dict[Value, Any] = {}  # torch device, HOST or ANYWHERE
        self.copies: dict[tuple[str, Any], str] = {}
        self.arrays: dict[Value, str] = {}
        self.lines: list[tuple[str, Node | None]] = []
        self.owned: list[str] = []
        self.reads: dict[str, str] = {}  # values that are a variable's, and the variable
        self.read_as_arrays: set[str] = set()
        self.functions: list[Program] = []
        self._bound: dict[int, str] = {}
        self._kept: list[Any] = []
        self._count = 0

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def bind(self, prefix: str, thing: Any) -> str:
        """A global name for an object; the same object gets the same name."""
        name = self._bound.get(id(thing))
        if name is None:
            name = self._bound[id(thing)] = self.fresh(prefix)
            self._kept.append(thing)
            self.namespace[name] = thing
        return name

    def literal(self, value: Any) -> str:
        if isinstance(value, _LITERALS) and type(value) in _LITERALS:
            return repr(value)
        if type(value) is float and value == value and value not in (float("inf"), float("-inf")):
            return repr(value)
        if type(value) in (tuple, list) and all(type(v) in (int, bool) for v in value):
            return repr(value)
        return self.bind("a", value)

    # ---- inputs

    def use(self, value: Value, device: Any, node: Node) -> str:
        """The name under which the value is available on the device, copying it there if need be."""
        place = self.places[value]
        if place is ANYWHERE:
            return self.bind("c", self.binder.constant(value.op, device))
        name = self.names[value]
        if place is None or place == device or (place is HOST and device.type == "cpu") or _is_elsewhere(value):
            return name
        key = (name, device)
        if key not in self.copies:
            copy = self.copies[key] = self.fresh("t")
            self.owned.append(copy)
            if place is ARRAY:
                made = f"{self.bind('g', as_tensor)}({name})"
                if device.type != "cpu":
                    made += f".to({self.bind('d', device)})"
                self.lines.append((f"{copy} = {made}", node))
                return copy
            if place is NUMBER:
                kind = self.bind("y", value.dtype.base_dtype)
                made = f"{self.bind('g', tensor_of)}({name}, {kind}, {self.bind('d', device)})"
                self.lines.append((f"{copy} = {made}", node))
                return copy
            # To the host it must be awaited: kernels there read the bytes at once.
            waits = "" if device.type == "cpu" else ", non_blocking=True"
            self.lines.append((f"{copy} = {name}.to({self.bind('d', device)}{waits})", node))
        return self.copies[key]

    def use_array(self, value: Value, node: Node) -> str:
        """The name under which the value is available as an array."""
        place = self.places[value]
        if _is_elsewhere(value):
            return self.use(value, self.binder.torch_device(""), node)
        if place is ANYWHERE:
            return self.bind("c", np.asarray(value.op.attrs["value"]))
        if place is ARRAY:
            return self.names[value]
        name = self.names[value]
        if name in self.reads:
            self.read_as_arrays.add(name)
            return f"{self.reads[name]}.array"
        key = (name, ARRAY)
        if key not in self.copies:
            copy = self.copies[key] = self.fresh("t")
            self.owned.append(copy)
            made = f"{self.use(value, self.binder.torch_device(''), node)}.numpy()"
            self.lines.append((f"{copy} = {made}", node))
        self.arrays[value] = self.copies[key]
        return self.copies[key]

    def use_host(self, value: Value, node: Node) -> str:
        if value.op.op_def.traits.constant:
            return self.literal(host_value(np.asarray(value.op.attrs["value"])))
        name = self.names[value]
        if self.places[value] is NUMBER or value.dtype.base_dtype.name == "string":
            return name
        return f"{name}.tolist()"

    def use_number(self, value: Value) -> str:
        """An integer or bool scalar as a Python number."""
        if self.places[value] is ANYWHERE:
            return self.literal(host_value(np.asarray(value.op.attrs["value"])))
        name = self.names[value]
        return name if self.places[value] is NUMBER else f"{self.bind('g', number)}({name})"

    def give_number(self, value: Value) -> str:
        """The same under a name of its own, to be returned."""
        given = self.use_number(value)
        if self.places[value] in (ANYWHERE, NUMBER):
            return given
        name = self.fresh("v")
        self.lines.append((f"{name} = {given}", value.op))
        return name

    # ---- nodes

    def on_numbers(self, node: Node) -> bool:
        """Emits arithmetic on Python numbers, if that is what the node's inputs are."""
        expression = node.op_def.on_numbers
        if expression is None or not any(self.places[v] is NUMBER for v in node.inputs):
            return False
        if not all(on_host(v.dtype, v.shape) for v in (*node.inputs, *node.outputs)):
            return False
        if not all(self.places[v] is NUMBER or self.places[v] is ANYWHERE for v in node.inputs):
            return False
        result = node.outputs[0]
        name = self.names[result] = self.fresh("v")
        self.places[result] = NUMBER
        self.owned.append(name)
        call = expression.format(*[self.use_number(v) for v in node.inputs])
        self.lines.append((wrapped(call, result.dtype, name, self.bind("g", wrap)), node))
        return True

    def node(self, node: Node) -> None:
        op_def = node.op_def
        traits = op_def.traits
        if traits.constant:
            self.places[node.outputs[0]] = ANYWHERE
            return
        if traits.handle:
            self.names[node.outputs[0]] = self.bind("s", self.binder.state(node))
            self.places[node.outputs[0]] = None
            return
        if self.on_numbers(node):
            return
        device, place = self.place(node)
        if traits.identity:
            source = node.inputs[0]
            if self.places[source] is not ANYWHERE:
                self.names[node.outputs[0]] = self.names[source]
            else:
                self.names[node.outputs[0]] = self.use(source, device, node)
            self.places[node.outputs[0]] = place if self.places[source] is ANYWHERE else self.places[source]
            return
        array_kernel = self.on_arrays.get(node)
        arguments = self.arguments(node, device, array_kernel is not None)
        if array_kernel is not None:
            arguments += [self.literal(a) for a in array_attrs(op_def, node.attrs)]
            if array_kernel.wants_state:
                arguments.append(f"state={self.bind('s', self.binder.state(node))}")
            self.assign(node, f"{self.bind('k', array_kernel.function)}({', '.join(arguments)})", ARRAY)
            return
        if op_def.inline is not None:
            call = op_def.inline.format(*arguments)
        else:
            call = self.call(node, device, arguments)
        self.assign(node, call, place)
        if traits.reads_buffer and device.type == "cpu":  # the array is that of a buffer on the host
            self.reads[self.names[node.outputs[0]]] = arguments[0]

    def place(self, node: Node) -> tuple[Any, Any]:
        """The torch device to run on, and where the outputs are."""
        traits = node.op_def.traits
        device = self.binder.torch_device(node.device)
        if device.type == "cpu":
            return device, device
        host = self.binder.torch_device("")
        if traits.host:
            return host, host
        if traits.host_output:
            return device, HOST
        plain = [v for a, v in _plain_inputs(node) if not a.host]
        if (
            plain
            and all(self.places[v] in (HOST, ANYWHERE, NUMBER) for v in plain)
            and any(self.places[v] in (HOST, NUMBER) for v in plain)
        ):
            if all(v.dtype.base_dtype.is_integer or v.dtype.base_dtype.is_bool for v in node.outputs):
                return host, HOST  # integer arithmetic on shapes stays on the host, as TF1's int32 kernels do
        return device, device

    def arguments(self, node: Node, device: Any, as_arrays: bool) -> list[str]:
        found = []
        hosted = node.attrs.get("host_inputs")
        position = 0
        for arg, given in zip(
            node.op_def.signature.inputs, group_inputs(node.op_def, node.inputs, node.attrs), strict=True
        ):
            values = given if arg.is_list else [given]
            if arg.host:
                names = [self.use_host(v, node) for v in values]
            elif arg.ref or (
                node.op_def.traits.transfers and all(self.places[v] not in (ANYWHERE, ARRAY, NUMBER) for v in values)
            ):
                names = [self.names[v] for v in values]
            elif as_arrays:
                names = [self.use_array(v, node) for v in values]
            elif node.op_def.takes_arrays:
                names = [self.names[v] if self.places[v] is ARRAY else self.use(v, device, node) for v in values]
            elif hosted is not None:
                names = [
                    self.use_number(v) if position + i in hosted else self.use(v, device, node)
                    for i, v in enumerate(values)
                ]
            elif node.op_def.takes_numbers:
                names = [self.names[v] if self.places[v] is NUMBER else self.use(v, device, node) for v in values]
            else:
                names = [self.use(v, device, node) for v in values]
            found.append(f"[{', '.join(names)}]" if arg.is_list else names[0])
            position += len(values)
        return found

    def body(self, body: StepGraph, device: Any) -> str:
        """The name of a body's function; the body is planned by now."""
        program = generate_body(body, self.binder, device, self.recursions)
        self.functions.append(program)
        return self.bind("f", program.function)

    def recursive(self, body: StepGraph, device: Any, node: Node) -> str:
        """The same for a function that calls itself: while it is written, its name waits for the function."""
        found = self.recursions.get((body, device))
        outside = all(r.function is not None for r in self.recursions.values())
        if found is None:
            found = self.recursions[body, device] = _Recursive()
            program = generate_body(body, self.binder, device, self.recursions)
            self.functions.append(program)
            found.function = program.function
            for namespace, name in found.users:
                namespace[name] = program.function
        if found.function is not None:
            return self.bind("f", deep(found.function, _function_name(node)) if outside else found.function)
        name = self.bind("f", found)
        found.users.append((self.namespace, name))
        return name

    def call(self, node: Node, device: Any, arguments: list[str]) -> str:
        if isinstance(node.attrs.get("f"), StepGraph):  # a recursive call: no frame of Python more than it needs
            return f"{self.recursive(node.attrs['f'], device, node)}(*{arguments[0]}, *{arguments[1]})"
        kernel = self.binder.kernel(node, device.type)
        in_place = node.attrs.get("_in_place")
        function = kernel.function if in_place is None else node.op_def.in_place[in_place]
        if not node.op_def.built_in:
            function = with_autograd(function)
        if isinstance(node.attrs.get("body"), StepGraph):
            arguments = self.give(node, arguments)
        arguments = arguments + [
            self.body(a, device) if isinstance(a, StepGraph) else self.literal(a)
            for a in bind_attrs(node.op_def, node.attrs)
        ]
        wants = extras(kernel, device, None, node)
        if kernel.wants_state:
            wants["state"] = self.binder.state(node)
        arguments += [f"{key}={self.bind('x', value)}" for key, value in wants.items()]
        return f"{self.bind('k', function)}({', '.join(arguments)})"

    def give(self, node: Node, arguments: list[str]) -> list[str]:
        """A loop gets its variables in a list that it empties, so that what a gradient has taken from a record is freed."""
        box = self.fresh("b")
        at = 0 if "cond" in node.attrs else 1
        self.lines.append((f"{box} = {arguments[at]}", node))
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
                name = self.names[value] = self.fresh("v")
                self.places[value] = None if _is_elsewhere(value) else NUMBER if value.value_index in hosted else place
                if node.op_def.takes_numbers and value.dtype.base_dtype in _NUMBERS:
                    after.append(self._normal(value, name, place))
                self.owned.append(name)
                names.append(name)
            rest = rest[count:]
            targets.append(f"[{', '.join(names)}]" if out.is_list else names[0])
        if not targets:
            self.lines.append((call, node))
        else:
            self.lines.append((f"{', '.join(targets)} = {call}", node))
        self.lines.extend((line, node) for line in after)

    def _normal(self, value: Value, name: str, place: Any) -> str:
        """What may have come as a number or as a tensor is made the one that is expected of it."""
        if on_host(value.dtype, value.shape):
            self.places[value] = NUMBER
            return f"{name} = {self.bind('g', number)}({name})"
        kind = self.bind("y", value.dtype.base_dtype)
        return f"{name} = {self.bind('g', tensor_of)}({name}, {kind}, {self.bind('d', place)})"


_NUMBERS = (dtypes.int32, dtypes.int64, dtypes.bool)


def _is_elsewhere(value: Value) -> bool:
    return value.dtype._is_ref_dtype or value.dtype.name in _ELSEWHERE


def _plain_inputs(node: Node) -> list[tuple[Any, Value]]:
    found: list[tuple[Any, Value]] = []
    for arg, given in zip(
        node.op_def.signature.inputs, group_inputs(node.op_def, node.inputs, node.attrs), strict=True
    ):
        found.extend((arg, v) for v in (given if arg.is_list else [given]))
    return found


def generate(
    nodes: Sequence[Node], inputs: Sequence[Value], outputs: Sequence[Value], binder: Binder, title: str,
    places: dict[Value, Any] | None = None, result_places: Sequence[Any] | None = None,
    recursions: _Recursions | None = None, arrays: Mapping[Node, ArrayKernel] | None = None,
) -> Program:  # fmt: skip
    """``nodes`` in the order to run; ``inputs`` become the function's parameters, ``outputs`` its result, always a tuple.

    Results are brought to ``result_places`` (torch devices) if those are given.  Those of nodes in ``arrays``, which run on
    arrays, are arrays if no ``places`` are asked for.
    """
    writer = _Writer(binder, {} if recursions is None else recursions, arrays or {})
    host = binder.torch_device("")
    for i, value in enumerate(inputs):
        writer.names[value] = f"i{i}"
        known = places.get(value) if places else None
        writer.places[value] = None if _is_elsewhere(value) else (known or host)
    for node in nodes:
        writer.node(node)
    results = []
    for i, value in enumerate(outputs):
        if result_places is not None:
            wanted = result_places[i]
            results.append(writer.give_number(value) if wanted is NUMBER else writer.use(value, wanted, value.op))
        elif writer.places[value] is NUMBER or (writer.places[value] is ARRAY and places is not None):
            results.append(writer.use(value, host, value.op))
            writer.places[value] = host
        elif writer.places[value] is ANYWHERE:
            results.append(writer.bind("c", binder.constant(value.op, host)))
        else:
            results.append(writer.names[value])
    if places is not None:
        places.update((v, p) for v, p in writer.places.items() if p not in (ANYWHERE, ARRAY, None, NUMBER))
    outermost = recursions is None
    quiet = outermost and (bool(arrays) or any(f.on_arrays for f in writer.functions))
    if quiet:
        writer.namespace["quiet"] = np.errstate
    text, numbered = _assemble(writer, len(inputs), results, quiet)
    code = compile(text, f"<headrace {title}>", "exec")
    namespace = writer.namespace
    exec(code, namespace)
    long = bool(writer.functions) or sum(n.op_def.inline is None for n in numbered.values()) >= LONG
    held = frozenset(arrays or ()).union(*(f.on_arrays for f in writer.functions))
    return Program(
        namespace["strand"], text, numbered, writer.names, tuple(writer.functions), long, held, writer.arrays
    )


def generate_body(body: StepGraph, binder: Binder, device: Any, recursions: _Recursions) -> Program:
    """The function of a planned body: its feeds are the parameters, its fetches the results.

    What leaves the body never shares memory with a variable.  This is the place to compile hot bodies instead.
    """
    run_stage(Stage.BODY, body, Context())
    fed = {v.op for v in body.feeds}
    places = {v: NUMBER if h else device for v, h in zip(body.feeds, body.host_feeds, strict=True)}
    wanted = [NUMBER if h else device for h in body.host_fetches]
    nodes = [n for n in body.nodes if n not in fed]
    small = choose_arrays(nodes, body.fetches, binder)
    return generate(nodes, body.feeds, body.fetches, binder, "body", places, wanted, recursions, small)


def choose_arrays(nodes: Sequence[Node], escaping: Sequence[Value], binder: Binder) -> dict[Node, ArrayKernel]:
    """The nodes that are to run on arrays; ``escaping`` values are wanted as tensors."""
    if not binder.arrays:
        return {}
    return on_arrays(nodes, escaping, NATIVE, lambda n: binder.torch_device(n.device).type == "cpu")


def _assemble(writer: _Writer, inputs: int, results: list[str], quiet: bool) -> tuple[str, dict[int, Node]]:
    """The function's text, with ``del`` after the last line that mentions a value the strand owns.

    ``quiet``: numpy says nothing of overflow and division by zero meanwhile; TF1 does not.
    """
    import re

    owned = set(writer.owned)
    keep = set(results)
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    word = re.compile(r"\b[vt]\d+\b")
    for i, (line, _) in enumerate(writer.lines):
        for name in word.findall(line):
            if name in owned:
                first.setdefault(name, i)
                last[name] = i
    unused = {first[n] for n in writer.read_as_arrays if first[n] == last[n] and n not in keep}  # as tensors
    dying: dict[int, list[str]] = {}
    for name, i in last.items():
        if name not in keep:
            dying.setdefault(i, []).append(name)
    text = [f"def strand({', '.join(f'i{i}' for i in range(inputs))}):"]
    numbered: dict[int, Node] = {}
    margin = "    "
    if quiet:
        text.append('    with quiet(all="ignore"):')
        margin += "    "
    for i, (line, node) in enumerate(writer.lines):
        if i in unused:
            continue
        if i in dying:
            line += f"; del {', '.join(dying[i])}"
        text.append(margin + line)
        if node is not None:
            numbered[len(text)] = node
    text.append(f"{margin}return ({', '.join(results)}{',' if results else ''})")
    return "\n".join(text) + "\n", numbered
