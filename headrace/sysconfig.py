"""For people who compile ops: TF1's ``tf.sysconfig``."""

from headrace.library.system.sysconfig import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from headrace.library.system.sysconfig import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from headrace.library.system.sysconfig import get_compile_flags as get_compile_flags
from headrace.library.system.sysconfig import get_include as get_include
from headrace.library.system.sysconfig import get_lib as get_lib
from headrace.library.system.sysconfig import get_link_flags as get_link_flags
