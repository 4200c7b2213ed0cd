"""What the pages count and measure is so."""

import json
import re
from collections import Counter
from pathlib import Path

from docs.page import UPDATE

import headrace  # noqa: F401 - registers the ops
from benchmarks import _family_table, _step_table, picture, programs
from headrace.core.registry import REGISTRY

ROOT = Path(__file__).parent.parent.parent
FEATURES, SPEED = ROOT / "docs/features.md", ROOT / "docs/speed.md"
START, END = "<!-- session_overhead -->\n", "<!-- end -->"
FAMILIES, END_OF_FAMILIES = "<!-- op_families -->\n", "<!-- end of op_families -->"


def test_there_are_at_least_as_many_ops_as_it_says() -> None:
    section = FEATURES.read_text().partition("## Ops")[2]
    found = Counter(Path(str(d.location).rpartition(":")[0]).stem for d in REGISTRY if not d.name.startswith("_"))
    rows = re.findall(r"^\| .*?: (.*?) \| (\d+) \|$", section, re.MULTILINE)
    assert len(rows) > 10
    for families, count in rows:
        assert sum(found[f] for f in re.findall(r"`(\w+)`", families)) >= int(count), families


def speed_table() -> str:
    results = json.loads((ROOT / "benchmarks/results/session_overhead.json").read_text())
    lines = ["| case | Headrace / TensorFlow |", "| --- | ---: |"]
    lines += [f"| {name} | {case['ratio']:.2g} |" for name, case in results["cases"].items()]
    return "\n".join(lines) + "\n"


def check(start: str, end: str, table: str) -> None:
    """The table stands between the two marks."""
    before, _, rest = SPEED.read_text().partition(start)
    shown, _, after = rest.partition(end)
    if UPDATE:
        SPEED.write_text(before + start + table + end + after)
    else:
        assert shown == table, "HEADRACE_UPDATE_DOCS=1 pytest tests/docs/test_figures.py writes the new results"


def test_the_table_of_speeds_is_the_measured_one() -> None:
    check(START, END, speed_table())


def test_the_table_of_programs_is_the_measured_one() -> None:
    result = json.loads((ROOT / "benchmarks/results/programs.json").read_text())
    rows = programs.rows(result["programs"], ["headrace", "tensorflow"])
    lines = ["| program | Headrace | TensorFlow | ratio |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    check("<!-- programs -->\n", "<!-- end of programs -->", "\n".join(lines) + "\n")


def test_the_table_of_op_families_is_the_measured_one() -> None:
    result = json.loads((ROOT / "benchmarks/results/op_families.json").read_text())
    check(FAMILIES, END_OF_FAMILIES, _step_table.markdown(_family_table.rows(result)) + "\n")


def test_the_tables_of_steps_are_the_measured_ones() -> None:
    for mark, table in (("gpu", _step_table.against_fastest), ("steps", _step_table.against_each)):
        start, end = f"<!-- {mark} -->\n", f"<!-- end {mark} -->"
        before = SPEED.read_text().partition(start)[0]
        (name,) = re.findall(rf"benchmarks/results/({mark}-[\d-]+\.json)", before[-1500:])
        rows = table(json.loads((ROOT / "benchmarks/results" / name).read_text()))
        check(start, end, _step_table.markdown(rows) + "\n")


def test_the_picture_shows_the_table() -> None:
    drawn = picture.svg(json.loads(picture.source().read_text()))
    if UPDATE:
        picture.PICTURE.write_text(drawn)
    else:
        assert picture.PICTURE.read_text() == drawn, "python -m benchmarks picture draws it again"
