"""Whether a task means the same ops as a client: Headrace's own when a session begins, a user's when a partition uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import errors
from headrace.core.fingerprint import built_in_digest, fingerprint
from headrace.core.registry import REGISTRY
from headrace.core.source import at
from headrace.core.version import HEADRACE_VERSION
from headrace.passes.portable import Portable


def own_version() -> list[str]:
    """What a task says of Headrace's ops there: the version, and their fingerprint."""
    return [HEADRACE_VERSION, built_in_digest()]


def check_version(task: str, address: str, version: Sequence[str]) -> None:
    """Raises if a task runs another Headrace than this process."""
    mine = own_version()
    if list(version) != mine:
        theirs, here = (f"{name} (ops {digest[:8]})" for name, digest in (version, mine))
        raise errors.FailedPreconditionError(
            None, None,
            f"{task} at {address} runs Headrace {theirs}, and this process runs {here}: all tasks of a cluster need the same "
            f"version {at()}",
        )  # fmt: skip


def user_ops(data: Portable) -> dict[str, tuple[str, str, str]]:
    """The ops in a partition that a user declared, with what this process knows of them."""
    names = {node["op"] for graph in data.graphs for node in graph["nodes"]}
    mine = {name: fingerprint(one) for name in sorted(names) if not (one := REGISTRY.get(name)).built_in}
    return {name: (one.digest, one.signature, one.location) for name, one in mine.items()}


def check_user_ops(task: str, data: Portable, of_client: Mapping[str, Sequence[str]]) -> None:
    """Raises if an op of the client's is not registered in this process, or is another one; names the user's line."""
    for name, (digest, signature, location) in of_client.items():
        if name not in REGISTRY:
            raise errors.NotFoundError(
                None, None,
                f"op {name!r} is not registered on {task}. The client declares it at {location}: the program of {task} must "
                f"import that too\n\t {_first_node(data, name)}",
            )  # fmt: skip
        mine = fingerprint(REGISTRY.get(name))
        if mine.digest != digest:
            raise errors.InvalidArgumentError(
                None, None,
                f"op {name!r} on {task} is not that of the client: {_difference(mine.signature, signature)}. It is declared at "
                f"{mine.location}, the client's at {location}\n\t {_first_node(data, name)}",
            )  # fmt: skip


def _difference(mine: str, theirs: str) -> str:
    if mine != theirs:
        return f"it is {mine} there, and {theirs} at the client"
    return f"both are {mine}, but their traits or types differ"


def _first_node(data: Portable, op: str) -> str:
    node: dict[str, Any] = next(n for graph in data.graphs for n in graph["nodes"] if n["op"] == op)
    filename, line, _ = data.sources[node["source"]]
    return f"[[node {node['name']} ({op}) made at {filename}:{line}]]"
