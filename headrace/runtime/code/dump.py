"""``HEADRACE_DUMP=dir``: every plan, its generated source and the graphs given to the compiler, as readable files.

step_3.plan.txt      the graph after all passes       step_3.strand_0.py      the generated Python
region_0.py          a region as the compiler gets it        dynamic_0.py            one for many shapes
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def dump(name: str, text: Callable[[], str]) -> None:
    """Writes one file if dumping is asked for; an unwritable folder is an error that names the variable.

    The text is made only then.
    """
    folder = os.environ.get("HEADRACE_DUMP")
    if not folder:
        return
    try:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text(), encoding="utf-8")
    except OSError as e:
        raise ValueError(f"HEADRACE_DUMP={folder!r} cannot be written to: {e}") from e
