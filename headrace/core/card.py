"""Card: a thing in a notebook: a title and its facts, as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any


def card(title: str, facts: Mapping[str, Any], picture: str = "") -> str:
    """A small table.  Facts that are None or empty text are left out.  ``picture``: SVG, shown below."""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td style='text-align:left'><code>{escape(str(value))}</code></td></tr>"
        for name, value in facts.items()
        if value is not None and value != ""
    )
    return f"<div><b>{escape(title)}</b><table>{rows}</table>{picture}</div>"
