"""Public functions with arguments as list, tuple, array, tensor, placeholder and variable: TensorFlow's result for each form.

The calls are in tests/golden/argument_cases.py; TensorFlow's outcomes were made by tests/golden/make_cases.py.
"""

import json
from pathlib import Path

import pytest
from golden.argument_cases import CALLS, outcomes

import headrace as tf

KEPT = json.loads((Path(__file__).parent.parent / "golden/arguments.json").read_text())
_CLASS = "ValueError, as for other values that are no lists; TensorFlow's is a kind of TypeError"
KNOWN = {("add_n", "0 tensor"): _CLASS, ("add_n", "0 placeholder"): _CLASS}
"""(function, argument and form) -> why the outcome is another.  Forms that only Headrace takes need no reason."""


def same(ours: str, theirs: str) -> bool:
    """Equal, or equal with a static shape that says more; sums may differ in their last digit."""
    if ours == theirs or theirs == ours.replace("TypeError", "OperatorNotAllowedInGraphError"):
        return True
    if theirs.startswith("building: ") and not ours.startswith(("building: ", "running: ")):
        return True  # a form that TensorFlow does not take
    pairs = [(a.split(), b.split()) for a, b in zip(ours.split("; "), theirs.split("; "), strict=False)]
    return len(ours.split("; ")) == len(theirs.split("; ")) and all(_alike(a, b) for a, b in pairs)


def _alike(ours: list[str], theirs: list[str]) -> bool:
    if len(ours) != len(theirs) or len(ours) < 3 or ours[0] != theirs[0] or ours[2] != theirs[2]:
        return False
    known = ours[1] == theirs[1] or "?" in theirs[1]
    return known and (len(ours) == 3 or float(ours[3]) == pytest.approx(float(theirs[3]), rel=2e-3, abs=1e-4))


@pytest.mark.parametrize("name", CALLS)
def test_each_form_gives_what_tensorflow_gives(name):
    found = outcomes(tf, name, tf.ConfigProto(compile="off"))
    different = {form for form, text in found.items() if not same(text, KEPT[name][form])}
    problems = [
        f"{form}: {found[form]}; TensorFlow: {KEPT[name][form]}" for form in different if (name, form) not in KNOWN
    ]
    problems += [f"{form} no longer differs" for n, form in KNOWN if n == name and form not in different]
    assert not problems, "\n".join(sorted(problems))


def test_the_results_kept_are_those_of_the_calls():
    assert set(KEPT) == set(CALLS)
