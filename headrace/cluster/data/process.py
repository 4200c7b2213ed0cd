"""A process that calls functions of datasets for another one: ``python -m headrace.cluster.data.process <pid> <descriptor>``.

It answers one message after the other, and ends when the other process closes the connection, is gone, however it ended, or asks
nothing for a while: it is started again when it is needed.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import select
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Any, Final

from headrace.cluster.data.names import named
from headrace.cluster.data.pipe import Pipe, from_columns, to_columns
from headrace.cluster.op_agreement import check_user_ops
from headrace.core.config import ConfigProto
from headrace.passes.portable import Portable, from_portable
from headrace.passes.step_graph import Node
from headrace.resources.calling.batch import Element
from headrace.resources.state.node_state import reseed
from headrace.runtime.code.failure import as_told
from headrace.runtime.host.registered import RegisteredGraph
from headrace.runtime.host.worker import LocalWorker
from headrace.runtime.planning.planner import Planner

IDLE: Final = 60.0  # seconds without a message
Answer = tuple[dict[str, Any], list[Any]]


def main(parent: int, descriptor: int) -> None:
    """Answers until the other process is gone."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    pipe = Pipe(socket.socket(fileno=descriptor), parent)
    functions = Functions()
    with suppress(EOFError, OSError):
        while pipe.wait(IDLE):
            request, tensors = pipe.receive()
            try:
                answer = functions.answer(request, tensors)
            except Exception as e:  # noqa: BLE001 - the other process raises it
                answer = {"error": _told(e)}, []
            pipe.send(*answer)
            if not request:
                pipe.forget()
            del request, tensors, answer
    pipe.close()
    os._exit(0)


def _end_with(parent: int) -> None:
    """Ends this process with the other one, whatever it is computing."""
    watched = os.pidfd_open(parent)
    if os.getppid() == parent:
        select.select([watched], [], [])
    os._exit(0)


def _told(error: BaseException) -> list[Any]:
    """The code and the text of an error, without the line of this program that has run a function."""
    code, text, _ = as_told(error)
    return [code, re.sub(r"\n\t run at .*", "", text)]


class _Function(RegisteredGraph):
    """A function.  What its random nodes draw follows from their seeds and the element's place, in whatever process."""

    def __init__(self, worker: LocalWorker, config: ConfigProto, data: Portable) -> None:
        super().__init__(worker)
        self._random: list[tuple[Any, Node]] = []  # with their generators
        self._base, self._place = 0, (0, 0)
        self._call = Planner(self, config).plan_body(from_portable(data))

    def make_state(self, node: Node, resume: Callable[[str, Any], None] | None = None) -> Any:
        state = super().make_state(node, resume)
        if node.op_def.traits.random:
            self._random.append((state, node))
            self._seed(state, node)
        return state

    def _seed(self, generator: Any, node: Node) -> None:
        seeds = node.attrs.get("seed", 0), node.attrs.get("seed2", 0)
        words = seeds if any(seeds) else (self._base, node.name)
        digest = hashlib.blake2b(repr((words, self._place)).encode(), digest_size=8).digest()
        reseed(generator, int.from_bytes(digest, "little") >> 1)

    def call(self, values: Element, base: int, place: tuple[int, int]) -> Element:
        """The result for an element.  ``base``: of the nodes without seeds.  ``place``: the element's, as two numbers."""
        self._base, self._place = base, place
        for generator, node in self._random:
            self._seed(generator, node)
        return self._call(*values)


class Functions:
    """What the other process has told this one, by its numbers."""

    def __init__(self) -> None:
        self._config = ConfigProto(compile="off", device_count={"GPU": 0}, intra_op_parallelism_threads=1)
        self._worker = LocalWorker(self._config)
        self._functions: dict[int, _Function] = {}
        self._captured: dict[int, Element] = {}

    def answer(self, request: dict[str, Any], tensors: list[Any]) -> Answer:
        if not request:  # this process has nothing to do
            return {}, []
        if "path" in request:
            sys.path[:] = request["path"]
            os.environ.clear()
            os.environ.update(request["environment"])
            os.chdir(request["directory"])
            return {}, []
        if "graphs" in request:
            return self._define(request, tensors)
        if "captured" in request:
            (self._captured[request["captured"]],) = from_columns(request["sparse"], tensors, 1)
            return {}, []
        return self._call(request, tensors)

    def _define(self, request: dict[str, Any], arrays: list[Any]) -> Answer:
        for module in request["modules"]:
            importlib.import_module(module)
        objects = [named(*name) for name in request["objects"]]
        data = Portable(request["graphs"], [tuple(source) for source in request["sources"]], arrays, objects)
        check_user_ops("a process of the dataset", data, request["ops"])
        self._functions[request["function"]] = _Function(self._worker, self._config, data)
        return {}, []

    def _call(self, request: dict[str, Any], tensors: list[Any]) -> Answer:
        for number in request["forget"]:
            self._captured.pop(number, None)
            if number in self._functions:
                self._functions.pop(number).close()
        function, captured = self._functions[request["function"]], self._captured[request["stage"]]
        problems: list[list[Any] | None] = []
        results: list[Element] = []
        base, stream, first = request["place"]
        began = perf_counter()
        for i, element in enumerate(from_columns(request["sparse"], tensors, request["count"]), first):
            try:
                results.append(function.call((*element, *captured), base, (stream, i)))
                problems.append(None)
            except Exception as e:  # noqa: BLE001 - who takes the element raises it
                problems.append(_told(e))
        sparse, values = to_columns(results)
        return {"problems": problems, "sparse": sparse, "seconds": perf_counter() - began}, values


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
