"""Searching, sets, text, signals and images against the results real TensorFlow gave (tests/golden/make_programs.py)."""

import functools

import pytest
from golden import program, search_programs, signal_programs, vision_programs

import headrace as tf

FAMILIES = {
    "search": search_programs.PROGRAMS,
    "signal": signal_programs.PROGRAMS,
    "vision": vision_programs.PROGRAMS,
}
pytestmark = pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # TensorFlow warns too
golden = functools.cache(program.load)


@pytest.mark.parametrize(("family", "name"), [(f, name) for f, programs in FAMILIES.items() for name in programs])
def test_same_as_tensorflow(family: str, name: str) -> None:
    program.compare(tf, FAMILIES[family], name, golden(family))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_program_is_recorded(family: str) -> None:
    assert set(golden(family)) == set(FAMILIES[family])
