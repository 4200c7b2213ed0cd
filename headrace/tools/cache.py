"""``headrace cache``: where compiled code and this machine's costs are kept, how much there is, and how to remove old code."""

from __future__ import annotations

import json
import sys

from headrace.core.table import in_words
from headrace.runtime.compiler import bound, own_folder
from headrace.runtime.costs import keep

DAY = 86400.0


def show(prune_days: float | None = None, as_json: bool = False) -> int:
    """Prints the folder, its files, their size and its bound; ``prune_days`` first removes what was not used for so long."""
    try:
        place, most = own_folder.folder(), bound.most_bytes()
    except (OSError, ValueError, own_folder.UnsafeFolder) as e:
        print(f"headrace cache: {e}", file=sys.stderr)
        return 1
    removed = 0 if prune_days is None else bound.prune(place, prune_days * DAY)
    files, size = bound.measure(place)
    machines = sorted(keep.folder().glob("*.json"))
    if as_json:
        most_or_none = most if most < float("inf") else None
        print(json.dumps(
            {"folder": str(place), "files": files, "bytes": size, "most_bytes": most_or_none, "removed_bytes": removed,
             "costs": [str(path) for path in machines]}
        ))  # fmt: skip
        return 0
    limit = f"at most {in_words(most)} are kept (HEADRACE_CACHE_GB)" if most < float("inf") else "no bound"
    print(f"compiled code: {place}\n{files} files, {in_words(size)}; {limit}")
    if machines:
        print(f"among them what was measured of this machine: {len(machines)} in {keep.folder()} (headrace doctor)")
    if prune_days is not None:
        print(f"{in_words(removed)} removed: not used for {prune_days:g} days")
    return 0
