"""tf.config.optimizer: compiling and rewrites in sessions that are given no ConfigProto."""

from headrace.library.system.session_setting import (
    get_experimental_options as get_experimental_options,
)
from headrace.library.system.session_setting import (
    get_jit as get_jit,
)
from headrace.library.system.session_setting import (
    set_experimental_options as set_experimental_options,
)
from headrace.library.system.session_setting import (
    set_jit as set_jit,
)
