"""tf.saved_model.signature_def_utils: making and checking signatures."""

from headrace.library.saved_model.signature import build_signature_def as build_signature_def
from headrace.library.saved_model.signature import classification_signature_def as classification_signature_def
from headrace.library.saved_model.signature import is_valid_signature as is_valid_signature
from headrace.library.saved_model.signature import predict_signature_def as predict_signature_def
from headrace.library.saved_model.signature import regression_signature_def as regression_signature_def
