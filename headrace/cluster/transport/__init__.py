"""The transport between tasks: calls, one-way messages and tensors, over sockets or within a process.

``interface`` says what a transport is; ``endpoint`` is the one over ZeroMQ, ``in_process`` the one for tests.  Both know
nothing of graphs, steps or sessions.  Their libraries are in the extra ``cluster``: this module imports none of them.
"""

from __future__ import annotations

from typing import Any

from headrace.cluster.transport.interface import Transport


def open_endpoint(*arguments: Any, **options: Any) -> Transport:
    """A new ``Endpoint``: it says what it takes."""
    need_libraries()
    from headrace.cluster.transport.endpoint import Endpoint

    return Endpoint(*arguments, **options)


def need_libraries() -> None:
    """Raises an error that names the pip command where a library is missing."""
    try:
        import cryptography  # noqa: F401 - used later, when a thread could only log that it is missing
        import msgspec  # noqa: F401
        import zmq  # noqa: F401
    except ImportError as e:
        raise ImportError(f"clusters need {e.name}: pip install 'headrace[cluster]'") from None
