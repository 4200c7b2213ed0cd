"""The programs in examples/ as the tests run them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examples.run_both import load

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    """Gives an example's names by that of its file; its steps stay interpreted: it would end before a compilation pays."""
    monkeypatch.setenv("HEADRACE_COMPILE", "off")
    return lambda name: load(FOLDER / f"{name}.py")


@pytest.fixture
def refuses(example: Callable[[str], dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What an example answers to flags it does not accept."""

    def answer(name: str, *flags: str) -> str:
        with pytest.raises(SystemExit) as ended:
            example(name)["main"](list(flags))
        assert ended.value.code == 2
        return capsys.readouterr().err.strip().splitlines()[-1]

    return answer
