"""TensorFlow's names and signatures: what is present, what is not and says so."""

import re

import pytest
from api import figures

from headrace.tensorflow.gap import ADVICE, gap


def test_every_missing_name_has_an_answer() -> None:
    unanswered = [name for name in figures.missing() if not gap(name)]
    assert not unanswered, f"neither present nor in the table of headrace/tensorflow/gap.py: {unanswered}"


def test_what_is_advised_is_there() -> None:
    names = {name for text in ADVICE.values() for name in re.findall(r"\btf(?:\.\w+)+", text)}
    assert len(names) > 40 and [name for name in sorted(names) if not figures.present(name)] == []


def test_no_gap_is_there_by_now() -> None:
    assert [name for name in ADVICE if not name.endswith("*") and figures.present(name)] == []


def test_signatures_are_tensorflows() -> None:
    listed = figures.listed(figures.DIFFERENCES)
    wrong = [f"{name}: {how}" for name, how in figures.differences().items() if name not in listed]
    assert not wrong, (
        "signatures that are not TensorFlow's, and not in differences.tsv with a reason:\n  " + "\n  ".join(wrong)
    )


def test_no_difference_is_listed_that_is_gone() -> None:
    assert [name for name in figures.listed(figures.DIFFERENCES) if name not in figures.differences()] == []


def test_nearly_all_names() -> None:
    shares = {at_least: count / total for at_least, count, total in figures.figures()}
    assert shares[5] >= 0.97
    assert shares[2] >= 0.95


def test_the_page_lists_what_is_missing() -> None:
    assert figures.PAGE.read_text(encoding="utf-8") == figures.page(), f"run `{figures.UPDATE}` and commit it"


def test_the_readme_shows_the_figures_as_they_are() -> None:
    assert figures.README.read_text(encoding="utf-8") == figures.readme(), (
        f"run `{figures.UPDATE}` and commit README.md"
    )


@pytest.mark.parametrize(
    ("signature", "parameters"),
    [
        ("()", []),
        ("(a, b=None)", [("a", None), ("b", "None")]),
        ("(a=(1, 2), b=<x.Zeros object instance>)", [("a", "(1, 2)"), ("b", "<x.Zeros object instance>")]),
        ("(a=,, b=)", [("a", ","), ("b", "")]),
    ],
)
def test_reading_signatures(signature: str, parameters: list[tuple[str, str | None]]) -> None:
    assert figures.expected_parameters(signature) == parameters
