"""tf.profiler: the parameters and float operations of a graph, what its traced steps took, and the timeline of a step."""

from typing import Any as _Any

from headrace.core import proto as _proto
from headrace.library.testing.profiler.advice import AdviceProto as AdviceProto
from headrace.library.testing.profiler.node_proto import GraphNodeProto as GraphNodeProto
from headrace.library.testing.profiler.node_proto import MultiGraphNodeProto as MultiGraphNodeProto
from headrace.library.testing.profiler.op_log import write_op_log as write_op_log
from headrace.library.testing.profiler.option import ProfileOptionBuilder as ProfileOptionBuilder
from headrace.library.testing.profiler.profile import profile as profile
from headrace.library.testing.profiler.profiler import Profiler as Profiler
from headrace.library.testing.profiler.profiler import advise as advise
from headrace.library.testing.profiler.timeline import Timeline as Timeline
from headrace.runtime.costs.costs import Costs as Costs


def __getattr__(name: str) -> _Any:
    if name == "OpLogProto":  # TensorBoard's: imported when it is first asked for
        return getattr(_proto, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({"OpLogProto", *globals()})
