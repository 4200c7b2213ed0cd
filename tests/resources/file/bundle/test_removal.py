"""Removing data files: the name goes immediately, the blocks of a large file in a thread."""

import os
import threading
from pathlib import Path

import pytest

from headrace.core import errors
from headrace.resources.file.bundle import removal


@pytest.mark.parametrize("size", [10, 100])
def test_the_name_is_gone_immediately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(removal, "_LARGE", 50)
    threads = []

    class Noted(threading.Thread):
        def start(self) -> None:
            threads.append(self)
            super().start()

    monkeypatch.setattr(threading, "Thread", Noted)
    path = tmp_path / "data"
    path.write_bytes(bytes(size))
    removal.remove_data(str(path))
    assert not os.listdir(tmp_path)
    assert len(threads) == (size > 50)
    for thread in threads:
        thread.join(10)


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="nothing; No such file"):
        removal.remove_data(f"{tmp_path}/nothing")
    with pytest.raises(errors.NotFoundError, match="nothing"):
        removal.remove_data("memory://nothing")
