"""Real TensorFlow, quiet and in the manner of version 1, and how its results are kept.  For the scripts ``make_*.py``."""

import json
import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.disable_control_flow_v2()
tf.disable_resource_variables()
tf.logging.set_verbosity("FATAL")

HERE = Path(__file__).parent
AS_WRITTEN = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
AS_WRITTEN.graph_options.rewrite_options.disable_meta_optimizer = True


def keep(name, found, **form):
    """Writes ``name``: results by name, as arrays or as JSON.  ``form``: arguments of ``json.dumps``, else a line for each."""
    path = HERE / name
    if path.suffix == ".npz":
        np.savez_compressed(path, **found)
    elif form:
        path.write_text(json.dumps(found, **form) + "\n")
    else:
        rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in found.items())
        path.write_text(f"{{\n{rows}\n}}\n")
    print(f"{name}: {len(found)} results, {path.stat().st_size} bytes")


def numbered(results):
    """Arrays by name and number, of lists of arrays by name."""
    return {f"{name}|{i}": array for name, arrays in results.items() for i, array in enumerate(arrays)}
