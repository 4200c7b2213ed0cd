"""tf.debugging."""

from headrace.core.traceback_filter import (
    disable_traceback_filtering as disable_traceback_filtering,
    enable_traceback_filtering as enable_traceback_filtering,
    is_traceback_filtering_enabled as is_traceback_filtering_enabled,
)
from headrace.library.control.assertion import (
    Assert as Assert, assert_equal as assert_equal, assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal, assert_integer as assert_integer, assert_less as assert_less,
    assert_less_equal as assert_less_equal, assert_near as assert_near, assert_negative as assert_negative,
    assert_non_negative as assert_non_negative, assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal, assert_positive as assert_positive,
    assert_proper_iterable as assert_proper_iterable, assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least, assert_rank_in as assert_rank_in,
    assert_same_float_dtype as assert_same_float_dtype, assert_scalar as assert_scalar, assert_type as assert_type,
    check_numerics as check_numerics, is_non_decreasing as is_non_decreasing, is_numeric_tensor as is_numeric_tensor,
    is_strictly_increasing as is_strictly_increasing, verify_tensor_all_finite as assert_all_finite,
)
from headrace.library.debugging import tfdbg as tfdbg
from headrace.library.debugging.graph_difference import (
    compare_checkpoints as compare_checkpoints, compare_graphs as compare_graphs,
)
from headrace.library.debugging.parameters import parameter_table as parameter_table
from headrace.library.debugging.run_difference import compare_runs as compare_runs
from headrace.library.system.session_setting import (
    get_log_device_placement as get_log_device_placement, set_log_device_placement as set_log_device_placement,
)
from headrace.library.numeric.math import is_finite as is_finite, is_inf as is_inf, is_nan as is_nan

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "check_numerics",
    "compare_checkpoints",
    "compare_graphs",
    "compare_runs",
    "disable_traceback_filtering",
    "enable_traceback_filtering",
    "get_log_device_placement",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_traceback_filtering_enabled",
    "parameter_table",
    "set_log_device_placement",
    "tfdbg",
]
