"""Makes tests/golden/saved_models with real TensorFlow: ``<python with tensorflow> tests/golden/make_saved_models.py``."""

import os
import shutil
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import saved_model_cases as cases
import tensorflow as tf2
import tensorflow.compat.v1 as tf
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl

FOLDER = Path(__file__).with_name("saved_models")


def save(name, build, as_text=False, **options):
    with tf.Graph().as_default(), tf.Session() as session:
        signatures = build()
        session.run(tf.global_variables_initializer())
        builder = cases.export(tf, session, str(FOLDER / name), signatures, **options)
        if name == "mlp":
            builder.add_meta_graph(["train"], strip_default_attrs=True)
        builder.save(as_text=as_text)


def freeze(name, build, outputs):
    """The graph with its variables as constants, in one file."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        build()
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), outputs)
    (FOLDER / f"{name}_frozen.pb").write_bytes(frozen.SerializeToString(deterministic=True))


def save_module():
    """A model of TensorFlow 2: functions, and variables that are saved by a function."""
    module = tf2.Module()
    module.w = tf2.Variable(cases.weights([4, 2], 13), name="w")

    @tf2.function(input_signature=[tf2.TensorSpec([None, 4], tf2.float32, "x")])
    def serve(x):
        total = tf2.zeros([tf2.shape(x)[0], 2])
        for _ in tf2.range(3):
            total += tf2.tanh(tf2.matmul(x, module.w))
        return {"y": total}

    module.serve = serve
    tf2.saved_model.save(module, str(FOLDER / "module"), signatures=serve)
    for path in ("fingerprint.pb", "assets"):
        target = FOLDER / "module" / path
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)


def outputs():
    results = {}
    for i, (name, signature, feeds) in enumerate(cases.feeds(tf)):
        with tf.Graph().as_default(), tf.Session() as session:
            model = tf.saved_model.loader.load(session, ["serve"], str(FOLDER / name))
            for key, value in cases.run(tf, session, model, signature, feeds).items():
                results[f"{i}_{key}"] = value.astype(str) if value.dtype == object else value
    module = tf2.saved_model.load(str(FOLDER / "module"))
    results["module_y"] = module.serve(tf2.constant(cases.weights([3, 4], 21)))["y"].numpy()
    np.savez(FOLDER / "outputs.npz", **results)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    save_module()
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as temporary:
        tf.disable_control_flow_v2()
        vocabulary = Path(temporary, "vocabulary.txt")
        vocabulary.write_text("\n".join(cases.WORDS) + "\n")
        save("mlp", lambda: cases.mlp(tf), strip_default_attrs=True)
        save("lenet", lambda: cases.lenet(tf), as_text=True, clear_devices=True)
        save("lstm", lambda: cases.lstm(tf, rnn_cell_impl))
        save("text", lambda: cases.text(tf, str(vocabulary)))
        save("examples", lambda: cases.examples(tf))
        freeze("lenet", lambda: cases.lenet(tf), ["scores", "digit"])
        freeze("lstm", lambda: cases.lstm(tf, rnn_cell_impl), ["outputs", "chosen"])
        tf.enable_control_flow_v2()
        save("lstm_functional", lambda: cases.lstm(tf, rnn_cell_impl))
    outputs()


if __name__ == "__main__":
    main()
