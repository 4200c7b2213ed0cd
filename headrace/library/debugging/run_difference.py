"""Compares one step in two sessions op by op: finds the first op whose results differ."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.client.observe import Observed, described
from headrace.graph.operation import Operation, Tensor
from headrace.library.debugging.graph_difference import largest_difference


@dataclass(frozen=True)
class RunDifference:
    """A tensor that differs.  ``time``: in which of its computations, counted from 0.  ``by``: the largest difference.

    ``by`` is None where shapes or dtypes differ, or where one run computed the tensor more often.
    """

    name: str
    op_type: str
    line: str
    time: int
    by: float | None
    first: Any
    second: Any

    def __str__(self) -> str:
        far = "differs" if self.by is None else f"differs by {self.by:.6g}"
        often = f", the {self.time + 1}. time" if self.time else ""
        first, second = ("not computed" if value is None else described(value) for value in (self.first, self.second))
        return f"{self.op_type} {self.name} {far}{often} (made at {self.line})\n  first:  {first}\n  second: {second}"


@dataclass(frozen=True)
class RunComparison:
    """What `compare_runs` gives.  Truth: whether something differs."""

    differences: list[RunDifference]
    compared: int
    only_first: list[str] = field(default_factory=list)
    only_second: list[str] = field(default_factory=list)

    @property
    def first(self) -> RunDifference | None:
        """The difference where it begins: nothing that was computed before differs."""
        return self.differences[0] if self.differences else None

    def __bool__(self) -> bool:
        return bool(self.differences or self.only_first or self.only_second)

    def __str__(self) -> str:
        lines = [f"{self.compared} tensors compared, {len(self.differences)} differ"]
        lines += [f"first: {self.first}"] if self.first is not None else []
        for where, names in (("first", self.only_first), ("second", self.only_second)):
            lines += [f"only in the {where} run: {', '.join(names[:10])}"] if names else []
        return "\n".join(lines)


def compare_runs(
    first: Any, second: Any, fetches: Any, feed_dict: Any = None, rtol: float = 1e-5, atol: float = 1e-6,
    tensors: Any = ".*",
) -> RunComparison:  # fmt: skip
    """Runs a step in two sessions, and says where their results begin to differ.

    The sessions may have other devices or settings, or other graphs: tensors are compared by name.  Their variables should have
    the same values.  Both run the step to its end, without simplifications; in loops each iteration is compared.

    Args:
      first: a session.
      second: another one.
      fetches: what to run: tensors, operations or names of the first session's graph.
      feed_dict: what is fed, to both.
      rtol: how much a number may differ, as a part of the second one's.
      atol: how much it may differ beside that.
      tensors: which tensors to compare, as in `Session.observe`.

    Returns:
      A `RunComparison`: ``first`` is the difference where it begins, with the op and its line; ``differences`` has all.

    >>> x = tf.placeholder(tf.float32, [2], name='x')
    >>> w = tf.get_variable('w', initializer=[1.0, 2.0])
    >>> y = tf.reduce_sum(tf.multiply(x, w, name='scaled'))
    >>> with tf.Session() as a, tf.Session() as b:
    ...     a.run(w.initializer)
    ...     b.run(w.assign([1.0, 2.5]).op)
    ...     difference = tf.debugging.compare_runs(a, b, y, {x: [1.0, 1.0]})
    >>> print(difference.first.name, difference.first.by)
    w/read:0 0.5
    """
    one = first.observe(fetches, feed_dict, tensors).tensors
    same = second.graph is first.graph
    other = second.observe(
        fetches if same else _named(fetches),
        feed_dict if same or not feed_dict else {_named(key): value for key, value in feed_dict.items()},
        tensors if same else _named(tensors),
    ).tensors
    return _compared(one, other, rtol, atol)


def _compared(first: list[Observed], second: list[Observed], rtol: float, atol: float) -> RunComparison:
    theirs: dict[str, list[Observed]] = {}
    for one in second:
        theirs.setdefault(one.name, []).append(one)
    times: dict[str, int] = {}
    differences = []
    for one in first:
        time = times[one.name] = times.get(one.name, -1) + 1
        others = theirs.get(one.name)
        if others is None:
            continue
        other = others[time].value if time < len(others) else None
        by = None if other is None or not _alike(one.value, other) else largest_difference(one.value, other, rtol, atol)
        if other is None or by is not None or not _alike(one.value, other):
            differences.append(RunDifference(one.name, one.op_type, one.line, time, by, one.value, other))
    for name, others in theirs.items():
        if name in times and len(others) > times[name] + 1:
            extra = others[times[name] + 1]
            differences.append(RunDifference(name, extra.op_type, extra.line, times[name] + 1, None, None, extra.value))
    only_first = [name for name in times if name not in theirs]
    return RunComparison(differences, len(times) - len(only_first), only_first, [n for n in theirs if n not in times])


def _alike(first: Any, second: Any) -> bool:
    return first.shape == second.shape and first.dtype == second.dtype


def _named(what: Any) -> Any:
    """Tensors and operations by their names, for another graph."""
    if isinstance(what, (Tensor, Operation)):
        return what.name
    if isinstance(what, (list, tuple)):
        return [_named(one) for one in what]
    if isinstance(what, dict):
        return {key: _named(one) for key, one in what.items()}
    return what if isinstance(what, str) else _named(what._as_graph_element())
