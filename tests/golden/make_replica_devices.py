"""Writes tests/golden/replica_devices.json with TensorFlow's compat.v1: ``python tests/golden/make_replica_devices.py``."""

import json
import pathlib

import replica_device_cases as cases
import tensorflow.compat.v1 as tf

if __name__ == "__main__":
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    golden = {name: cases.devices(tf, name) for name in cases.CASES}
    path = pathlib.Path(__file__).with_name("replica_devices.json")
    path.write_text(json.dumps(golden, indent=0, sort_keys=True) + "\n")
