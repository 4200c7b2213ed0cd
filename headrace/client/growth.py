"""A graph that grows from run to run: the commonest way to make a program slower and slower."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any, Final

log = logging.getLogger("headrace.graph")

OFTEN: Final = 20  # runs before which one line has added nodes


class Growth:
    """Notes, of the runs that had to be planned, which line has added nodes before them.  Warns once for each line."""

    def __init__(self) -> None:
        self._nodes = 0
        self._lines: Counter[str] = Counter()

    def note(self, nodes: list[Any]) -> None:
        """A run is planned.  ``nodes``: those of the graph."""
        before, self._nodes = self._nodes, len(nodes)
        if not before or before == self._nodes:
            return
        line = str(nodes[-1].source)
        self._lines[line] += 1
        if self._lines[line] == OFTEN:
            log.warning(
                "The graph grows: %s has added nodes before %d runs, and it has %d nodes now. A run of new nodes is planned "
                "anew, and nodes are never freed. Build the graph before the loop, give it values by tf.placeholder, and call "
                "graph.finalize(): then the line that adds a node is an error.",
                line, OFTEN, self._nodes,
            )  # fmt: skip
