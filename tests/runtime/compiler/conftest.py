"""What every test of the compiler gets: its regions are compiled, whatever an earlier run has left on disk."""

import pytest


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has mode "always" compile each region, since some tests change the compiler.  ``test_kept`` overrides this fixture."""
    monkeypatch.setattr("headrace.runtime.compiler.kept._name", lambda region, binder: None)
