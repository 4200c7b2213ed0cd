"""All requests that a task answers, by their methods, and what decodes them for an endpoint that serves tasks."""

from __future__ import annotations

from typing import Final

from headrace.cluster.request import Request, decoder
from headrace.cluster.trace_request import TakeTraces, TraceSteps

_MORE: Final[tuple[type[Request], ...]] = (TraceSteps, TakeTraces)  # of a file of their own: it must be imported
REQUESTS: Final[dict[str, type[Request]]] = {one.method: one for one in (*Request.__subclasses__(), *_MORE)}
DECODERS: Final = {method: decoder(one) for method, one in REQUESTS.items()}
