"""What the pages count and measure is so."""

import json
import re
from collections import Counter
from pathlib import Path

from docs.page import UPDATE

import headrace  # noqa: F401 - registers the ops
from benchmarks import _family_table, _step_table, picture
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


def test_the_table_of_speeds_is_the_measured_one() -> None:
    text = SPEED.read_text()
    before, _, rest = text.partition(START)
    shown, _, after = rest.partition(END)
    if UPDATE:
        SPEED.write_text(before + START + speed_table() + END + after)
    else:
        assert shown == speed_table(), "HEADRACE_UPDATE_DOCS=1 pytest tests/docs/test_figures.py writes the new results"


def test_the_table_of_op_families_is_the_measured_one() -> None:
    result = json.loads((ROOT / "benchmarks/results/op_families.json").read_text())
    table = _step_table.markdown(_family_table.rows(result)) + "\n"
    text = SPEED.read_text()
    before, _, rest = text.partition(FAMILIES)
    shown, _, after = rest.partition(END_OF_FAMILIES)
    if UPDATE:
        SPEED.write_text(before + FAMILIES + table + END_OF_FAMILIES + after)
    else:
        assert shown == table, "HEADRACE_UPDATE_DOCS=1 pytest tests/docs/test_figures.py writes the new results"


def test_the_tables_of_steps_are_the_measured_ones() -> None:
    for mark, table in (("gpu", _step_table.against_fastest), ("steps", _step_table.against_each)):
        start, end = f"<!-- {mark} -->\n", f"<!-- end {mark} -->"
        before, _, rest = SPEED.read_text().partition(start)
        shown, _, after = rest.partition(end)
        (name,) = re.findall(rf"benchmarks/results/({mark}-[\d-]+\.json)", before[-1500:])
        rows = table(json.loads((ROOT / "benchmarks/results" / name).read_text()))
        text = _step_table.markdown(rows) + "\n"
        if UPDATE:
            SPEED.write_text(before + start + text + end + after)
        else:
            assert shown == text, "HEADRACE_UPDATE_DOCS=1 pytest tests/docs/test_figures.py writes the new results"


def test_the_picture_shows_the_table() -> None:
    drawn = picture.svg(json.loads(picture.source().read_text()))
    if UPDATE:
        picture.PICTURE.write_text(drawn)
    else:
        assert picture.PICTURE.read_text() == drawn, "python -m benchmarks picture draws it anew"
