"""The collector rests while steps are planned, and works again after."""

import gc

import pytest

from headrace.core.garbage import no_collection


def test_the_collector_works_again_after_the_last_pause():
    assert gc.isenabled()
    with no_collection():
        assert not gc.isenabled()
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_after_an_error_too():
    with pytest.raises(ValueError, match="no plan"), no_collection():
        raise ValueError("no plan")
    assert gc.isenabled()


def test_a_program_that_has_it_off_keeps_it_off():
    gc.disable()
    try:
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
