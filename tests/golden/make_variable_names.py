"""Builds the programs of variable_programs.py with TensorFlow and writes their graphs to variable_names.json.

Run with a Python that has tensorflow: ``python tests/golden/make_variable_names.py``.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as tf
from variable_programs import PROGRAMS, describe


def main() -> None:
    tf.disable_v2_behavior()
    tf.disable_resource_variables()
    tf.get_logger().setLevel("FATAL")
    found = {}
    for name, program in PROGRAMS.items():
        with tf.Graph().as_default():
            program(tf)
            found[name] = describe(tf)
    lines = []
    for name, graph in found.items():
        nodes = ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in graph["nodes"].items())
        lines.append(
            f' {json.dumps(name)}: {{"collections": {json.dumps(graph["collections"])}, "nodes": {{\n{nodes}\n  }}}}'
        )
    Path(__file__).with_name("variable_names.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
