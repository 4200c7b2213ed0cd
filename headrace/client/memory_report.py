"""MemoryReport: who holds memory for a session, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from headrace.core.device import task_of
from headrace.core.table import Table, in_words
from headrace.resources.state.holder import Holder


class MemoryReport(Table):
    """What `Session.memory_report` gives.  ``holders``: one entry for each holder, those with the most bytes first.

    Printed, or shown in a notebook, it is a table.  Figures are of what values take, not of what allocators keep beside it.
    """

    def __init__(self, holders: Sequence[Holder]) -> None:
        self.holders = sorted((one for one in holders if one.bytes), key=lambda one: -one.bytes)
        rows = [{"bytes": one.bytes, "what": one.what, "name": one.name, "where": one.device} for one in self.holders]
        tasks = self.by_task()
        total = ", ".join(f"{in_words(size)} on {task}" for task, size in tasks.items())
        super().__init__(f"{len(rows)} hold {in_words(sum(tasks.values()))}", rows, total)

    def by_task(self) -> dict[str, int]:
        """The bytes on each task."""
        return _summed((task_of(one.device) or one.device, one.bytes) for one in self.holders)

    def by_type(self) -> dict[str, int]:
        """The bytes of each type of holder."""
        return _summed((one.what, one.bytes) for one in self.holders)


def _summed(pairs) -> dict[str, int]:  # type: ignore[no-untyped-def]
    sums: Counter[str] = Counter()
    for name, size in pairs:
        sums[name] += size
    return dict(sums.most_common())
