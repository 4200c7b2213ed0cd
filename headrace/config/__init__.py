"""tf.config: the devices, threads and options of sessions that are given no ConfigProto."""

from headrace.config import experimental as experimental
from headrace.config import optimizer as optimizer
from headrace.config import threading as threading
from headrace.library.function.function import experimental_run_functions_eagerly as experimental_run_functions_eagerly
from headrace.library.system.physical_device import experimental_list_devices as experimental_list_devices
from headrace.library.system.session_setting import (
    experimental_connect_to_cluster as experimental_connect_to_cluster,
)
from headrace.library.system.session_setting import (
    experimental_connect_to_host as experimental_connect_to_host,
)
from headrace.library.system.session_setting import (
    get_soft_device_placement as get_soft_device_placement,
)
from headrace.library.system.session_setting import (
    set_soft_device_placement as set_soft_device_placement,
)
