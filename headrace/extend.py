"""The second face: for people who add ops and devices.  See docs/add_an_op.md and docs/add_a_device.md."""

from headrace.core.registry import OpDef as OpDef
from headrace.graph import raw_ops as raw_ops
from headrace.library.conformance.devicecheck import DeviceCheckError as DeviceCheckError
from headrace.library.conformance.devicecheck import DeviceReport as DeviceReport
from headrace.library.conformance.devicecheck import devicecheck as devicecheck
from headrace.library.system.extend import binary as binary
from headrace.library.system.extend import op as op
from headrace.library.system.extend import remove_op as remove_op
from headrace.library.system.extend import unary as unary
from headrace.library.testing.opcheck import OpCheckError as OpCheckError
from headrace.library.testing.opcheck import Sample as Sample
from headrace.library.testing.opcheck import opcheck as opcheck
from headrace.runtime.host.device import Device as Device
from headrace.runtime.host.device import DeviceHooks as DeviceHooks
from headrace.runtime.host.device import LaunchedNode as LaunchedNode
from headrace.runtime.host.device import register_device as register_device
from headrace.runtime.host.device import register_null_device as register_null_device
from headrace.runtime.host.device import unregister_device as unregister_device
