"""tf.config.threading: the threads of sessions that are given no ConfigProto."""

from headrace.library.system.session_setting import (
    get_inter_op_parallelism_threads as get_inter_op_parallelism_threads,
)
from headrace.library.system.session_setting import (
    get_intra_op_parallelism_threads as get_intra_op_parallelism_threads,
)
from headrace.library.system.session_setting import (
    set_inter_op_parallelism_threads as set_inter_op_parallelism_threads,
)
from headrace.library.system.session_setting import (
    set_intra_op_parallelism_threads as set_intra_op_parallelism_threads,
)
