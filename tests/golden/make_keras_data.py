"""Runs ``keras_data_cases`` on TensorFlow's Keras and keeps the results: ``python make_keras_data.py`` (needs tf_keras)."""

import json
import os
import pathlib
import sys
import warnings

os.environ["TF_USE_LEGACY_KERAS"] = "1"
warnings.simplefilter("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import tf_keras  # noqa: E402
from keras_data_cases import CASES  # noqa: E402
from tf_keras.src.preprocessing import image  # noqa: E402

image.scipy = object()  # asked for also where no case warps an image; scipy itself is not needed then

kept = {name: case(tf_keras) for name, case in CASES.items()}
pathlib.Path(__file__).with_name("keras_data.json").write_text(json.dumps(kept, separators=(",", ":")) + "\n")
print(len(CASES), "cases")
