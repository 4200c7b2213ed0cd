"""All requests that a task answers, by their methods, and what decodes them for an endpoint that serves tasks."""

from __future__ import annotations

from typing import Final

from headrace.cluster.request import Request, decoder
from headrace.cluster.trace_request import TakeTraces, TraceSteps

REQUESTS: Final = {one.method: one for one in (*Request.__subclasses__(), TraceSteps, TakeTraces)}
DECODERS: Final = {method: decoder(one) for method, one in REQUESTS.items()}
