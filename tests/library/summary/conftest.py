"""TensorBoard's reader takes any module called tensorflow for TensorFlow, even tests/tensorflow, unless there is this one."""

import sys
from types import ModuleType

sys.modules["tensorboard.compat.notf"] = ModuleType("tensorboard.compat.notf")
