"""What real TensorFlow makes of every op's samples (tests/samples): where it is kept, and which ops are not compared.

One file per family in `tests/golden/sample_results/`, made by `make_samples.py`: a compressed message
(tests/conformance/wire.py), op -> a list with one entry per sample: the digest of the call and TensorFlow's result.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.call import Call, NotData, from_sample
from conformance.wire import decode, encode

from headrace.core.registry import REGISTRY
from headrace.library.testing.opcheck import Sample

FOLDER = Path(__file__).parent / "sample_results"
UPDATE = "HEADRACE_TF_PYTHON=<python with tensorflow> python tests/golden/make_samples.py"
FAMILIES = sorted(p.stem for p in (Path(__file__).parent.parent / "samples").glob("*.py") if p.stem != "__init__")

_TABLE = "takes the handle of a table; tests/golden/lookup_programs.py compares whole programs"
_QUEUE = "takes or gives the handle of a queue; tests/tensorflow/programs/queues.py compares it"
_READER = "takes the handle of a reader; tests/tensorflow/programs/input_pipeline.py compares it"
_ACCUMULATOR = "takes or gives the handle of an accumulator; tests/tensorflow/programs/accumulators.py compares it"
_BARRIER = "takes or gives the handle of a barrier; tests/tensorflow/programs/staging.py compares it"
_STAGED = "needs a put before it, or leaves something behind; tests/tensorflow/programs/staging.py compares it"
_DECODED = "its inputs come from QuantizeV2, which is compared; tests/library/network/test_ctc.py runs both"
NOT_COMPARED = {
    "GatherTree": "TensorFlow has it in an add-on; tests/golden/rnn_cases.py compares beam search",
    "Resampler": "TensorFlow 1 has it in an add-on; tests/library/contrib/test_resampler.py has its formula",
    "ResamplerGrad": "TensorFlow 1 has it in an add-on; tests/library/contrib/test_resampler.py has its formula",
    "MutexLock": "takes the handle of a mutex; tests/library/control/test_critical_section.py runs it",
    "ConsumeMutexLock": "takes the handle of a mutex; tests/library/control/test_critical_section.py runs it",
    "Dequantize": _DECODED,
    "ImageSummary": "another zlib compresses the PNG; tests/library/summary/test_summary_golden.py compares the pixels",
    "PyFunc": "calls a Python function; tests/library/control/test_host.py runs it",
    "EagerPyFunc": "calls a Python function; tests/library/function/test_py_function.py runs it",
    "PyFuncStateless": "calls a Python function; tests/library/control/test_host.py runs it",
    "Timestamp": "tells the time",
    "MatchingFiles": "depends on where the checkout is; tests/library/text/test_string.py runs it",
    "ReadFile": "depends on where the checkout is; tests/library/text/test_string.py runs it",
    **dict.fromkeys(
        ("InitializeTableFromTextFileV2", "InitializeTableV2", "LookupTableExportV2", "LookupTableFindV2",
         "LookupTableImportV2", "LookupTableInsertV2", "LookupTableRemoveV2", "LookupTableSizeV2"), _TABLE,
    ),
    **dict.fromkeys(
        ("FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2", "QueueCloseV2",
         "QueueDequeueManyV2", "QueueDequeueUpToV2", "QueueDequeueV2", "QueueEnqueueManyV2", "QueueEnqueueV2",
         "QueueIsClosedV2", "QueueSizeV2"), _QUEUE,
    ),
    **dict.fromkeys(
        ("ReaderNumRecordsProducedV2", "ReaderNumWorkUnitsCompletedV2", "ReaderReadUpToV2", "ReaderReadV2",
         "ReaderResetV2", "ReaderRestoreStateV2", "ReaderSerializeStateV2"), _READER,
    ),
    **dict.fromkeys(
        ("ConditionalAccumulator", "AccumulatorApplyGradient", "AccumulatorTakeGradient", "AccumulatorNumAccumulated",
         "AccumulatorSetGlobalStep", "ResourceConditionalAccumulator", "ResourceAccumulatorApplyGradient",
         "ResourceAccumulatorTakeGradient", "ResourceAccumulatorNumAccumulated", "ResourceAccumulatorSetGlobalStep",
         "SparseConditionalAccumulator", "SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient"), _ACCUMULATOR,
    ),
    **dict.fromkeys(
        ("Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose", "BarrierReadySize", "BarrierIncompleteSize"),
        _BARRIER,
    ),
    **dict.fromkeys(("Stage", "StagePeek", "StageSize", "StageClear"), _STAGED),
    **dict.fromkeys(
        (f"{prefix}Map{name}" for prefix in ("", "Ordered") for name in
         ("Stage", "Unstage", "UnstageNoKey", "Peek", "Size", "IncompleteSize", "Clear")), _STAGED,
    ),
}  # fmt: skip


def samples(family: str) -> dict[str, list[Sample]]:
    """The samples of the ops to compare.  Those of Headrace's own passes and gradients begin with an underscore."""
    found: dict[str, list[Sample]] = importlib.import_module(f"samples.{family}").SAMPLES
    return {name: given for name, given in found.items() if not name.startswith("_") and name not in NOT_COMPARED}


def calls(name: str, given: list[Sample]) -> Iterator[tuple[Sample, Call | None]]:
    """Each sample with its call; None for one that is wrong already in what it gives the op."""
    for sample in given:
        try:
            yield sample, from_sample(name, sample)
        except NotData as e:
            raise NotData(f"{name}: {e}; list it in NOT_COMPARED of {__file__} with the reason") from None
        except Exception:
            if sample.error is None:
                raise
            yield sample, None


def random(name: str, sample: Sample) -> bool:
    return sample.random or REGISTRY.get(name).traits.random


def save(folder: Path, family: str, results: dict[str, list[Any]]) -> int:
    """Writes one family's results -> the number of bytes."""
    data = zlib.compress(encode(results), 9)
    (folder / f"{family}.bin").write_bytes(data)
    return len(data)


def load(folder: Path, family: str) -> dict[str, list[Any]]:
    """One family's results; none if there is no file."""
    path = folder / f"{family}.bin"
    found: dict[str, list[Any]] = decode(zlib.decompress(path.read_bytes())) if path.exists() else {}
    return found
