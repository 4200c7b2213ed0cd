"""tf.config.experimental: the devices of sessions that are given no ConfigProto."""

from headrace.library.system.physical_device import (
    VirtualDeviceConfiguration as VirtualDeviceConfiguration,
)
from headrace.library.system.physical_device import (
    get_memory_growth as get_memory_growth,
)
from headrace.library.system.physical_device import (
    get_virtual_device_configuration as get_virtual_device_configuration,
)
from headrace.library.system.physical_device import (
    get_visible_devices as get_visible_devices,
)
from headrace.library.system.physical_device import (
    list_logical_devices as list_logical_devices,
)
from headrace.library.system.physical_device import (
    list_physical_devices as list_physical_devices,
)
from headrace.library.system.physical_device import (
    set_memory_growth as set_memory_growth,
)
from headrace.library.system.physical_device import (
    set_virtual_device_configuration as set_virtual_device_configuration,
)
from headrace.library.system.physical_device import (
    set_visible_devices as set_visible_devices,
)
