"""Messages: TF1's ``tf.logging``."""

from headrace.library.log import DEBUG as DEBUG
from headrace.library.log import ERROR as ERROR
from headrace.library.log import FATAL as FATAL
from headrace.library.log import INFO as INFO
from headrace.library.log import WARN as WARN
from headrace.library.log import debug as debug
from headrace.library.log import error as error
from headrace.library.log import fatal as fatal
from headrace.library.log import flush as flush
from headrace.library.log import get_verbosity as get_verbosity
from headrace.library.log import info as info
from headrace.library.log import log as log
from headrace.library.log import log_every_n as log_every_n
from headrace.library.log import log_first_n as log_first_n
from headrace.library.log import log_if as log_if
from headrace.library.log import set_verbosity as set_verbosity
from headrace.library.log import vlog as vlog
from headrace.library.log import warn as warn
from headrace.library.log import warning as warning
from headrace.library.log import TaskLevelStatusMessage as TaskLevelStatusMessage
