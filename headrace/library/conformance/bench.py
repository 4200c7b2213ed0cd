"""The bench on which devicecheck examines a device type: sessions, results beside the CPU's, placement."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from headrace.client.session import Session
from headrace.core.config import ConfigProto, RunMetadata, RunOptions
from headrace.graph import raw_ops
from headrace.graph.graph import Graph
from headrace.graph.operation import Tensor
from headrace.library.scope import device
from headrace.library.state.variables import global_variables_initializer
from headrace.runtime.host.device import Device


class Skip(Exception):  # noqa: N818 - not an error
    """Raised by a check that says nothing about this device type."""


Build = Callable[[], Any]


class Bench:
    """One device type under examination: what its checks are made with."""

    def __init__(self, devices: list[Device], config: ConfigProto, rtol: float) -> None:
        self.devices = devices
        self.config = config
        self.rtol = rtol
        self.device_type = devices[0].device_type
        self.name = f"/device:{self.device_type}:0"
        self.has_values = devices[0].torch_device.type != "meta"
        self.is_null = devices[0].is_null

    # ---- what a check needs

    def needs_values(self) -> None:
        if not self.has_values:
            raise Skip("this device type has no values")

    @cached_property
    def other(self) -> str:
        """Another device of the type."""
        if len(self.devices) < 2:
            raise Skip(f"there is one {self.device_type} only")
        return f"/device:{self.device_type}:1"

    # ---- running

    def session(self, graph: Graph | None = None, **options: Any) -> Session:
        config = copy.deepcopy(self.config)
        for name, value in options.items():
            setattr(config, name, value)
        return Session(graph=graph, config=config)

    def results(self, session: Session, fetches: list[Tensor], feed: Any = None) -> list[Any]:
        """What the fetches are: arrays, or empty arrays of their shapes where the device has no values."""
        if self.has_values:
            return session.run(fetches, feed)
        with session.graph.as_default(), device(self.name):
            shapes = [raw_ops.Shape(t) for t in fetches]
        session.run([t.op for t in fetches], feed)
        return [
            np.zeros(s, t.dtype.base_dtype.as_numpy_dtype)
            for s, t in zip(session.run(shapes, feed), fetches, strict=True)
        ]

    def agrees(self, build: Build, feed: dict[str, Any] | None = None) -> None:
        """Fails unless the tensors that ``build`` makes are the same on this device as on the CPU.

        Without values, shapes and dtypes must be the same.  ``feed``: values of placeholders by their names.
        """
        expected = self._run_on("/device:CPU:0", build, feed, True)
        found = self._run_on(self.name, build, feed, self.has_values)
        for i, (a, b) in enumerate(zip(expected, found, strict=True)):
            self.same(b, a, f"result {i}")

    def _run_on(self, where: str, build: Build, feed: dict[str, Any] | None, has_values: bool) -> list[Any]:
        graph = Graph()
        with graph.as_default(), device(where):
            tensors = build()
            initializer = global_variables_initializer()
        fetches = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        named = {f"{name}:0": value for name, value in (feed or {}).items()}
        with self.session(graph) as session:
            session.run(initializer)
            return session.run(fetches, named) if has_values else self.results(session, fetches, named)

    def same(self, found: Any, expected: Any, what: str) -> None:
        """Fails unless both are the same: to rounding, or in shape and dtype only where the device has no values."""
        found, expected = np.asarray(found), np.asarray(expected)
        if found.shape != expected.shape or found.dtype != expected.dtype:
            raise AssertionError(
                f"{what} is {found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
            )
        if self.has_values and not np.allclose(found, expected, rtol=self.rtol, atol=self.rtol, equal_nan=True):
            raise AssertionError(f"{what} is {found.tolist()} instead of {expected.tolist()}")

    def places(self, session: Session, tensors: list[Tensor], feed: Any = None) -> list[str]:
        """On which devices the tensors are computed, by a trace of the step."""
        metadata = RunMetadata()
        ops: list[Any] = [t.op for t in tensors]
        session.run(ops, feed, RunOptions(trace_level=RunOptions.FULL_TRACE), metadata)
        where = {node.node_name: stats.device for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
        return [where.get(op.name, "nowhere") for op in ops]
