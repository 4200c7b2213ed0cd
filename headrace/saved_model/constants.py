"""tf.saved_model.constants: the files of a SavedModel, and the keys of its collections."""

from headrace.library.saved_model.layout import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from headrace.library.saved_model.layout import ASSETS_KEY as ASSETS_KEY
from headrace.library.saved_model.layout import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from headrace.library.saved_model.layout import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from headrace.library.saved_model.layout import LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY
from headrace.library.saved_model.layout import MAIN_OP_KEY as MAIN_OP_KEY
from headrace.library.saved_model.layout import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from headrace.library.saved_model.layout import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from headrace.library.saved_model.layout import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from headrace.library.saved_model.layout import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from headrace.library.saved_model.layout import VARIABLES_FILENAME as VARIABLES_FILENAME
