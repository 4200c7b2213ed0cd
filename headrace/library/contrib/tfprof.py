"""contrib.tfprof: the profiler's first form, ``print_model_analysis`` with options that are plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.core.source import at
from headrace.library.testing.profiler.node_proto import GraphNodeProto
from headrace.library.testing.profiler.option import Options, ProfileOptionBuilder
from headrace.library.testing.profiler.profile import profile

TRAINABLE_VARS_PARAMS_STAT_OPTIONS: Final = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS: Final = ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY: Final = ProfileOptionBuilder.time_and_memory()


def print_model_analysis(
    graph: Any, run_meta: Any = None, op_log: Any = None, tfprof_cmd: str = "scope",
    tfprof_options: Mapping[str, Any] = TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
) -> GraphNodeProto:  # fmt: skip
    """Counts the parameters or the float operations of a graph and prints the report.

    Args:
      graph: The graph.
      run_meta: None: the counts need no run.
      op_log: Further entries for the counts, as TensorFlow's OpLogProto; None for none.
      tfprof_cmd: "scope" to count by names, "op" by types of ops.
      tfprof_options: A dictionary of options; what it lacks has the default. ``dump_to_file`` is the path of a file for the
        report, which is then not printed.

    Returns:
      A `tf.profiler.GraphNodeProto`, the root of the report.

    >>> w = tf.get_variable("w", [20, 5])
    >>> stats = tf.contrib.tfprof.model_analyzer.print_model_analysis(tf.get_default_graph())
    Profile:
    node name | # parameters
    _TFProfRoot (--/100 params)
      w (20x5, 100/100 params)
    >>> stats.total_parameters
    100
    """
    if not isinstance(tfprof_options, Mapping):
        raise TypeError(f"tfprof_options must be a dictionary, got {tfprof_options!r} {at()}")
    options: Options = {**ProfileOptionBuilder().build(), **tfprof_options}
    path = options.pop("dump_to_file", "")
    if path:
        options["output"] = f"file:outfile={path}"
    return profile(graph, run_meta, op_log, tfprof_cmd, options)
