"""Writes names.json: what TensorFlow gives for the programs of name_programs.py.  Run with TensorFlow installed."""

import json
from pathlib import Path

import tensorflow.compat.v1 as tf
from name_programs import PROGRAMS, describe

tf.disable_v2_behavior()
found = {name: describe(tf, function) for name, function in PROGRAMS.items()}
lines = ",\n".join(f"{json.dumps(k)}: [\n" + ",\n".join(f" {json.dumps(n)}" for n in v) + "]" for k, v in found.items())
Path(__file__).with_name("names.json").write_text("{" + lines + "}\n")
