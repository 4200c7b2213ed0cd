"""Every op with invalid inputs: no text of torch, numpy or Python reaches a user, no crash, and TensorFlow's class and phase.

Each op's first sample is spoilt in many ways (tests/ops/invalid.py), with everything known while building and with nothing.
TensorFlow is not needed: its outcomes are in tests/golden/faults.json, made by tests/golden/make_faults.py.
"""

import re
from pathlib import Path

import pytest
from golden import fault_results
from ops import fault_comparison
from ops.invalid import Spoilt, attempts, samples

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.core.wording import UNEXPLAINED, is_from_below

# How torch, numpy and CPython put it.  Most texts are told by where they were raised; these would betray a text handed on.
FROM_BELOW = re.compile(
    r"\w+_?\(\): |object is not|Boolean value of|ZeroDivision|size of tensor a|mat1 and mat2|unsupported operand"
    r"|broadcast together|not implemented for '|has no attribute|has no len|Dimension out of range|must be within|NoneType"
    r"|positional argument"
    r"|list index|tuple index|index out of range in self|invalid literal|values to unpack|not iterable|shape '\["
    r"|aten::|torch|numpy|ndarray|setting an array|object of type|tensor\("
)
ACCEPTED = (ValueError, TypeError, NotImplementedError)

# numpy's warnings, of NaN, are no errors of a user's program.  An integer made of NaN is: each processor makes another of it.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "error:invalid value encountered in cast")
SAMPLES = samples()
PARTS = 16


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spoilt names of files are names in an empty folder."""
    monkeypatch.chdir(tmp_path)


def problem(call: Spoilt) -> str | None:
    """What is wrong with the error of an invalid call; None if nothing is."""
    error = call.error
    if error is None:
        return None
    text = str(error).split("\n")[0].partition(" (at ")[0].partition(" (feed of ")[0]
    if is_from_below(error) or UNEXPLAINED in text or FROM_BELOW.search(text):
        return f"{call.op}, {call.fault}, {call.phase}: {type(error).__name__}: {text[:150]}"
    if not isinstance(error, (*ACCEPTED, tf.errors.OpError)):
        return f"{call.op}, {call.fault}, {call.phase}: raises {type(error).__name__}"
    return None


def contradictions(calls: list[Spoilt], theirs: dict[str, str]) -> list[tuple[str, Spoilt]]:
    """The calls that TensorFlow takes otherwise, and how; those that end sooner here are no matter."""
    letters = {form: iter(theirs[form]) for form in ("static", "late")}
    outcomes = [(c, next(letters[c.form]), fault_results.letter_of(c.phase, c.error)) for c in calls]
    return [(way, call) for way, call, _, _ in fault_comparison.differences(outcomes) if way != fault_comparison.SOONER]


@pytest.mark.parametrize("part", range(PARTS))
def test_errors_speak_headrace_and_agree_with_tensorflow(part: int) -> None:
    results, file, problems = fault_results.load(), fault_comparison.LISTED.name, []
    for name in list(SAMPLES)[part::PARTS]:
        op_def, sample = REGISTRY.get(name), SAMPLES[name][0]
        calls = list(attempts(op_def, sample))
        problems += [p for call in calls if (p := problem(call))]
        if name in results:
            stale = results[name]["calls"] != fault_results.stamp(op_def, sample)
            assert not stale, f"the invalid calls of {name} have changed; run {fault_results.UPDATE} {name}"
            rules = [rule for rule in fault_comparison.read() if rule.op == name]
            found = contradictions(calls, results[name])
            problems += [
                f"not in {file}: {way} {name}: {call.fault} ({call.form})"
                for way, call in found
                if not any(rule.covers(way, call) for rule in rules)
            ]
            gone = [rule for rule in rules if not any(rule.covers(way, call) for way, call in found)]
            problems += [f"no longer differs, but is in {file}: {rule}" for rule in gone]
    assert not problems, "\n".join(problems)


def test_the_list_of_differences_names_known_ops_once() -> None:
    results, rules = fault_results.load(), fault_comparison.read()
    assert [str(rule) for rule in rules if rule.way not in fault_comparison.WAYS or rule.op not in results] == []
    assert len(set(rules)) == len(rules)


def test_the_list_of_differences_has_a_reason_for_every_line() -> None:
    lines = fault_comparison.LISTED.read_text().splitlines()
    before = dict(zip(lines[1:], lines, strict=False))
    assert [line for line in lines if line and not line.startswith("#") and not before[line]] == []


def test_a_rule_covers_its_op_its_way_and_its_faults_only() -> None:
    rule = fault_comparison.Rule("laxer", "Op", "input [34]: nan")
    assert rule.covers("laxer", Spoilt("Op", "input 3: nan", "running", None))
    for way, op, fault in (
        ("class", "Op", "input 3: nan"),
        ("laxer", "Of", "input 3: nan"),
        ("laxer", "Op", "input 5: nan"),
    ):
        assert not rule.covers(way, Spoilt(op, fault, "running", None))


@pytest.mark.parametrize(
    ("theirs", "ours", "their_twin", "our_twin", "way"),
    [
        ("v", "v", "I", "I", None), ("?", "t", "", "", None), ("l", ".", "", "", None), ("l", "v", "", "", "class"),
        ("v", ".", "I", "I", "later"), ("v", ".", "I", ".", "laxer"), (".", "v", "I", "I", "sooner"),
        (".", "v", ".", "I", "stricter"), ("I", ".", "v", "v", "laxer"), (".", "I", ".", ".", "stricter"),
        ("I", "U", ".", ".", "class"), ("I", "v", ".", ".", "sooner"), ("v", "I", "v", ".", "later"),
    ],
)  # fmt: skip
def test_ways_to_differ(theirs: str, ours: str, their_twin: str, our_twin: str, way: str | None) -> None:
    assert fault_comparison.difference(theirs, ours, their_twin, our_twin) == way


def test_the_check_sees_texts_from_below() -> None:
    def raised(code: str) -> Exception:
        try:
            exec(code)
        except Exception as e:
            return e
        raise AssertionError(code)

    for code in ("[][1]", "1 // 0", "import torch; torch.ones(2) + torch.ones(3)", "raise ValueError('not Headrace')"):
        assert problem(Spoilt("Op", "fault", "running", raised(code))), code
    assert (
        problem(Spoilt("Op", "fault", "running", tf.errors.InvalidArgumentError(None, None, "mat1 and mat2 shapes")))
        is not None
    )
    assert (
        problem(Spoilt("Op", "fault", "running", tf.errors.InvalidArgumentError(None, None, "Incompatible shapes")))
        is None
    )
