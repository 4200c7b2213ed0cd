"""The values of a strand while its code is written: under which name each is held, in which form, and how to get another form.

A value is held in one place: the place is

    a torch device   a tensor in its memory
    a HookedPlace    a tensor in the memory of a device with hooks (runtime/host/hooks.py), which is nobody else's
    HOST             a tensor of small integers in the host's memory, whatever the device of its node
    NUMBER           a Python number: an integer or bool scalar
    LIST             a Python list of numbers: an integer vector that only the host reads
    ARRAY            a numpy array, or a scalar of numpy's
    EITHER           a tensor in the host's memory or an array: what enters and leaves bodies, in the form that it was made in
    ANYWHERE         a constant: bound in the form in which it is used
    None             not in the memory of a device: strings, stashes, handles of variables

`put` says where a value is.  `tensor`, `array`, `host` and `number` give the expression under which generated code has the value
in that form.  Where that takes a conversion, the line for it is written once; later users share its result.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from headrace.passes.instantiate import on_host
from headrace.passes.step_graph import Node, Value
from headrace.resources.calling.copies import to_device
from headrace.resources.calling.invoke import host_value
from headrace.resources.calling.value import array_held, as_tensor, is_null, refuse_meta, tensor_held, zeros_for
from headrace.runtime.code.number import number, tensor_of
from headrace.runtime.code.script import Script
from headrace.runtime.host.hooks import HookedPlace

ANYWHERE, HOST, NUMBER, LIST, ARRAY, EITHER = "anywhere", "host", "number", "list", "array", "either"
_ELSEWHERE = ("string", "variant", "resource")  # dtypes whose values are not in the memory of a device


class Source(Protocol):
    """Where constants and devices come from."""

    def constant(self, node: Node, torch_device: Any) -> Any: ...
    def torch_device(self, name: str) -> Any: ...


def is_elsewhere(value: Value) -> bool:
    """Whether the value is not in the memory of a device."""
    return value.dtype._is_ref_dtype or value.dtype.name in _ELSEWHERE


class Holder:
    """Names and places by value.  Every value is put before it is used."""

    def __init__(self, script: Script, source: Source) -> None:
        self.names: dict[Value, str] = {}
        self.places: dict[Value, Any] = {}
        self.read_as_arrays: set[str] = set()  # names of reads that are used as arrays too
        self._script = script
        self._source = source
        self.converted: dict[tuple[str, Any], str] = {}  # by name and place
        self._variables: dict[str, str] = {}  # by the name of a value read from a variable: the variable

    def put(self, value: Value, name: str, place: Any) -> None:
        """The value is held under this name; where there is no memory of a device, the place is None anyway."""
        self.names[value] = name
        self.places[value] = None if is_elsewhere(value) else place

    def put_constant(self, value: Value) -> None:
        self.places[value] = ANYWHERE

    def put_read(self, value: Value, variable: str) -> None:
        """Says that the value, which is put already, is read from a variable on the host, which has it as an array too."""
        self._variables[self.names[value]] = variable

    def pass_on(self, source: Value, value: Value, device: Any, place: Any, node: Node) -> None:
        """The value is ``source`` under another name; a constant becomes a tensor on the device."""
        if self.places[source] is ANYWHERE:
            self.names[value], self.places[value] = self.tensor(source, device, node), place
        else:
            self.names[value], self.places[value] = self.names[source], self.places[source]

    def is_number(self, value: Value) -> bool:
        return self.places[value] is NUMBER

    def is_on_host(self, value: Value) -> bool:
        """Whether the value is an integer or bool scalar that the host has without waiting for a device."""
        return on_host(value.dtype, value.shape) and getattr(self.places[value], "type", "cpu") == "cpu"

    def is_meta(self, value: Value) -> bool:
        """Whether the value is a meta tensor, which has no numbers."""
        return getattr(self.places[value], "type", "") == "meta"

    def has_border(self, value: Value) -> bool:
        """Whether the value is where only conversions get at its numbers."""
        return self.is_meta(value) or isinstance(self.places[value], HookedPlace)

    # ---- forms

    def tensor(self, value: Value, device: Any, node: Node) -> str:
        """The value as a tensor on the device."""
        place = self.places[value]
        if place is ANYWHERE:
            return self._script.bind("c", self._source.constant(value.op, device))
        name = self.names[value]
        if place is None or place == device or (place is HOST and device.type == "cpu") or is_elsewhere(value):
            return name
        blamed = value.op if isinstance(place, HookedPlace) else node
        return self._convert(name, device, lambda: self._to_tensor(value, name, place, device), blamed)

    def _to_tensor(self, value: Value, name: str, place: Any, device: Any) -> str:
        bind = self._script.bind
        if isinstance(device, HookedPlace):
            if isinstance(place, HookedPlace) and place.type == device.type:
                return f"{bind('g', device.from_other)}({name}, {bind('d', place)})"
            return f"{bind('g', device.from_host)}({self._on_host(value, name, place)})"
        if isinstance(place, HookedPlace):
            moved = "" if device.type == "cpu" else f".to({bind('d', device)})"
            return f"{bind('g', place.to_host)}({name}){moved}"
        if place is ARRAY:
            moved = "" if device.type == "cpu" else f".to({bind('d', device)})"
            return f"{bind('g', as_tensor)}({name}){moved}"
        if place is EITHER:
            moved = "" if device.type == "cpu" else f".to({bind('d', device)})"
            return f"{bind('g', tensor_held)}({name}){moved}"
        if place is NUMBER:
            return f"{bind('g', tensor_of)}({name}, {bind('y', value.dtype.base_dtype)}, {bind('d', device)})"
        if self.is_meta(value) and device.type != "meta":
            return f"{bind('g', zeros_for if is_null(place) else refuse_meta)}({name}, {bind('d', device)})"
        # A transfer to the host must be awaited: kernels there read the bytes immediately.
        if device.type == "cpu":
            return f"{name}.to({bind('d', device)})"
        return f"{bind('g', to_device)}({name}, {bind('d', device)})"

    def _on_host(self, value: Value, name: str, place: Any) -> str:
        """An expression for the value in the host's memory."""
        return name if place is HOST else self._to_tensor(value, name, place, self._source.torch_device(""))

    def array(self, value: Value, node: Node) -> str:
        """The value as a numpy array."""
        place = self.places[value]
        if place is ANYWHERE:
            return self._script.bind("c", np.asarray(value.op.attrs["value"]))
        name = self.names[value]
        if place is ARRAY:
            return name
        if name in self._variables:
            self.read_as_arrays.add(name)
            return f"{self._variables[name]}.array"
        if place is EITHER:
            return self._convert(name, ARRAY, lambda: f"{self._script.bind('g', array_held)}({name})", node)
        host = self._source.torch_device("")
        return self._convert(name, ARRAY, lambda: f"{self.tensor(value, host, node)}.numpy()", node)

    def either(self, value: Value, device: Any, node: Node) -> str:
        """The value as a tensor on the device or as an array, whatever it is held as."""
        return self.names[value] if self.places[value] in (ARRAY, EITHER) else self.tensor(value, device, node)

    def used_as_array(self, name: str) -> bool:
        """Whether what has this name was turned into an array, and into nothing else."""
        return {place for variable, place in self.converted if variable == name} == {ARRAY}

    def host(self, value: Value) -> str:
        """The value as a Python number or a list of them; strings as they are.  A constant's value is known on every device."""
        if value.op.op_def.traits.constant:
            return self._script.literal(host_value(np.asarray(value.op.attrs["value"])))
        name = self.names[value]
        if self.places[value] is LIST:
            return f"[*{name}]"
        if self.places[value] is NUMBER or value.dtype.base_dtype.name == "string":
            return name
        return f"{self._with_values(value)}.tolist()"

    def number(self, value: Value) -> str:
        """An integer or bool scalar as a Python number."""
        if self.places[value] is ANYWHERE:
            return self._script.literal(host_value(np.asarray(value.op.attrs["value"])))
        if self.places[value] is NUMBER:
            return self.names[value]
        return f"{self._script.bind('g', number)}({self._with_values(value)})"

    def _with_values(self, value: Value) -> str:
        """The value where its numbers can be asked for: not on a device of torch type meta, or with hooks."""
        if self.has_border(value):
            return self.tensor(value, self._source.torch_device(""), value.op)
        return self.names[value]

    def returned_number(self, value: Value) -> str:
        """A number under a name of its own, to be returned."""
        if self.places[value] in (ANYWHERE, NUMBER):
            return self.number(value)
        name = self._script.fresh("v")
        self._script.write(f"{name} = {self.number(value)}", value.op)
        return name

    def _convert(self, name: str, place: Any, expression: Any, node: Node) -> str:
        copy = self.converted.get((name, place))
        if copy is None:
            line = expression()
            copy = self.converted[name, place] = self._script.local("t")
            self._script.write(f"{copy} = {line}", node)
        return copy
