"""What the tests of estimators share: event files are closed, and steps are not compiled."""

from collections.abc import Iterator

import pytest

import headrace as tf


@pytest.fixture(autouse=True)
def event_files_closed(nothing_leaks: None) -> Iterator[None]:
    """Closes the writers that training and evaluation keep open for the next call."""
    yield
    tf.summary.FileWriterCache.clear()


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says nothing of a cluster."""
    monkeypatch.delenv("TF_CONFIG", raising=False)
