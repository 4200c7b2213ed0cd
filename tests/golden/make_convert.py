"""Writes convert.json: what TensorFlow makes of the values of convert_cases.py.  Run with TensorFlow installed."""

import json
from pathlib import Path

import tensorflow.compat.v1 as tf
from convert_cases import DTYPES, VALUES, describe

tf.disable_v2_behavior()
found = {name: {str(d): describe(tf, value, d) for d in DTYPES} for name, value in VALUES.items()}
lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
Path(__file__).with_name("convert.json").write_text("{" + lines + "}\n")
