"""tf.summary: summaries of what a program computes, and the event files that TensorBoard shows."""

from typing import Any as _Any

from headrace.core import proto as _proto
from headrace.library.summary.file_writer import FileWriter as FileWriter
from headrace.library.summary.file_writer import FileWriterCache as FileWriterCache
from headrace.library.summary.summary import audio as audio
from headrace.library.summary.summary import get_summary_description as get_summary_description
from headrace.library.summary.summary import histogram as histogram
from headrace.library.summary.summary import image as image
from headrace.library.summary.summary import merge as merge
from headrace.library.summary.summary import merge_all as merge_all
from headrace.library.summary.summary import scalar as scalar
from headrace.library.summary.summary import tensor_summary as tensor_summary
from headrace.library.summary.summary import text as text
from headrace.library.summary.summary_writer import all_v2_summary_ops as all_v2_summary_ops
from headrace.library.summary.summary_writer import initialize as initialize

_MESSAGES = ("Event", "SessionLog", "Summary", "SummaryDescription", "TaggedRunMetadata")


def __getattr__(name: str) -> _Any:
    if name in _MESSAGES:  # TensorBoard is imported when one of these is first asked for
        return getattr(_proto, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MESSAGES})
