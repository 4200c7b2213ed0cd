"""What Headrace saves, loaded by real TensorFlow; runs where HEADRACE_TF_PYTHON names an interpreter that has it."""

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import saved_model_cases as cases

import headrace as tf

PYTHON = os.environ.get("HEADRACE_TF_PYTHON")
SCRIPT = Path(__file__).with_name("load_in_tensorflow.py")


def trained_lstm() -> Any:
    """The LSTM with its training graph: its loop and its conditional keep values for their gradients."""
    signatures = cases.lstm(tf, tf.nn.rnn_cell)
    chosen = signatures["serving_default"][1]["chosen"]
    tf.train.AdamOptimizer().minimize(tf.reduce_mean(tf.square(chosen)))
    return signatures


def save(folder: Path) -> dict[str, Any]:
    """Saves all models; gives what they compute."""
    vocabulary = folder / "vocabulary.txt"
    vocabulary.write_text("\n".join(cases.WORDS) + "\n")
    models = {
        "mlp": (lambda: cases.mlp(tf), {"strip_default_attrs": True}),
        "lenet": (lambda: cases.lenet(tf), {"clear_devices": True}),
        "lstm": (trained_lstm, {}),
        "text": (lambda: cases.text(tf, str(vocabulary)), {}),
        "examples": (lambda: cases.examples(tf), {}),
    }
    results = {}
    for name, (build, options) in models.items():
        with tf.Graph().as_default(), tf.Session() as sess:
            signatures = build()
            sess.run(tf.global_variables_initializer())
            builder = cases.export(tf, sess, str(folder / name), signatures, **options)
            builder.save(as_text=name == "text")
            sess.run(tf.tables_initializer())
            for run, (model, signature, feeds) in enumerate(cases.feeds(tf)):
                if model == name:
                    inputs, outputs = signatures[signature]
                    for key, value in sess.run(outputs, {inputs[k]: v for k, v in feeds.items()}).items():
                        results[f"{run}_{key}"] = value.astype(str) if value.dtype == object else value
            if name == "lstm":
                frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph_def, ["chosen"])
                (folder / "lstm_frozen.pb").write_bytes(frozen.SerializeToString())
    return results


@pytest.mark.skipif(not PYTHON, reason="HEADRACE_TF_PYTHON is not set")
@pytest.mark.timeout(300)
def test_tensorflow_loads_what_we_save(tmp_path: Path) -> None:
    np.savez(tmp_path / "outputs.npz", **save(tmp_path))
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONWARNINGS")}
    done = subprocess.run(
        [str(PYTHON), str(SCRIPT), str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip().endswith("loaded"), done.stderr[-3000:]
