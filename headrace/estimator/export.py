"""tf.estimator.export: what an exported model receives and gives."""

from headrace.library.estimator.export_output import (
    ClassificationOutput as ClassificationOutput, ExportOutput as ExportOutput, PredictOutput as PredictOutput,
    RegressionOutput as RegressionOutput,
)
from headrace.library.estimator.serving_input import (
    ServingInputReceiver as ServingInputReceiver, TensorServingInputReceiver as TensorServingInputReceiver,
    build_parsing_serving_input_receiver_fn as build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn as build_raw_serving_input_receiver_fn,
)
