"""What reports of the profiler are made of: lines with the numbers of a node and of everything below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Column(NamedTuple):
    """A number that can be selected: its field, its title, and what its own text ends with."""

    field: str
    title: str
    unit: str = ""


COLUMNS = {
    "bytes": Column("requested_bytes", "requested bytes", "B"),
    "peak_bytes": Column("peak_bytes", "peak bytes", "B"),
    "residual_bytes": Column("residual_bytes", "residual bytes", "B"),
    "output_bytes": Column("output_bytes", "output bytes", "B"),
    "micros": Column("exec_micros", "total execution time", "us"),
    "accelerator_micros": Column("accelerator_exec_micros", "accelerator execution time", "us"),
    "cpu_micros": Column("cpu_exec_micros", "cpu execution time", "us"),
    "params": Column("parameters", "# parameters", " params"),
    "float_ops": Column("float_ops", "# float_ops", " flops"),
    "occurrence": Column("definition_count", "op count", " ops"),
}
MEASURED = frozenset(name for name, column in COLUMNS.items() if column.unit in ("B", "us"))
_FIELDS = (*(column.field for column in COLUMNS.values()), "run_count")


@dataclass
class GraphNodeProto:
    """One line of a report: what a node has itself, and with everything below it.

    Args:
      name: The name of the node or scope.
      float_ops: Its own float operations.
      parameters: Its own parameters.
      definition_count: How many nodes it stands for.
      total_float_ops: Float operations with everything below.
      total_parameters: Parameters with everything below.
      total_definition_count: Nodes with everything below.
      children: The lines below.
      run_count: How often it ran in the traced steps.
      exec_micros: The microseconds it took in a step.
      accelerator_exec_micros: Those on accelerators.
      cpu_exec_micros: Those on CPUs.
      requested_bytes: The memory it took in a step.
      peak_bytes: The most that it had at a time.
      residual_bytes: What it had when it ended.
      output_bytes: What its outputs take.
      total_run_count: The count with everything below, and so on for the others.
      total_exec_micros: With everything below.
      total_accelerator_exec_micros: With everything below.
      total_cpu_exec_micros: With everything below.
      total_requested_bytes: With everything below.
      total_peak_bytes: With everything below.
      total_residual_bytes: With everything below.
      total_output_bytes: With everything below.
      devices: The devices it ran on.

    >>> tf.profiler.GraphNodeProto('layer', parameters=10).parameters
    10
    """

    name: str
    float_ops: int = 0
    parameters: int = 0
    definition_count: int = 0
    total_float_ops: int = 0
    total_parameters: int = 0
    total_definition_count: int = 0
    children: list[Any] = field(default_factory=list)
    run_count: int = 0
    exec_micros: int = 0
    accelerator_exec_micros: int = 0
    cpu_exec_micros: int = 0
    requested_bytes: int = 0
    peak_bytes: int = 0
    residual_bytes: int = 0
    output_bytes: int = 0
    total_run_count: int = 0
    total_exec_micros: int = 0
    total_accelerator_exec_micros: int = 0
    total_cpu_exec_micros: int = 0
    total_requested_bytes: int = 0
    total_peak_bytes: int = 0
    total_residual_bytes: int = 0
    total_output_bytes: int = 0
    devices: list[str] = field(default_factory=list)

    def total(self, below: Sequence[GraphNodeProto]) -> None:
        """Sets the totals to the node's own numbers and the totals of those below it."""
        for name in _FIELDS:
            total = getattr(self, name) + sum(getattr(child, f"total_{name}") for child in below)
            setattr(self, f"total_{name}", total)

    def add(self, other: GraphNodeProto) -> None:
        """Adds the own numbers of another line to one's own."""
        for name in _FIELDS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.devices += [device for device in other.devices if device not in self.devices]

    def forget(self) -> None:
        """Sets the own numbers to 0, but for what it stands for."""
        for name in _FIELDS:
            if name != "definition_count":
                setattr(self, name, 0)


class MultiGraphNodeProto(GraphNodeProto):
    """One line of a report by types, each with the next one below it, or by lines of the program.

    Args:
      name: The type of op, or the line.
      float_ops: Its own float operations.
      parameters: Its own parameters.
      definition_count: How many nodes it stands for.
      total_float_ops: Float operations with everything below.
      total_parameters: Parameters with everything below.
      total_definition_count: Nodes with everything below.
      children: The lines below.
      run_count: How often it ran in the traced steps.
      exec_micros: The microseconds it took in a step.
      accelerator_exec_micros: Those on accelerators.
      cpu_exec_micros: Those on CPUs.
      requested_bytes: The memory it took in a step.
      peak_bytes: The most that it had at a time.
      residual_bytes: What it had when it ended.
      output_bytes: What its outputs take.
      total_run_count: The count with everything below, and so on for the others.
      total_exec_micros: With everything below.
      total_accelerator_exec_micros: With everything below.
      total_cpu_exec_micros: With everything below.
      total_requested_bytes: With everything below.
      total_peak_bytes: With everything below.
      total_residual_bytes: With everything below.
      total_output_bytes: With everything below.
      devices: The devices it ran on.

    >>> tf.profiler.MultiGraphNodeProto('MatMul', float_ops=600).float_ops
    600
    """


@dataclass
class Entry:
    """A node of the graph, or a scope, or a type."""

    line: GraphNodeProto
    op_type: str = ""
    types: set[str] = field(default_factory=set)
    shape: str = ""
    accounted: bool = False
    below: dict[str, Entry] = field(default_factory=dict)
