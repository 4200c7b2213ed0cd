"""Runs the chains of dataset_cases.py under TensorFlow and writes what they give to dataset.json."""

import json
from pathlib import Path

import tensorflow.compat.v1 as tf
from dataset_cases import SEEDS, found

tf.disable_v2_behavior()

if __name__ == "__main__":
    results = [json.dumps(found(tf, seed), separators=(",", ":")) for seed in SEEDS]
    lines = ",\n".join(f'"{seed}": {result}' for seed, result in zip(SEEDS, results, strict=True))
    Path(__file__).with_name("dataset.json").write_text("{\n" + lines + "\n}\n")
