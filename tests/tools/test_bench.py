"""``headrace bench``: every case runs, and what is slow is said."""

import json

import pytest

from headrace.tools import bench
from headrace.tools.time_text import time_text

SHORT = [case for case in bench.CASES if not case.name.startswith(("LeNet", "LSTM"))]


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
def test_a_case_is_measured(case):
    result = bench.measure(case, 0.0)
    assert result.calls == bench.LEAST and result.seconds > 0
    assert result.ratio == result.seconds / case.usual


@pytest.mark.parametrize("case", [case for case in bench.CASES if case not in SHORT], ids=lambda case: case.name)
def test_a_large_case_is_measured(case, full_length):
    assert bench.measure(case, 0.0).seconds > 0


@pytest.mark.parametrize(
    ("usual", "said"), [(1e-9, "More than 3 times the small server: one."), (1e3, "Nothing unusual")]
)
def test_what_is_slow_is_said(monkeypatch, capsys, usual, said):
    monkeypatch.setattr(bench, "CASES", [bench.Case("one", lambda session, folder: lambda: None, usual)])
    assert bench.main(["--seconds", "0"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("On CPU:0") and said in out
    assert bench.main(["--seconds", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["slow"] == (["one"] if usual < 1 else []) and found["cases"][0]["calls"] == 3


@pytest.mark.parametrize(("seconds", "said"), [(2.0, "2 s"), (0.01234, "12.3 ms"), (5e-6, "5 us")])
def test_times_in_words(seconds, said):
    assert time_text(seconds) == said
