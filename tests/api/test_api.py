"""TensorFlow's names and signatures: what is present, what is not and says so."""

import pytest
from api import figures


def _listed(names: list[str]) -> str:
    return "\n  ".join(["", *names, f"After a look at each, run `{figures.UPDATE}` and commit what it rewrites."])


def test_no_name_is_missing_without_being_listed() -> None:
    listed = figures.listed(figures.MISSING)
    unlisted = [symbol.name for symbol in figures.missing() if symbol.name not in listed]
    assert not unlisted, (
        f"names used by two or more repositories that are neither present nor listed:{_listed(unlisted)}"
    )


def test_no_name_is_listed_as_missing_that_is_there() -> None:
    stale = [name for name in figures.listed(figures.MISSING) if figures.present(name)]
    assert not stale, f"present by now, but listed as missing in {figures.MISSING.name}:{_listed(stale)}"


def test_every_missing_name_has_a_reason() -> None:
    assert all(figures.listed(figures.MISSING).values())


def test_signatures_are_tensorflows() -> None:
    listed = figures.listed(figures.DIFFERENCES)
    wrong = [f"{name}: {how}" for name, how in figures.differences().items() if name not in listed]
    assert not wrong, (
        "signatures that are not TensorFlow's, and not in differences.tsv with a reason:\n  " + "\n  ".join(wrong)
    )


def test_no_difference_is_listed_that_is_gone() -> None:
    assert [name for name in figures.listed(figures.DIFFERENCES) if name not in figures.differences()] == []


def test_nearly_all_names_of_the_parts_there_are() -> None:
    shares = figures.shares_so_far()
    assert shares[5] >= 0.97
    assert shares[2] >= 0.95


def test_the_page_claims_no_more_than_there_is() -> None:
    page = figures.PAGE.read_text()
    for at_least, count, total in figures.figures():
        who = f"{at_least} repositories" if at_least > 1 else "1 repository"
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {who} |")]
        claimed = int(line.split("|")[2])
        assert claimed <= count, (
            f"docs/coverage.md claims {claimed} of {total}; there are {count}: run `{figures.UPDATE}`"
        )


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
