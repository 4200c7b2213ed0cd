"""``ConfigProto.log_device_placement``: one line a node, in TensorFlow's form, when a session first places it.

y: (AddV2): /job:localhost/replica:0/task:0/device:CPU:0
"""

from __future__ import annotations

import logging

from headrace.passes.bodies import bodies_within
from headrace.passes.step_graph import Node, StepGraph

log = logging.getLogger("headrace.place")


class PlacementLog:
    """What one session has said so far."""

    def __init__(self) -> None:
        """The lines are asked for, so they are shown: on stderr if the program has set up no logging."""
        log.setLevel(logging.INFO)
        if not log.hasHandlers():
            log.addHandler(logging.StreamHandler())
        self._logged: set[str] = set()

    def __call__(self, name: str, graph: StepGraph) -> None:
        """To be called after each pass."""
        if name != "place":
            return
        arguments = {v.op for body in bodies_within(graph) for v in body.feeds}
        for one in (graph, *bodies_within(graph)):
            for node in one.nodes:
                if node not in arguments:
                    self._log(node)

    def _log(self, node: Node) -> None:
        fed = node.op_def.traits.feed and node.origin is not None
        name = node.origin.name if fed else node.name
        if name not in self._logged:
            self._logged.add(name)
            log.info("%s: (%s): %s", name, (node.origin or node).type, node.device)
