"""Two endpoints of each kind of transport, which end with their test, and a key that is not the user's."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.cluster.transport.endpoint import Endpoint
from headrace.cluster.transport.in_process import InProcessEndpoint

KINDS = ("shared memory", "bulk", "in process")
PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Keys are made in the test's folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("HEADRACE_CLUSTER_KEY", raising=False)
    monkeypatch.delenv("HEADRACE_CLUSTER_KEY_FILE", raising=False)


@pytest.fixture
def make_endpoint(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Makes an endpoint over sockets, or of the kind that the test names by ``indirect`` parameters."""
    kind = getattr(request, "param", KINDS[0])
    network, endpoints = {}, []

    def make(handler: Any = None, address: str | None = None, **options: Any) -> Any:
        if kind == "in process":
            endpoints.append(InProcessEndpoint(handler, network, address, **options))
        else:
            endpoints.append(Endpoint(handler, address, shared_memory=kind == "shared memory", **options))
        return endpoints[-1]

    yield make
    for endpoint in reversed(endpoints):
        endpoint.close()


class Answers:
    """Collects what ``done`` is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, Any, Any]] = []
        self._event = threading.Condition()

    def __call__(self, payload: Any, tensors: Any, error: Any) -> None:
        with self._event:
            self.told.append((payload, tensors, error))
            self._event.notify_all()

    def wait(self, count: int = 1) -> list[tuple[Any, Any, Any]]:
        with self._event:
            assert self._event.wait_for(lambda: len(self.told) >= count, PATIENCE_S), (
                f"{len(self.told)} of {count} came"
            )
        return self.told


def ask(peer: Any, method: str, payload: Any = None, tensors: Any = (), timeout: float | None = PATIENCE_S) -> Any:
    """Calls and waits; returns (payload, tensors) or raises the error."""
    answers = Answers()
    peer.call(method, payload or {}, tensors, answers, timeout)
    (result, values, error), *_ = answers.wait()
    if error is not None:
        raise error
    return result, values


def until(condition: Callable[[], Any], what: str = "it") -> None:
    """Waits until the condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.005)
