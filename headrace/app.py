"""Running a program: TF1's ``tf.app``."""

from headrace import flags as flags
from headrace.library.system.app import run as run
