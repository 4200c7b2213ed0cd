"""Makes keras_engine.json: the programs of keras_engine_cases.py by real Keras, in the manner of version 1.

Run with an interpreter that has tensorflow and tf_keras.  Tables are those of TensorFlow 1.15, as its older copy of Keras
(tensorflow.python.keras) still prints them.
"""

from keras_engine_cases import CASES
from real import keep, tf
from tensorflow.python.keras.utils import layer_utils
from tf_keras.api._v1 import keras
from tf_keras.src.engine import functional
from tf_keras.src.utils import layer_utils as newer

keras.__version__ = "2.2.4-tf"
functional.Functional.__name__ = "Model"  # as models were called
newer.print_summary = lambda model, line_length=None, positions=None, print_fn=None, **_: layer_utils.print_summary(
    model, line_length, positions, print_fn
)


def as_in_1_15(value):
    """Without what later versions have added to configurations."""
    if isinstance(value, list):
        return [as_in_1_15(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {k: as_in_1_15(v) for k, v in value.items() if k not in ("groups", "optional", "shared_object_id")}
    layers = found.get("layers")
    if layers and isinstance(layers[0], dict) and "weights" not in found:
        found.pop("trainable", None)
        if "inbound_nodes" not in layers[0]:
            found["layers"] = [layer for layer in layers if layer["class_name"] != "InputLayer"]
            found["layers"][0]["config"].setdefault("batch_input_shape", layers[0]["config"]["batch_input_shape"])
    return found


if __name__ == "__main__":
    found = {}
    for name, case in CASES.items():
        keras.backend.clear_session()
        found[name] = as_in_1_15(case(tf, keras))
    keep("keras_engine.json", found)
