"""tf.profiler: the parameters and float operations of a graph."""

from headrace.library.profiler.option import ProfileOptionBuilder as ProfileOptionBuilder
from headrace.library.profiler.profile import GraphNodeProto as GraphNodeProto
from headrace.library.profiler.profile import MultiGraphNodeProto as MultiGraphNodeProto
from headrace.library.profiler.profile import profile as profile
