"""Headrace's own version."""

from typing import Final

HEADRACE_VERSION: Final = "0.1.0"
