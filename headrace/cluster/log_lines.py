"""Messages of a process that serves: lines with their time and level, unless the program has chosen how messages are shown."""

from __future__ import annotations

import logging
from typing import Final

_LOGGER: Final = logging.getLogger("headrace")


def show_time_and_level() -> None:
    """From now on the messages of this process have both.  May be called again."""
    if not _LOGGER.handlers:
        lines = logging.StreamHandler()
        lines.addFilter(lambda _: not logging.root.handlers)  # which would show it a second time
        lines.setLevel(logging.WARNING)
        lines.setFormatter(logging.Formatter("%(asctime)s %(levelname)s headrace: %(message)s"))
        _LOGGER.addHandler(lines)
