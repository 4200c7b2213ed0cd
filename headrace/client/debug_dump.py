"""Files that a run leaves for tfdbg: one for each tensor that is watched, laid out as TensorFlow lays them out.

    <root>/_tfdbg_device_,job_localhost,replica_0,task_0,device_CPU_0/<scope>/<node>_<slot>_<debug op>_<microseconds>

Each holds one Event; TensorFlow's ``DebugDumpDir`` reads them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from headrace.client.observe import Observed
from headrace.core.config import DebugOptions
from headrace.core.dtypes import as_dtype, string
from headrace.core.errors import InvalidArgumentError, UnimplementedError
from headrace.core.event import LOG_MESSAGE, SUMMARY, event, named_tensor
from headrace.core.source import at
from headrace.core.tensor_proto import encode
from headrace.core.wire import field

PREFIX: Final = "_tfdbg_"
FILE: Final = "file://"


def nan_count(value: Any) -> Any:
    """What DebugNanCount gives."""
    strange = np.isnan(value).sum() if value.dtype.kind in "fc" else 0
    return np.array([strange], np.int64)


def numeric_summary(value: Any) -> Any:
    """What DebugNumericSummary gives: counts, then the range of the finite numbers, then dtype and shape."""
    numbers = value.astype(np.float64) if value.dtype.kind in "fiub" else np.zeros([0])
    finite = numbers[np.isfinite(numbers)]
    counts = [
        np.isnan(numbers).sum(), (numbers == -np.inf).sum(), (finite < 0).sum(), (finite == 0).sum(), (finite > 0).sum(),
        (numbers == np.inf).sum(),
    ]  # fmt: skip
    ranges = (
        [finite.min(), finite.max(), finite.mean(), finite.var()] if finite.size else [np.inf, -np.inf, np.nan, np.nan]
    )
    dtype = _dtype(value).as_datatype_enum
    return np.array([1.0, value.size, *counts, *ranges, dtype, value.ndim, *value.shape], np.float64)


DEBUG_OPS: Final = {
    "DebugIdentity": lambda value: value,
    "DebugNanCount": nan_count,
    "DebugNumericSummary": numeric_summary,
}


def _dtype(value: Any) -> Any:
    return string if value.dtype == object else as_dtype(value.dtype)


def checked_watches(options: DebugOptions) -> dict[str, list[tuple[str, str]]]:
    """What a run leaves: by the name of the tensor, debug ops and folders."""
    watches: dict[str, list[tuple[str, str]]] = {}
    for watch in options.debug_tensor_watch_opts:
        listed = watches.setdefault(f"{watch.node_name}:{watch.output_slot}", [])
        for call in watch.debug_ops:
            name = call.partition("(")[0]
            if name not in DEBUG_OPS:
                known = ", ".join(DEBUG_OPS)
                raise InvalidArgumentError(None, None, f"there is no debug op {call!r}; there are {known} {at()}")
            for url in watch.debug_urls:
                if not url.startswith(FILE):
                    why = f"debug_urls are folders ({FILE}/path), got {url!r}: nothing is sent to debug servers {at()}"
                    raise UnimplementedError(None, None, why)
                listed.append((name, url.removeprefix(FILE)))
    return watches


def write_dumps(
    seen: Iterable[Observed], watches: dict[str, list[tuple[str, str]]], global_step: int, fetches: Sequence[str],
    targets: Sequence[str], feeds: Sequence[str],
) -> None:  # fmt: skip
    """Writes what was seen, and what the run was."""
    roots = dict.fromkeys(root for listed in watches.values() for _, root in listed)
    run = {
        "global_step": global_step, "session_run_index": 0, "executor_step_index": 0, "input_names": list(feeds),
        "output_names": list(fetches), "target_nodes": list(targets),
    }  # fmt: skip
    names = {
        f"core_metadata_{time.time() * 1e6:.0f}": json.dumps(run), "fetches_info_": str([*fetches, *targets]),
        "feed_keys_info_": str([*feeds]),
    }  # fmt: skip
    for root in roots:
        os.makedirs(root, exist_ok=True)
        for name, text in names.items():
            _write(
                os.path.join(root, f"{PREFIX}{name}"), event(time.time(), None, LOG_MESSAGE, field(2, text.encode()))
            )
    for one in seen:
        for name, root in watches.get(one.name, ()):
            node, _, slot = one.name.rpartition(":")
            device = ",".join(part.replace(":", "_") for part in one.device.split("/"))
            path = os.path.join(os.path.normpath(root), f"{PREFIX}device_{device}", f"{node}_{slot}_{name}_{one.when}")
            if os.path.normpath(path) != path:  # names of an imported graph may have dots
                why = f"{one.name} is not written: its name leads to {os.path.normpath(path)} {at()}"
                raise InvalidArgumentError(None, None, why)
            result = DEBUG_OPS[name](one.value)
            summary = named_tensor(f"{one.name}:{name}".encode(), encode(result, _dtype(result)))
            _write(path, event(one.when / 1e6, None, SUMMARY, summary))


def _write(path: str, data: bytes) -> None:
    """A file of its own: an iteration of a loop may have the same microsecond as the one before."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    number, free = 0, path
    while os.path.exists(free):
        number += 1
        free = f"{path}-{number}"
    with open(free, "wb") as file:
        file.write(data)
