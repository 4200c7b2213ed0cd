"""The folders of exports, named by their time: which are old, and how they are removed."""

from __future__ import annotations

import os
import shutil
from typing import Any

from headrace.core import file
from headrace.library import log
from headrace.library.compat import as_str_any


def remove_older(export_path: Any, keep: int | None) -> None:
    """Removes all exports below a folder but the newest ``keep``; None keeps all."""
    base = as_str_any(os.fspath(export_path))
    if keep is None or not file.exists(base) or file.is_remote(base):
        return
    times = sorted(int(name) for name in os.listdir(base) if name.isdigit() and os.path.isdir(os.path.join(base, name)))
    for when in times[:-keep]:
        folder = os.path.join(base, str(when))
        try:
            shutil.rmtree(folder)
        except OSError as e:
            log.warning("Can not delete %s: %s", folder, e)
