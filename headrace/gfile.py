"""Files: TF1's ``tf.gfile``."""

from headrace.core.errors import OpError as FileError
from headrace.library.system.file import Copy as Copy
from headrace.library.system.file import DeleteRecursively as DeleteRecursively
from headrace.library.system.file import Exists as Exists
from headrace.library.system.file import FastGFile as FastGFile
from headrace.library.system.file import GFile as GFile
from headrace.library.system.file import GFile as Open
from headrace.library.system.file import GFile as OpenFast
from headrace.library.system.file import Glob as Glob
from headrace.library.system.file import IsDirectory as IsDirectory
from headrace.library.system.file import ListDirectory as ListDirectory
from headrace.library.system.file import MakeDirs as MakeDirs
from headrace.library.system.file import MkDir as MkDir
from headrace.library.system.file import Remove as Remove
from headrace.library.system.file import Rename as Rename
from headrace.library.system.file import Stat as Stat
from headrace.library.system.file import Walk as Walk
