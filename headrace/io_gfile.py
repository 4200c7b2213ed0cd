"""Files under TF2's names: ``tf.io.gfile``."""

from headrace.library.file import GFile as GFile
from headrace.library.file import copy as copy
from headrace.library.file import exists as exists
from headrace.library.file import glob_ as glob
from headrace.library.file import isdir as isdir
from headrace.library.file import listdir as listdir
from headrace.library.file import makedirs as makedirs
from headrace.library.file import mkdir as mkdir
from headrace.library.file import remove as remove
from headrace.library.file import rename as rename
from headrace.library.file import rmtree as rmtree
from headrace.library.file import stat as stat
from headrace.library.file import walk as walk
