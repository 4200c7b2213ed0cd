"""What is noted of stages while somebody looks, and that nothing is otherwise."""

from resources.data.chains import drained

from headrace.resources.data.ahead import ParallelMap, Prefetch
from headrace.resources.data.chain import Repeat
from headrace.resources.data.function import Interleave, Map
from headrace.resources.data.shuffle import Shuffle
from headrace.resources.data.source import Range
from headrace.resources.data.stage import Run
from headrace.resources.data.watch import Watch


def run_of(stage):
    return Run(stage, lambda call: call())


def by_stage(run):
    return {row["stage"]: row for row in run.report()}


def test_nothing_is_noted_until_somebody_looks():
    run = run_of(Map(Range(range(5)), lambda x: (x,)))
    run.cursor.next()
    assert "next" not in vars(run.cursor)
    assert {row["elements"] for row in run.report()} == {0}
    run.look(Watch())
    run.cursor.next()
    run.look(None)
    assert "next" not in vars(run.cursor) and "next" not in vars(run.cursor.input)
    assert drained(run) == [(2,), (3,), (4,)]


def test_elements_of_each_stage_over_epochs():
    run = run_of(Repeat(Map(Range(range(4)), lambda x: (x,)), 3))
    run.look(Watch())
    assert len(drained(run)) == 12
    rows = by_stage(run)
    assert {name: row["elements"] for name, row in rows.items()} == {"Repeat": 12, "Map": 12, "Range": 12}
    assert rows["Repeat"]["waited_s"] >= rows["Map"]["waited_s"] >= rows["Range"]["waited_s"] > 0
    # The whole time is that of the stages themselves.
    assert abs(sum(row["computing_s"] for row in rows.values()) - rows["Repeat"]["waited_s"]) < 1e-6


def test_calls_on_other_threads_are_work_of_their_stage():
    run = run_of(ParallelMap(Range(range(6)), lambda x: (x,), (), 2))
    run.look(Watch())
    run.cursor.next()
    row = by_stage(run)["ParallelMap"]
    assert row["elements"] == 1 and row["computing_s"] > 0
    assert (row["held"], row["room"]) == (1, 2)


def test_buffers():
    run = run_of(Prefetch(Shuffle(Range(range(50)), 8, 1, 1), 3))
    run.cursor.next()
    rows = by_stage(run)
    assert (rows["Prefetch"]["held"], rows["Prefetch"]["room"]) == (3, 3)
    assert (rows["Shuffle"]["held"], rows["Shuffle"]["room"]) == (7, 8)
    assert "held" not in rows["Range"]


def test_datasets_that_functions_make_are_one_stage():
    run = run_of(Interleave(Range(range(5)), lambda x: (Map(Range(range(2)), lambda y: (y,)),), (), 2, 1))
    run.cursor.next()
    run.look(Watch())
    assert len(drained(run)) == 9
    assert by_stage(run)["Map"]["elements"] == 9


def test_errors_are_no_elements_and_spans_are_told():
    def fail(x):
        if x == 1:
            raise ValueError("one")
        return (x,)

    run = run_of(Map(Range(range(3)), fail))
    watch = Watch()
    spans = []
    watch.span = lambda title, began, ended: spans.append((title, ended >= began))
    run.look(watch)
    taken = []
    for _ in range(4):
        try:
            taken.append(run.cursor.next())
        except ValueError:
            taken.append("error")
    assert [t if t in (None, "error") else int(t[0]) for t in taken] == [0, "error", 2, None]
    assert by_stage(run)["Map"]["elements"] == 2 and spans == [("Range", True), ("Map", True)] * 4
