"""PassWatch: what each pass did to a step, its bodies, partitions and strands: node counts and lines of the text form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from headrace.core.source import at
from headrace.passes.bodies import bodies_within
from headrace.passes.pipeline import PIPELINE, Pass, Stage
from headrace.passes.step_graph import StepGraph
from headrace.runtime.explain.explanation import ExplainedPass

_OUTERMOST = (Stage.GRAPH, Stage.PLACE)


def checked_names(passes: bool | str | Iterable[str]) -> frozenset[str]:
    """The names of the passes that are asked for: all of them, none, or some."""
    known = {one.name for one in PIPELINE}
    if isinstance(passes, bool):
        return frozenset(known if passes else ())
    names = frozenset([passes] if isinstance(passes, str) else passes)
    if unknown := sorted(names - known):
        raise ValueError(
            f"there is no pass called {', '.join(map(repr, unknown))}; passes may be True or some of {', '.join(sorted(known))} "
            f"{at()}"
        )
    return names


@dataclass(slots=True)
class _Run:
    """One run of a pass."""

    pass_: Pass
    before: list[str]
    after: list[str]
    graph: StepGraph
    outermost: bool


class PassWatch:
    """Watches one planning: ``before`` and ``after`` are the hooks of the pipeline."""

    def __init__(self, names: Collection[str]) -> None:
        """``names``: the passes to tell of."""
        self._names = names
        self._open: list[tuple[Pass, list[str]]] = []  # passes under way: instantiate runs others inside
        self._runs: list[_Run] = []
        self._titles: dict[StepGraph, str] = {}

    def before(self, one: Pass, graph: StepGraph) -> None:
        self._open.append((one, self._lines(one.name, graph)))

    def after(self, name: str, graph: StepGraph) -> None:
        one, before = self._open.pop()
        if name in self._names:
            outermost = not self._open and one.stage in _OUTERMOST
            self._runs.append(_Run(one, before, self._lines(name, graph), graph, outermost))

    def name(self, title: str, graph: StepGraph) -> None:
        """Says what a graph is, and so what its bodies are."""
        self._titles.setdefault(graph, title)
        for one in (graph, *bodies_within(graph)):
            for node in one.nodes:
                for attr, body in node.attrs.items():
                    if isinstance(body, StepGraph):
                        self._titles.setdefault(body, f"{attr} of {node.name}")

    def told(self) -> list[ExplainedPass]:
        """What was seen, in order."""
        return [
            ExplainedPass(
                run.pass_.name, run.pass_.stage.name, self._title(run), len(run.before), len(run.after),
                "\n".join(_diff(run.before, run.after)), _reordered(run.before, run.after),
            )
            for run in self._runs
        ]  # fmt: skip

    def _title(self, run: _Run) -> str:
        return self._titles.get(run.graph, "the step" if run.outermost else "a body")

    def _lines(self, name: str, graph: StepGraph) -> list[str]:
        return graph.to_text().splitlines()[: len(graph.nodes)] if name in self._names and graph.nodes else []


def _diff(before: list[str], after: list[str]) -> Iterator[str]:
    """The lines that went and came, each change of a node together, in the order of the nodes."""
    old, new = {_name(line): line for line in before}, {_name(line): line for line in after}
    for name, line in old.items():
        if name not in new:
            yield f"- {line}"
    for name, line in new.items():
        if name in old and old[name] != line:
            yield f"- {old[name]}"
        if old.get(name) != line:
            yield f"+ {line}"


def _reordered(before: list[str], after: list[str]) -> bool:
    old, new = list(map(_name, before)), list(map(_name, after))
    stay = set(old) & set(new)
    return [n for n in old if n in stay] != [n for n in new if n in stay]


def _name(line: str) -> str:
    return line.partition(" = ")[0]
