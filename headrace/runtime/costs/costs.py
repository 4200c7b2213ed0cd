"""Costs: what nodes have taken in the steps of a session, as users see them; they can be kept and used for other graphs."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import Any, Final

from headrace.core.source import at
from headrace.core.table import Table
from headrace.passes.cost.measured import Measured

FORMAT: Final = "headrace costs 1"
SHOWN: Final = 20  # rows of the table
LARGEST: Final = 1 << 28  # bytes of a file


class Costs:
    """Mean seconds of nodes that have run, by type of device and by what a node is: its op, attributes and shapes of inputs.

    Nothing in it names a graph or a node, so costs of one graph tell what equal nodes of another take.  Thread-safe.

    >>> x = tf.placeholder(tf.float32, [64, 64])
    >>> y = tf.matmul(x, x)
    >>> with tf.Session() as sess, tf.device('/cpu:0'):
    ...     costs = sess.measure_costs(y, {x: np.zeros([64, 64])})
    >>> [what.split('(')[0] for device_type, what, seconds, runs in costs]
    ['MatMul']
    """

    def __init__(self) -> None:
        self._measured = Measured()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._measured)

    def __iter__(self) -> Iterator[tuple[str, str, float, int]]:
        """Type of device, what the node is, mean seconds, runs."""
        with self._lock:
            return iter(list(self._measured.rows()))

    def add(self, measured: Measured | Costs) -> None:
        """Takes over what others have seen.

        Args:
          measured: Other costs.
        """
        rows = list(measured) if isinstance(measured, Costs) else list(measured.rows())
        with self._lock:
            self._measured.merge(Measured.of_rows(rows))

    @property
    def measured(self) -> Measured:
        """A copy in the form that a cost model takes."""
        return Measured.of_rows(self)

    def save(self, path: str) -> None:
        """Writes them to a file, as JSON.

        Args:
          path: The file, which is replaced.
        """
        text = json.dumps({"format": FORMAT, "costs": [list(row) for row in self]}, indent=0)
        unfinished = f"{path}.{os.getpid()}"
        with open(unfinished, "w") as file:
            file.write(text)
        os.replace(unfinished, path)

    def load(self, path: str) -> None:
        """Adds those that `save` has written.

        Args:
          path: The file.

        Raises:
          ValueError: If the file holds anything else.
        """
        with open(path, "rb") as file:
            text = file.read(LARGEST + 1)
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise ValueError(f"its format is {data['format']!r}")
            measured = Measured.of_rows(data["costs"])
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as e:
            raise ValueError(f"{path} holds no costs ({FORMAT!r}): {type(e).__name__}: {e} {at()}") from None
        self.add(measured)

    def table(self) -> Table:
        """The costliest first."""
        rows = sorted(self, key=lambda row: -row[2])
        shown: list[dict[str, Any]] = [
            {"device": device_type, "us": round(seconds * 1e6, 1), "runs": runs, "node": what}
            for device_type, what, seconds, runs in rows[:SHOWN]
        ]
        more = f"and {len(rows) - SHOWN} others" if len(rows) > SHOWN else ""
        return Table(f"measured costs of {len(rows)} nodes", shown, more)

    def __str__(self) -> str:
        return str(self.table())
