"""Every op with invalid inputs: no text of torch, numpy or Python reaches a user, and no crash.

Each op's first sample is spoilt in many ways (tests/ops/invalid.py), while building and while running.
"""

import re

import pytest
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

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, of NaN; a user's program sees no error
SAMPLES = samples()
PARTS = 16


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


@pytest.mark.parametrize("part", range(PARTS))
def test_errors_speak_headrace(part: int) -> None:
    problems = []
    for name in list(SAMPLES)[part::PARTS]:
        problems += [p for call in attempts(REGISTRY.get(name), SAMPLES[name][0]) if (p := problem(call))]
    assert not problems, "\n".join(problems)


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
