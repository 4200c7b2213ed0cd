"""Makes tests/golden/checkpoints with real TensorFlow: ``<python with tensorflow> tests/golden/make_checkpoints.py``."""

import os
import shutil
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import checkpoint_cases as cases
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl

FOLDER = Path(__file__).with_name("checkpoints")


def variables(arrays, use_resource=False):
    for name, array in arrays.items():
        tf.Variable(array, name=name, use_resource=use_resource, dtype=tf.string if array.dtype == object else None)


def save(name, build, meta=False, **options):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        fetches = build()
        saver = tf.train.Saver(**options)
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(tf.global_variables_initializer())
            result = session.run(fetches) if fetches is not None else None
            saver.save(session, str(FOLDER / name), write_meta_graph=meta, write_state=False)
            return result


def partitioned(use_resource=False):
    def build():
        with tf.variable_scope("", use_resource=use_resource):
            cases.make_partitioned(tf, rows=3, columns=4)

    return build


def two_devices():
    for device in range(2):
        with tf.device(f"/cpu:{device}"):
            tf.Variable(cases.ROWS + device, name=f"on_{device}")


def odd_types():
    tf.Variable(tf.cast(cases.BFLOAT16, tf.bfloat16), name="bfloat16", trainable=False)
    tf.Variable(tf.bitcast(cases.QUANTIZED, tf.qint8), name="qint8", trainable=False)


def lstm():
    cell = rnn_cell_impl.MultiRNNCell([rnn_cell_impl.LSTMCell(cases.LSTM_UNITS) for _ in range(2)])
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(cases.LSTM_INPUT), dtype=tf.float32)
    loss = tf.reduce_sum(outputs**2)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
    with tf.control_dependencies([train]):
        return tf.identity(loss)


def lstm_outputs():
    """What the network computes with the variables that were saved."""
    with tf.Graph().as_default():
        cell = rnn_cell_impl.MultiRNNCell([rnn_cell_impl.LSTMCell(cases.LSTM_UNITS) for _ in range(2)])
        outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(cases.LSTM_INPUT), dtype=tf.float32)
        with tf.Session() as session:
            tf.train.Saver().restore(session, str(FOLDER / "lstm"))
            return session.run(outputs)


def main():
    tf.disable_v2_behavior()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    save("plain", lambda: variables(cases.plain()))
    save("many", lambda: variables(cases.many(), use_resource=True))
    save("odd", odd_types)
    save("partitioned", partitioned())
    save("partitioned_resource", partitioned(use_resource=True))
    save("two_devices", two_devices, sharded=True)
    save("v1", lambda: variables(cases.v1()), write_version=tf.train.SaverDef.V1)
    save("v1_partitioned", partitioned(), write_version=tf.train.SaverDef.V1)
    save("v1_sharded", two_devices, write_version=tf.train.SaverDef.V1, sharded=True)
    save("lstm", lstm)
    save("network", lambda: cases.make_network(tf), meta=True)
    np.save(FOLDER / "lstm_outputs.npy", lstm_outputs())


if __name__ == "__main__":
    main()
