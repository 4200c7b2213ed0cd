"""What is said of stragglers, failures, links and numbers of tasks."""

from random import Random
from statistics import fmean

import pytest

from headrace.library.simulation.law import MOST, Slow, counts_of, link_of, rate_of, slow_of


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        ("none", Slow()), ("pareto:1.5", Slow("pareto", 1.5)), ("lognormal:0.1", Slow("lognormal", 0.1)),
        ("one:4", Slow("one", 4.0)),
    ],
)  # fmt: skip
def test_laws(text: str, slow: Slow) -> None:
    assert slow_of(text) == slow
    assert str(slow) == text


@pytest.mark.parametrize("text", ["", "pareto", "pareto:x", "pareto:-1", "often:3", "none:1", "one:inf", "one:nan"])
def test_other_laws_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="pareto:SHAPE"):
        slow_of(text)


def test_draws() -> None:
    source = Random(0)
    pareto = [Slow("pareto", 1.5).draw(source, 0, 2) for _ in range(4000)]
    assert min(pareto) >= 1.0 and max(pareto) == MOST
    assert fmean(pareto) == pytest.approx(2.6, rel=0.1)
    assert [Slow("one", 4.0).draw(source, i, 3) for i in range(3)] == [1.0, 1.0, 4.0]
    assert Slow("one", 4.0).draw(source, 0, 1) == 1.0
    assert Slow().draw(source, 0, 1) == 1.0


@pytest.mark.parametrize(
    ("text", "rate"), [("0.01/h", 0.01 / 3600), ("2/d", 2 / 86400), ("0/s", 0.0), ("1e-3/min", 1e-3 / 60)]
)
def test_rates(text: str, rate: float) -> None:
    assert rate_of(text) == pytest.approx(rate)


@pytest.mark.parametrize("text", ["", "1", "1/y", "-1/h", "x/h", "nan/h", "1e9999/h"])
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as 0\.01/h"):
        rate_of(text)


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("10Gbit,0.1ms", (1e-4, 1.25e9)), ("1Gbit, 50us", (5e-5, 1.25e8)), ("100Mbit/s,1ms", (1e-3, 1.25e7)),
        ("25Gbit", (1e-4, 3.125e9)),
    ],
)  # fmt: skip
def test_links(text: str, link: tuple[float, float]) -> None:
    assert link_of(text) == pytest.approx(link)


@pytest.mark.parametrize("text", ["", "fast", "10GB", "0Gbit", "1.2.3Gbit", "10Gbit,soon"])
def test_other_links_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 10Gbit"):
        link_of(text)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("8", [8]), ("1,5,3", [1, 5, 3]), ("1:1", [1]), ("1:8", [1, 2, 4, 8]), ("3:10", [3, 6, 10]),
        ("1:1000", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]),
    ],
)  # fmt: skip
def test_counts(text: str, counts: list[int]) -> None:
    assert counts_of(text) == counts


@pytest.mark.parametrize("text", ["", "0", "-1", "0:4", "4:2", "1:2:3", "a", "1,0"])
def test_other_counts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="or 1:64 for"):
        counts_of(text)
