"""The static shapes that real TensorFlow infers for every op's samples when less is known of the inputs.

Each sample is built with one dimension unknown, with one rank unknown, with the values that decide shapes unknown, and with all
ranks unknown.  `partial.json`, made by `make_partial.py`, has an entry for each op: a digest of the calls, and a text for each.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.call import NotData, from_slots
from conformance.wire import digest
from golden.fault_results import OF_CHECKOUT

from headrace.core.registry import OpDef
from headrace.core.shape import TensorShape
from headrace.library.testing.opcheck import Sample, flatten, less_known

FILE = Path(__file__).parent / "partial.json"
UPDATE = "HEADRACE_TF_PYTHON=<python with tensorflow> python tests/golden/make_partial.py"
SAMPLES = 2  # of each op
FAILS = "-"
"""TensorFlow cannot build the call."""


def calls(op_def: OpDef, sample: Sample) -> list[tuple[str, dict[str, Any]]]:
    """What is unknown, and the call, for each way in which less is known."""
    slots = flatten(op_def, sample)
    whole = from_slots(op_def, sample, slots)
    return [(what, _with_shapes(whole, shapes, hosts)) for what, shapes, hosts in less_known(slots)]


def _with_shapes(call: dict[str, Any], shapes: Sequence[TensorShape | None], hosts: bool) -> dict[str, Any]:
    rest = iter(shapes)

    def entry(item: dict[str, Any]) -> dict[str, Any]:
        shape = next(rest)
        known = {} if shape is None else {"shape": None if shape.ndims is None else shape.as_list()}
        return {**{k: v for k, v in item.items() if k != "host" or hosts}, **known}

    inputs = [[entry(i) for i in x] if isinstance(x, list) else entry(x) for x in call["inputs"]]
    return {**call, "inputs": inputs, "form": "partial"}


def comparable(op_def: OpDef, samples: list[Sample]) -> bool:
    try:
        stamp(op_def, samples)
    except NotData:
        return False
    return op_def.name not in OF_CHECKOUT


def stamp(op_def: OpDef, samples: list[Sample]) -> str:
    """Differs when the calls do."""
    return digest([call for sample in samples[:SAMPLES] for call in calls(op_def, sample)])


def text(shapes: Sequence[Any]) -> str:
    """Static shapes in a text: ``2,?;*`` is a matrix of two rows, and something of unknown rank."""
    return ";".join("*" if s is None else ",".join("?" if d is None else str(d) for d in s) or "()" for s in shapes)


def shapes(text: str) -> list[TensorShape]:
    """The other way round."""
    if not text:
        return []
    return [
        TensorShape(None if s == "*" else [None if d == "?" else int(d) for d in s.split(",") if d != "()"])
        for s in text.split(";")
    ]


def load() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def save(made: dict[str, Any]) -> None:
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(made[name])}" for name in sorted(made))
    FILE.write_text(f"{{\n{lines}\n}}\n")
