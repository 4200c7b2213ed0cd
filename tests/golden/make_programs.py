"""Makes <family>.json for the families named on the command line (all by default), with real TensorFlow.

Run in this folder with an interpreter that has tensorflow: ``python make_programs.py sparse``.
"""

import importlib
import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow.compat.v1 as tf
from program import encode, run

tf.disable_v2_behavior()
tf.disable_resource_variables()
tf.logging.set_verbosity("FATAL")

FAMILIES = (
    "candidate",
    "ctc",
    "feature_column",
    "lookup",
    "parsing",
    "resource",
    "search",
    "signal",
    "sparse",
    "state",
    "string",
    "summary",
    "vision",
)


def make(family: str) -> None:
    programs = importlib.import_module(f"{family}_programs").PROGRAMS
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    kept = {}
    for name, program in programs.items():
        values, nodes = run(tf, program, config=config)
        kept[name] = {"values": [encode(v) for v in values]}
        if name not in programs.unnamed:
            kept[name]["nodes"] = nodes
    path = Path(__file__).parent / f"{family}.json"
    path.write_text(json.dumps(kept, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    print(f"{family}: {len(kept)} programs, {path.stat().st_size} bytes")


if __name__ == "__main__":
    for family in sys.argv[1:] or FAMILIES:
        make(family)
