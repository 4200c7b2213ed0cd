"""Makes tests/golden/profile.json with real TensorFlow: run with a Python that has it."""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as tf
from profile_cases import CASES, chain, measure, options

tf.disable_v2_behavior()


def main() -> None:
    builder = tf.profiler.ProfileOptionBuilder
    results = {
        "options": {
            **{name: chosen for name, (_, chosen) in options(tf).items()},
            "time": builder.time_and_memory(min_micros=3),
            "plain": builder().build(),
            "chain": chain(tf),
        },
        "graphs": {case: measure(tf, case) for case in CASES},
    }
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "profile.json"), "w") as file:
        json.dump(results, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
