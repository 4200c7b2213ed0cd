"""Messages of a process that serves have their time and level."""

import logging
import re

import pytest

from headrace.cluster import log_lines


def _begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(log_lines._LOGGER, "handlers", [])
    log_lines.show_time_and_level()


def test_a_message_has_time_and_level(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _begin(monkeypatch)
    log_lines.show_time_and_level()
    logging.getLogger("headrace.cluster").warning("worker %d is lost", 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [\d:,]+ WARNING headrace: worker 1 is lost\n", capsys.readouterr().err)


def test_a_program_with_handlers_of_its_own_sees_it_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _begin(monkeypatch)
    logging.basicConfig(format="%(message)s")
    logging.getLogger("headrace.cluster").warning("lost")
    assert capsys.readouterr().err == "lost\n"
