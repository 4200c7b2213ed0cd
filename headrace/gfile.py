"""Files: TF1's ``tf.gfile``."""

from headrace.library.file import Copy as Copy
from headrace.library.file import DeleteRecursively as DeleteRecursively
from headrace.library.file import Exists as Exists
from headrace.library.file import FastGFile as FastGFile
from headrace.library.file import GFile as GFile
from headrace.library.file import GFile as Open
from headrace.library.file import Glob as Glob
from headrace.library.file import IsDirectory as IsDirectory
from headrace.library.file import ListDirectory as ListDirectory
from headrace.library.file import MakeDirs as MakeDirs
from headrace.library.file import MkDir as MkDir
from headrace.library.file import Remove as Remove
from headrace.library.file import Rename as Rename
from headrace.library.file import Stat as Stat
from headrace.library.file import Walk as Walk
