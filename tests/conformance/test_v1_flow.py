"""Two hundred programs that real TensorFlow exported with its old control flow, imported and run here."""

import pytest
from conformance import v1_flow
from golden.v1_flow_cases import FOUND, SEEDS

CASES = v1_flow.load()


def test_all_are_kept() -> None:
    assert list(CASES) == list(SEEDS)
    assert len(CASES) == 200 + len(FOUND)


@pytest.mark.parametrize("first", range(0, 200, 10))
def test_results_are_tensorflows(first: int) -> None:
    some = {seed: CASES[seed] for seed in range(first, first + 10)}
    assert v1_flow.compared(some, ["interpreted", "primitives"]) == []


def test_those_that_differed_once() -> None:
    assert v1_flow.compared({seed: CASES[seed] for seed in FOUND}, ["interpreted", "primitives", "lowered"]) == []


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_lowered(first: int) -> None:
    assert v1_flow.compared({seed: CASES[seed] for seed in range(first, first + 50, 5)}, ["lowered"]) == []


def test_compiled() -> None:
    """Some small ones: torch's compiler takes long."""
    small = sorted((seed for seed in CASES if seed % 2 == 0), key=lambda seed: len(CASES[seed]["graph"]))[:3]
    assert v1_flow.compared({seed: CASES[seed] for seed in small}, ["compiled"]) == []


def test_a_difference_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    case = {**CASES[1], "now": [[123.0]]}
    monkeypatch.setattr(v1_flow, "load", lambda path: {1: case})
    assert v1_flow.main(["--ways", "interpreted", "--seed", "1"]) == 1
    assert "instead of [123.0]" in capsys.readouterr().out


def test_an_error_is_reported() -> None:
    (problem,) = v1_flow.problems({**CASES[1], "init": "nothing"}, "interpreted")
    assert "nothing" in problem


def test_a_program_that_tensorflow_cannot_make_is_reported() -> None:
    assert v1_flow.compared({7: {"failed": "no kernel"}}, ["interpreted"]) == ["program 7, interpreted: no kernel"]


def test_effects_of_a_gradient_may_be_fewer_only_where_tensorflow_runs_the_other_results_of_an_if() -> None:
    case = CASES[1000788]
    assert v1_flow.problems(case, "interpreted") == []
    (problem,) = v1_flow.problems({**case, "after": [[7.0, 7.0], case["after"][1]]}, "interpreted")
    assert "after the gradients v_now:0 is" in problem and "instead of [7.0, 7.0]" in problem
