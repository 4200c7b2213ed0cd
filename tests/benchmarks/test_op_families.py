"""The benchmark of op families: what counts as the same result, what a worker measures, how it is told."""

import json
import sys

import pytest

from benchmarks import _families, _family_table, _harness, op_families, report

RESULT = {
    "time": "2026-01-02T03:04:05", "processor": "a processor", "threads": 1, "clock": "elapsed", "rounds": 3,
    "headrace": "1", "tensorflow": "2",
    "cases": {
        "reductions/Sum/small": {"headrace": [2.0, 4.0], "tensorflow": [1.0, 1.0], "ratio": 2.0},
        "reductions/Sum/large": {"headrace": [1.0, 1.0], "tensorflow": [2.0, 2.0], "ratio": 0.5},
        "strings/Substr/small": {"headrace": [4.0, 4.0], "tensorflow": [1.0, 1.0], "ratio": 4.0},
        "strings/Substr/large": {"error": "TypeError: no"},
    },
}  # fmt: skip


def described(*numbers, shape=(2,), dtype="float32"):
    return {"shape": shape, "dtype": dtype, "numbers": list(numbers)}


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ([described(1.0, 2.0)], [described(1.0, 2.00001)], ""),
        ([described(1.0, 2.0)], [described(1.0, 2.1)], "2.0 where TensorFlow gives 2.1"),
        ([described(1.0, 2.0)], [described(1.0, 2.0, dtype="float64")], "float64"),
        ([described(1.0, 2.0)], [described(1.0, 2.0, shape=(1, 2))], "(1, 2)"),
        ([described(1.0, 2.0)], [], "1 results where TensorFlow gives 0"),
        ([described(1.0, float("nan"))], [described(1.0, 2.0)], "nan where"),
    ],
)  # fmt: skip
def test_results_must_agree(ours, theirs, said):
    found = op_families.difference(ours, theirs, _families.CASES["reductions/Sum rows/small"])
    assert said in found and bool(said) == bool(found)


def test_random_results_need_the_same_shape_only():
    case = _families.CASES["random numbers/RandomUniform/small"]
    assert not op_families.difference([described(1.0, 2.0)], [described(3.0, 4.0)], case)
    assert op_families.difference([described(1.0, 2.0)], [described(3.0, 4.0, shape=(1, 2))], case)


def test_the_table_has_a_line_for_each_family_and_one_for_all():
    header, reductions, strings, everything = _family_table.rows(RESULT)
    assert reductions == ["reductions", "2.00", "-", "0.50", "1.00", "0.5 - 2", "2"]
    assert strings == ["strings", "4.00", "-", "-", "4.00", "4 - 4", "1"]
    assert everything[0] == "all" and everything[4] == "1.59" and len(header) == len(everything)
    assert _family_table.line("strings/Substr/large", RESULT["cases"]["strings/Substr/large"]).endswith("TypeError: no")


def test_the_report_is_markdown(tmp_path, capsys):
    path = tmp_path / "op_families.json"
    path.write_text(json.dumps(RESULT))
    assert report.main([str(path)]) == 0
    assert "| reductions | 2.00 | - | 0.50 |" in capsys.readouterr().out


def test_every_case_has_three_sizes():
    ops = {(case.family, case.op) for case in _families.CASES.values()}
    assert len(_families.CASES) == 3 * len(ops) and len({family for family, _ in ops}) > 20


def test_a_worker_gives_values_times_and_errors():
    environment = {"HEADRACE_COMPILE": "off", op_families.THREADS: "1"}
    worker = _harness.Worker(sys.executable, "headrace", op_families.MODULE, environment)
    try:
        name = "reductions/Max rows gradient/small"
        (found,) = worker.values(name)
        assert found["shape"] == [16, 256] and found["dtype"] == "float32"
        assert worker.sample(name) > 0
        worker.forget(name)
        with pytest.raises(_harness.CaseError, match="KeyError"):
            worker.sample("no such case")
    finally:
        worker.close()
