"""Samples of the ops on staging areas.  What is got is put by another node with the same ``shared_name``."""

import numpy as np
from sample_forms import plain as s
from sample_forms import wrong

from headrace.core import dtypes
from headrace.core.errors import ResourceExhaustedError
from headrace.graph import raw_ops
from headrace.library.control.dependency import identity
from headrace.library.scope import control_dependencies
from headrace.library.testing.opcheck import Sample

F, S = dtypes.float32, dtypes.string
TYPES = [F, S]
ROWS = np.array([[1, 2], [3, 4]], np.float32)
TEXT = np.array(b"text", object)
BOTH = np.int32([0, 1])
KEY = np.int64(7)


def after_stage(value, dtype):
    """A value that is there once an element was put."""
    with control_dependencies([raw_ops.Stage([ROWS, TEXT], shared_name="area")]):
        return identity(np.asarray(value, dtype))


def after_map_stage(value, dtype, prefix):
    stage = getattr(raw_ops, f"{prefix}MapStage")
    with control_dependencies([stage(KEY, BOTH, [ROWS, TEXT], dtypes=TYPES, shared_name=f"{prefix}map")]):
        return identity(np.asarray(value, dtype))


SAMPLES: dict[str, list[Sample]] = {
    "Stage": [
        s([ROWS, TEXT], capacity=2, memory_limit=1000),
        wrong([ROWS], memory_limit=4, error=ResourceExhaustedError),
        wrong([ROWS], capacity=-1, error=ValueError),
    ],
    "StagePeek": [
        s(lambda: after_stage(0, np.int32), dtypes=TYPES, shared_name="area"),
        wrong(np.int32(-1), dtypes=TYPES),
        wrong(np.int32([0]), dtypes=TYPES, error=ValueError),
    ],
    "StageSize": [s(dtypes=TYPES)],
    "StageClear": [s(dtypes=TYPES)],
}
for _prefix in ("", "Ordered"):
    _name = f"{_prefix}map"

    def _key(prefix=_prefix):
        return after_map_stage(KEY, np.int64, prefix)

    def _indices(prefix=_prefix):
        return after_map_stage([1], np.int32, prefix)

    SAMPLES |= {
        f"{_prefix}MapStage": [
            s(KEY, BOTH, [ROWS, TEXT], dtypes=TYPES),
            s(KEY, BOTH[:1], [ROWS], dtypes=TYPES),
            wrong(KEY, BOTH, [ROWS], dtypes=TYPES),
            wrong(KEY, BOTH[::-1], [ROWS, TEXT], dtypes=[S, F]),
            wrong(KEY, np.int32([2]), [ROWS], dtypes=TYPES),
            wrong(KEY, BOTH, [TEXT, TEXT], dtypes=TYPES),
            wrong(np.int64([7]), BOTH, [ROWS, TEXT], dtypes=TYPES, error=ValueError),
        ],
        f"{_prefix}MapUnstage": [
            s(_key, BOTH, dtypes=TYPES, shared_name=_name),
            s(_key, BOTH[1:], dtypes=[S], shared_name=_name),
            wrong(_key, BOTH, dtypes=[S, S], shared_name=_name),
            wrong(_key, BOTH, dtypes=[F], shared_name=_name),
        ],
        f"{_prefix}MapPeek": [s(_key, BOTH, dtypes=TYPES, shared_name=_name)],
        f"{_prefix}MapUnstageNoKey": [s(_indices, dtypes=[S], shared_name=_name)],
        f"{_prefix}MapSize": [s(dtypes=TYPES)],
        f"{_prefix}MapIncompleteSize": [s(dtypes=TYPES)],
        f"{_prefix}MapClear": [s(dtypes=TYPES)],
    }
