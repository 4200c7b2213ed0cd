"""A training pipeline in one graph: files are read, examples preprocessed and shuffled, and batches trained on, all concurrently.

The subgraphs are those of Fig. 2 in "TensorFlow: A System for Large-Scale Machine Learning".  Threads of queue runners read,
preprocess and fill the queues; the main thread trains; another thread evaluates the same variables meanwhile.  Run it with
`python examples/input_pipeline.py`.
"""

import argparse
import tempfile
import threading
from pathlib import Path

import numpy as np
from progress import say, steps

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
FILES = 4  # with examples to train on
TESTED = 297  # examples to evaluate with, in a file of their own
HIDDEN = 64
BATCH = 32
READERS = 2  # threads that preprocess


def main(argv=None):
    """Trains; returns the losses, the accuracies seen beside training as (step, accuracy), and the last accuracy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=400, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, noise and order (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.steps < 1:
        parser.error(f"--steps must be at least 1, not {options.steps}")
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        tf.set_random_seed(options.seed)
        training_files, test_file = write_records(Path(folder), np.random.RandomState(options.seed))
        images, labels = training_batches(training_files)
        test_images, test_labels = test_batches([test_file])
        random = np.random.RandomState(options.seed)
        with tf.variable_scope("model"):
            loss = loss_of(logits_of(images, random), labels)
        with tf.variable_scope("model", reuse=True):
            accuracy = accuracy_of(logits_of(test_images, random), test_labels)
        step = tf.train.get_or_create_global_step()
        train_op = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=step)
        return run(train_op, loss, accuracy, step, options.steps)


# ---- files


def write_records(folder, random):
    """Writes the digits as TFRecord files; gives the names of those to train on, and of the one to evaluate with."""
    with np.load(DIGITS) as arrays:
        images, labels = arrays["images"].astype(np.uint8), arrays["labels"]
    order = random.permutation(len(labels))
    parts = [order[:TESTED], *np.array_split(order[TESTED:], FILES)]
    names = [str(folder / "test.tfrecord"), *(str(folder / f"train-{i}.tfrecord") for i in range(FILES))]
    for name, part in zip(names, parts, strict=True):
        with tf.python_io.TFRecordWriter(name) as writer:
            for i in part:
                writer.write(example_of(images[i], labels[i]).SerializeToString())
    return names[1:], names[0]


def example_of(image, label):
    """One image and what it shows, as it is stored."""
    features = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


# ---- subgraphs: input


def read(files, shuffle):
    """The next image and label of the files, over and over."""
    names = tf.train.string_input_producer(files, shuffle=shuffle)
    _, record = tf.TFRecordReader().read(names)
    features = {"image": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    parsed = tf.parse_single_example(record, features)
    image = tf.reshape(tf.decode_raw(parsed["image"], tf.uint8), [64])
    return tf.cast(image, tf.float32) / 16.0, parsed["label"]


def training_batches(files):
    """Batches in random order, of images with a little noise."""
    with tf.name_scope("training_input"):
        image, label = read(files, shuffle=True)
        image += tf.random_normal([64], stddev=0.05)
        return tf.train.shuffle_batch(
            [image, label], BATCH, capacity=1000 + 3 * BATCH, min_after_dequeue=500, num_threads=READERS
        )


def test_batches(files):
    """All images of the test, once in each batch."""
    with tf.name_scope("test_input"):
        image, label = read(files, shuffle=False)
        return tf.train.batch([image, label], TESTED, capacity=2 * TESTED)


# ---- subgraphs: the model


def logits_of(images, random):
    """Two dense layers."""
    hidden = tf.nn.relu(dense(images, HIDDEN, random, "hidden"))
    return dense(hidden, 10, random, "logits")


def dense(inputs, units, random, name):
    """inputs @ W + b; the first weights come from `random`."""
    with tf.variable_scope(name):
        fan_in = int(inputs.shape[1])
        start = random.standard_normal((fan_in, units)) * np.sqrt(2.0 / fan_in)
        weights = tf.get_variable("W", [fan_in, units], initializer=tf.constant_initializer(start.astype(np.float32)))
        biases = tf.get_variable("b", [units], initializer=tf.zeros_initializer())
        return tf.matmul(inputs, weights) + biases


def loss_of(logits, labels):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss")


def accuracy_of(logits, labels):
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32), name="accuracy")


# ---- steps


def run(train_op, loss, accuracy, step, count):
    """Runs steps that fill the queues, steps that train, and steps that evaluate, at the same time."""
    coordinator = tf.train.Coordinator()
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        evaluator = threading.Thread(target=evaluate, args=(session, coordinator, [step, accuracy], seen))
        threads = [*tf.train.start_queue_runners(session, coordinator), evaluator]
        evaluator.start()
        losses = []
        with coordinator.stop_on_exception():
            for i in steps(count):
                _, value = session.run([train_op, loss])
                losses.append(float(value))
                if i % 50 == 0 or i == count - 1:
                    say(f"step {i:4d}  loss {value:.4f}  {latest(seen)}")
            last = float(session.run(accuracy))
        coordinator.request_stop()
        coordinator.join(threads)
    say(f"accuracy {last:.4f}, after {len(seen)} evaluations beside {count} training steps")
    return losses, seen, last


def evaluate(session, coordinator, fetches, seen):
    """Evaluates until the coordinator stops; training goes on meanwhile."""
    with coordinator.stop_on_exception():
        while not coordinator.should_stop():
            step, accuracy = session.run(fetches)
            seen.append((int(step), float(accuracy)))


def latest(seen):
    """The newest accuracy, in words."""
    return f"accuracy {seen[-1][1]:.4f} at step {seen[-1][0]}" if seen else "not evaluated yet"


if __name__ == "__main__":
    main()
