"""What real TensorFlow makes of every op's invalid calls (tests/ops/invalid.py): whether they fail, in which phase, with what.

`faults.json`, made by `make_faults.py`, has an entry for each op: a digest of the calls, and a letter for each call, ``static``
ones and ``late`` ones apart.  A small letter is an error while building, a capital one while running.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.call import NotData, from_sample, from_slots
from conformance.wire import digest
from ops.invalid import FORMS, Fault, faults

from headrace.core.registry import OpDef
from headrace.library.testing.opcheck import Sample

FILE = Path(__file__).parent / "faults.json"
UPDATE = "HEADRACE_TF_PYTHON=<python with tensorflow> python tests/golden/make_faults.py"
RUNS, UNKNOWN, UNNAMED = ".", "?", "*"
"""The call succeeds; TensorFlow crashes, or has no kernel for it, which says nothing; an error of another class."""

_CLASSES = {
    "InvalidArgumentError": "i", "ValueError": "v", "TypeError": "t", "UnimplementedError": "u", "InternalError": "x",
    "OutOfRangeError": "r", "NotFoundError": "n", "FailedPreconditionError": "f", "NotImplementedError": "m",
    "ResourceExhaustedError": "e", "DataLossError": "d", "AbortedError": "a", "UnknownError": "k", "RuntimeError": "s",
    "PermissionDeniedError": "p", "no such dtype": "l",
}  # fmt: skip


NO_SUCH_DTYPE = _CLASSES["no such dtype"]
"""A TypeError: TensorFlow's op does not take this dtype, which Headrace's may."""


def letter(phase: str, error: str | None) -> str:
    """One outcome as a letter; ``error`` is the name of a class."""
    if error is None:
        return RUNS
    found = _CLASSES[error]
    return found if phase == "building" else found.upper()


def letter_of(phase: str, error: Exception | None) -> str:
    """Headrace's outcome as a letter; `UNNAMED` for a class that no error of a user's mistake should have."""
    name = None if error is None else type(error).__name__
    return UNNAMED if name is not None and name not in _CLASSES else letter(phase, name)


def outcome(answer: dict[str, Any]) -> str:
    """TensorFlow's answer as a letter."""
    error = answer.get("error")
    if "crash" in answer or "unsupported" in answer or (error is not None and error not in _CLASSES):
        return UNKNOWN
    return letter(answer.get("phase", ""), error)


def calls(op_def: OpDef, sample: Sample) -> list[tuple[Fault, dict[str, Any]]]:
    """Every fault with its call; NotData where the inputs cannot be written down."""
    return [
        (fault, {**from_slots(op_def, fault.sample, fault.slots), "form": fault.form})
        for fault in faults(op_def, sample)
    ]


def stamp(op_def: OpDef, sample: Sample) -> str:
    """Differs when the calls do."""
    return digest([from_sample(op_def.name, sample), [(f.form, f.what) for f in faults(op_def, sample)]])


# TensorFlow is not asked for these: what it does with them is undefined, and depends on the processor or on the memory.
UNDEFINED = {
    # NaN as an index: 0 on Arm; on x86 the smallest integer, which is out of the memory.
    ("late", "CropAndResizeGradBoxes"): ("input 2: nan",),
    ("late", "CropAndResizeGradImage"): ("input 1: nan",),
    ("late", "Mfcc"): ("lower_frequency_limit=nan",),
    # NaN as a size: 0 on Arm; on x86 the smallest integer, which is refused.
    ("static", "FractionalAvgPool"): ("pooling_ratio=*nan*",),
    ("static", "FractionalMaxPool"): ("pooling_ratio=*nan*",),
    # Writes behind the end of its output, which may end the process, now or at a later call.
    ("late", "FractionalAvgPoolGrad"): ("input 1: one row more", "input 1: one column more"),
    ("late", "FractionalMaxPoolGrad"): ("input 0: one row more", "input 0: one column more"),
    # Ends the process, more often than `make_faults.CRASHES`.
    ("late", "MaxPoolGradWithArgmax"): ("input 2: -* at *", "input 2: 1000 at *"),
}


def defined(name: str, fault: Fault) -> bool:
    """Whether TensorFlow gives the same outcome on every processor."""
    return not any(fnmatchcase(fault.what, pattern) for pattern in UNDEFINED.get((fault.form, name), ()))


OF_CHECKOUT = ("MatchingFiles", "ReadFile")  # their samples name files of the checkout


def comparable(op_def: OpDef, sample: Sample) -> bool:
    """Whether TensorFlow can be asked: the inputs are data, the same in every checkout."""
    try:
        stamp(op_def, sample)
    except NotData:
        return False
    return op_def.name not in OF_CHECKOUT


def load() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text())
    return found


def by_form(pairs: list[tuple[Fault, str]]) -> dict[str, str]:
    """The letters of each form, in the order of the faults."""
    return {form: "".join(found for fault, found in pairs if fault.form == form) for form in FORMS}
