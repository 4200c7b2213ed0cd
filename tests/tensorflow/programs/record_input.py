"""Records of files in random order: every epoch has every record."""

import os
import tempfile

import tensorflow as tf
from tensorflow.python.ops import data_flow_ops


def write(folder):
    for letter in "abc":
        with tf.python_io.TFRecordWriter(os.path.join(folder, letter + ".tfrecord")) as writer:
            for number in range(4):
                writer.write(("%s%d" % (letter, number)).encode())
    options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    with tf.python_io.TFRecordWriter(os.path.join(folder, "d.gz"), options) as writer:
        writer.write(b"zipped")


def epochs(records, batches):
    """What each of three epochs gives, sorted."""
    with tf.Session() as session:
        for _ in range(3):
            print(sorted(record for _ in range(batches) for record in session.run(records).reshape(-1).tolist()))


def main(_):
    folder = tempfile.mkdtemp()
    write(folder)
    files = os.path.join(folder, "*.tfrecord")
    epochs(data_flow_ops.RecordInput(files, batch_size=4).get_yield_op(), 3)
    epochs(data_flow_ops.RecordInput(files, 3, buffer_size=5, parallelism=2, seed=7).get_yield_op(), 4)
    epochs(data_flow_ops.RecordInput(files, 6, buffer_size=100, parallelism=9, shift_ratio=0.5).get_yield_op(), 2)
    gzip = tf.python_io.TFRecordCompressionType.GZIP
    epochs(data_flow_ops.RecordInput(os.path.join(folder, "d.gz"), compression_type=gzip).get_yield_op(), 1)
    batches = data_flow_ops.RecordInput(files, batch_size=2, batches=3, name="input").get_yield_op()
    print([len(batch) for batch in batches], batches[0][0])
    with tf.Session() as session:
        print(sorted(record for _ in range(2) for batch in session.run(batches) for record in batch))
    with tf.Session() as session:
        try:
            session.run(data_flow_ops.RecordInput(os.path.join(folder, "none*")).get_yield_op())
        except tf.errors.OpError as error:
            print(type(error).__name__)


if __name__ == "__main__":
    tf.app.run()
