"""tf.saved_model.signature_constants: the names in signatures."""

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
