"""tf.saved_model: a model in a folder, to be loaded elsewhere: graphs, variables, files and signatures."""

from headrace.library.saved_model.builder import Builder as Builder
from headrace.library.saved_model.builder import simple_save as simple_save
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
from headrace.library.saved_model.loader import contains_saved_model as contains_saved_model
from headrace.library.saved_model.loader import load as load
from headrace.library.saved_model.loader import maybe_saved_model_directory as maybe_saved_model_directory
from headrace.library.saved_model.main_op import main_op_with_restore as main_op_with_restore
from headrace.library.saved_model.signature import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from headrace.library.saved_model.signature import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from headrace.library.saved_model.signature import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from headrace.library.saved_model.signature import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from headrace.library.saved_model.signature import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
)
from headrace.library.saved_model.signature import PREDICT_INPUTS as PREDICT_INPUTS
from headrace.library.saved_model.signature import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from headrace.library.saved_model.signature import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from headrace.library.saved_model.signature import REGRESS_INPUTS as REGRESS_INPUTS
from headrace.library.saved_model.signature import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from headrace.library.saved_model.signature import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from headrace.library.saved_model.signature import build_signature_def as build_signature_def
from headrace.library.saved_model.signature import build_tensor_info as build_tensor_info
from headrace.library.saved_model.signature import classification_signature_def as classification_signature_def
from headrace.library.saved_model.signature import get_tensor_from_tensor_info as get_tensor_from_tensor_info
from headrace.library.saved_model.signature import is_valid_signature as is_valid_signature
from headrace.library.saved_model.signature import predict_signature_def as predict_signature_def
from headrace.library.saved_model.signature import regression_signature_def as regression_signature_def
from headrace.library.saved_model.tag import GPU as GPU
from headrace.library.saved_model.tag import SERVING as SERVING
from headrace.library.saved_model.tag import TPU as TPU
from headrace.library.saved_model.tag import TRAINING as TRAINING
from headrace.saved_model import builder as builder
from headrace.saved_model import constants as constants
from headrace.saved_model import loader as loader
from headrace.saved_model import main_op as main_op
from headrace.saved_model import signature_constants as signature_constants
from headrace.saved_model import signature_def_utils as signature_def_utils
from headrace.saved_model import tag_constants as tag_constants
from headrace.saved_model import utils as utils
