"""The transport between tasks: calls, one-way messages and tensors, over sockets or within a process.

``interface`` says what a transport is; ``endpoint`` is the one over ZeroMQ, ``in_process`` the one for tests.  Both know
nothing of graphs, steps or sessions.  Their libraries are in the extra ``cluster``: this module imports none of them.
"""

from __future__ import annotations

from headrace.cluster.transport.interface import DEFAULT_LIMITS, Failed, Handler, Limits, Lost, Transport


def open_endpoint(
    handler: Handler | None = None,
    address: str | None = None,
    key: str | bytes | None = None,
    lost: Lost | None = None,
    limits: Limits = DEFAULT_LIMITS,
    data_port: int | None = None,
    failed: Failed | None = None,
) -> Transport:
    """A new ``Endpoint``."""
    need_libraries()
    from headrace.cluster.transport.endpoint import Endpoint

    return Endpoint(handler, address, key, lost, limits, data_port=data_port, failed=failed)


def need_libraries() -> None:
    """Raises an error that names the pip command where a library is missing."""
    try:
        import cryptography  # noqa: F401 - used later, when a thread could only log that it is missing
        import msgspec  # noqa: F401
        import zmq  # noqa: F401
    except ImportError as e:
        raise ImportError(f"clusters need {e.name}: pip install 'headrace[cluster]'") from None
