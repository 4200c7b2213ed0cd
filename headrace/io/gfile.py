"""Files under TF2's names: ``tf.io.gfile``."""

from headrace.library.system.file import GFile as GFile
from headrace.library.system.file import copy as copy
from headrace.library.system.file import exists as exists
from headrace.library.system.file import glob_ as glob
from headrace.library.system.file import isdir as isdir
from headrace.library.system.file import listdir as listdir
from headrace.library.system.file import makedirs as makedirs
from headrace.library.system.file import mkdir as mkdir
from headrace.library.system.file import remove as remove
from headrace.library.system.file import rename as rename
from headrace.library.system.file import rmtree as rmtree
from headrace.library.system.file import stat as stat
from headrace.library.system.file import walk as walk
