"""tf.profiler: the parameters and float operations of a graph, and the timeline of a traced step."""

from headrace.library.testing.profiler.option import ProfileOptionBuilder as ProfileOptionBuilder
from headrace.library.testing.profiler.profile import GraphNodeProto as GraphNodeProto
from headrace.library.testing.profiler.profile import MultiGraphNodeProto as MultiGraphNodeProto
from headrace.library.testing.profiler.profile import profile as profile
from headrace.library.testing.profiler.timeline import Timeline as Timeline
from headrace.runtime.costs.costs import Costs as Costs
