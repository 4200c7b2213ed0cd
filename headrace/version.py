"""Versions: TF1's ``tf.version``, and Headrace's own."""

from headrace.library.system.version import COMPILER_VERSION as COMPILER_VERSION
from headrace.library.system.version import GIT_VERSION as GIT_VERSION
from headrace.library.system.version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from headrace.library.system.version import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from headrace.library.system.version import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from headrace.library.system.version import HEADRACE_VERSION as HEADRACE_VERSION
from headrace.library.system.version import VERSION as VERSION
