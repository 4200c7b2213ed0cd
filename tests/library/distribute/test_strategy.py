"""Programs with strategies give what real TensorFlow gave over two CPUs."""

import json
from pathlib import Path

import pytest
from golden import distribute_cases as cases

import headrace as tf

GOLDEN = json.loads((Path(cases.__file__).parent / "distribute.json").read_text())
TRAININGS = ("train_one_", "train_mirrored_", "train_central_")


@pytest.mark.parametrize("begin", [*TRAININGS, ""])
def test_they_give_what_tensorflow_gave(begin: str) -> None:
    names = [name for name in cases.CASES if name.startswith(begin) and (begin or not name.startswith(TRAININGS))]
    assert names
    for name in names:
        found, expected = cases.run(tf, name), GOLDEN[name]
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            if key in ("losses", "values") and name != "elements_of_their_own":
                assert _flat(found[key]) == pytest.approx(_flat(value), abs=2e-5), name
            else:
                assert found[key] == value, name


def _flat(values):
    return [number for value in values for number in _flat(value)] if isinstance(values, list) else [values]
