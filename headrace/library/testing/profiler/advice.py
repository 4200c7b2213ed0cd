"""What stands out in traced steps: the checkers of ``tf.profiler.advise``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from headrace.core import errors
from headrace.core.device import type_of
from headrace.core.source import at
from headrace.graph.graph import Graph
from headrace.library.testing.profiler.node_proto import COLUMNS, GraphNodeProto
from headrace.library.testing.profiler.option import ProfileOptionBuilder
from headrace.library.testing.profiler.profile import profile_steps
from headrace.library.testing.profiler.report import quantity
from headrace.library.testing.profiler.usage import usage_of

_IDLE = 0.5  # of a step: more is worth a report
_LINES = 3


@dataclass
class CheckerProto:
    """What one checker has found.

    Args:
      reports: A list of sentences.

    Example: ``tf.profiler.AdviceProto.Checker(reports=["all is well"])``
    """

    reports: list[str] = field(default_factory=list)


@dataclass
class AdviceProto:
    """What all checkers have found.

    Args:
      checkers: A dictionary from the name of a checker to its ``reports``.

    >>> tf.profiler.AdviceProto().checkers
    {}
    """

    Checker: ClassVar[type[CheckerProto]] = CheckerProto

    checkers: dict[str, CheckerProto] = field(default_factory=dict)


def _operations(graph: Graph, steps: Mapping[int, Any]) -> list[str]:
    types = {node.type for node in graph.get_operations()}
    normalizes = any("BatchNorm" in node.name for node in graph.get_operations())
    if normalizes and not any(op.startswith("FusedBatchNorm") for op in types):
        return ["Maybe use faster FusedBatchNorm instead of BatchNorm"]
    return []


def _utilization(graph: Graph, steps: Mapping[int, Any]) -> list[str]:
    """Of each accelerator, the part of the steps in which it computes."""
    busy: dict[str, int] = {}
    whole = 0
    for meta in steps.values():
        spans = [span for usage in usage_of(meta, "advise").values() for span in usage.spans]
        whole += max(began + micros for _, began, micros in spans) - min(began for _, began, _ in spans)
        for device, _, micros in spans:
            if type_of(device) != "CPU":
                busy[device] = busy.get(device, 0) + micros
    parts = {device: micros / max(whole, 1) for device, micros in busy.items()}
    return [f"device: {device} utilization: {part:.2f}" for device, part in parts.items() if part < _IDLE]


def _costliest(graph: Graph, steps: Mapping[int, Any]) -> list[str]:
    options = ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory(min_bytes=0)).with_empty_output().build()
    view = partial(profile_steps, "advise", graph, steps, None)
    line = types = view("op", options)
    reports = []
    for number in range(1, _LINES + 1):
        if not line.children:
            break
        line = line.children[0]
        part = 100 * line.exec_micros / max(types.total_exec_micros, 1)
        reports.append(f"top {number} operation type: {line.name}, {_times(line)} ({part:.2f}%)")
    scopes = view("scope", {**options, "account_displayed_op_only": False}).children[:_LINES]
    lines = view("code", options).children[:_LINES]
    names = [f"top {i} graph node: {child.name}, {_times(child, 'total_')}" for i, child in enumerate(scopes, 1)]
    of_lines = [f"{child.name}, {_times(child, 'total_')}" for child in lines]
    return ["\n".join(reports) for reports in (reports, names, of_lines) if reports]


def _times(line: GraphNodeProto, which: str = "") -> str:
    column = COLUMNS["micros"]
    numbers = [getattr(line, f"{which}{name}exec_micros") for name in ("cpu_", "accelerator_", "")]
    cpu, accelerator, total = (quantity(number, column) for number in numbers)
    return f"cpu: {cpu}, accelerator: {accelerator}, total: {total}"


CHECKERS: dict[str, Callable[[Graph, Mapping[int, Any]], list[str]] | None] = {
    "ExpensiveOperationChecker": _costliest,
    "AcceleratorUtilizationChecker": _utilization,
    "JobChecker": None,  # TensorFlow knows the name, and has no such checker either
    "OperationChecker": _operations,
}


def advice(caller: str, graph: Graph, steps: Mapping[int, Any], options: Mapping[str, Any]) -> AdviceProto:
    """What the chosen checkers find."""
    if not isinstance(options, Mapping) or (unknown := [name for name in options if name not in CHECKERS]):
        received = options if not isinstance(options, Mapping) else unknown
        raise ValueError(
            f"{caller}: options must be a dictionary with names of checkers for keys, of {', '.join(CHECKERS)}; got {received!r} "
            f"{at()}"
        )
    found = AdviceProto()
    for name in options:
        check = CHECKERS[name]
        if check is None:
            continue
        if check is not _operations and not steps:
            raise errors.InvalidArgumentError(
                None, None, f"{caller}: {name} needs a traced step, and none was given: pass the tf.RunMetadata of a run with "
                f"tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE) {at()}",
            )  # fmt: skip
        found.checkers[name] = CheckerProto(check(graph, steps))
    return found


def print_advice(found: AdviceProto) -> None:
    """Prints what was found, as TensorFlow does."""
    for name, checker in found.checkers.items():
        print("\n".join([f"\n{name}:", *checker.reports]))
