"""What commands say of an error."""

from __future__ import annotations

import re

from headrace.core.errors import OpError


def said(error: Exception) -> str:
    """What an error says, without the line of the program that called: that is the command's own."""
    return re.sub(r" \(at [^()]*\)$", "", error.message if isinstance(error, OpError) else str(error))
