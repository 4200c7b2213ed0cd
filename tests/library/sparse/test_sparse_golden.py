"""Sparse tensors against the results and node names real TensorFlow gave (tests/golden/make_programs.py)."""

import functools

import pytest
from golden import program
from golden.sparse_programs import PROGRAMS

import headrace as tf

pytestmark = pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # TensorFlow warns too
golden = functools.cache(lambda: program.load("sparse"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_tensorflow(name: str) -> None:
    program.compare(tf, PROGRAMS, name, golden())


def test_every_program_is_recorded() -> None:
    assert set(golden()) == set(PROGRAMS)
