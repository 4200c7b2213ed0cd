"""What a step takes beside its nodes: a session is asked for one that adds a number to what is fed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.core.config import ConfigProto
from headrace.core.dtypes import float32
from headrace.graph import raw_ops
from headrace.graph.graph import Graph
from headrace.runtime.costs.probe import shortest

SECONDS = 0.1  # in all


def null_step(session_class: Any, clock: Callable[[], float]) -> float:
    """Seconds of a step of one node, which takes hardly any of them."""
    graph = Graph()
    with graph.as_default(), graph.device("/cpu:0"):
        x = raw_ops.Placeholder(dtype=float32, shape=[8])
        y = raw_ops.AddV2(x, x)
    value = np.zeros(8, np.float32)
    with session_class(graph=graph, config=ConfigProto(compile="off")) as session:
        return shortest(lambda: session.run(y, {x: value}), lambda: None, SECONDS, clock)
