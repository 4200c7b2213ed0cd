"""A training that may be stopped at any time: start it again with the same command, and it goes on where it was.

Every hook has a part: checkpoints, summaries for TensorBoard, a trace of one step, a log, a progress bar, an end.  Stop it with
`kill` (SIGTERM), as a cluster does: the step ends, the checkpoint is saved, and the process exits with status 143.  The batch of
a step depends on the number of the step only, so a stop changes the result by no more than rounding.

    python examples/long_training.py --folder /tmp/digits --steps 2000
    tensorboard --logdir /tmp/digits
"""

import argparse
from pathlib import Path

import numpy as np

import headrace as tf

DIGITS = Path(__file__).resolve().parents[1] / "headrace" / "models" / "digits" / "digits.npz"
HIDDEN = 64
BATCH = 32


def main(argv=None):
    """Trains up to the last step; returns the loss of the last batch."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", required=True, help="for checkpoints, events and traces")
    parser.add_argument("--steps", type=int, default=2000, help="the last step (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (default: %(default)s)")
    options = parser.parse_args(argv)
    if options.steps < 1:
        parser.error(f"--steps must be at least 1, not {options.steps}")
    tf.logging.set_verbosity(tf.logging.INFO)
    with tf.Graph().as_default():
        images, labels = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int64, [None])
        train_op, loss = model(images, labels, np.random.RandomState(options.seed))
        batches = Batches(images, labels, options.seed)
        last = tf.train.FinalOpsHook(tf.train.get_global_step())
        value = None
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=options.folder,
            hooks=[*hooks(options, loss), batches, last],
            save_checkpoint_steps=500,
            save_summaries_steps=20,
            log_step_count_steps=500,
        ) as sess:
            while not sess.should_stop():
                _, value = sess.run([train_op, loss])
        print(f"step {last.final_ops_values}" + ("" if value is None else f", loss {value:.6f}"))
        return value


def model(images, labels, random):
    """Two dense layers; gives the op that trains them, and the loss."""
    shapes = ([64, HIDDEN], [HIDDEN, 10])
    first, second = (
        tf.get_variable(f"w{i}", initializer=random.normal(0, shape[0] ** -0.5, shape).astype(np.float32))
        for i, shape in enumerate(shapes)
    )
    logits = tf.matmul(tf.nn.relu(tf.matmul(images, first)), second)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    tf.summary.scalar("loss", loss)
    tf.summary.histogram("weights", first)
    step = tf.train.get_or_create_global_step()
    return tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=step), loss


def hooks(options, loss):
    """What runs beside the training; the session adds checkpoints, summaries and the step counter."""
    return [
        tf.train.StopAtStepHook(last_step=options.steps),
        tf.train.NanTensorHook(loss),
        tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=100),
        tf.train.ProfilerHook(save_steps=1000, output_dir=options.folder),
        tf.train.ProgressHook(options.steps, {"loss": loss}),
    ]


class Batches(tf.train.SessionRunHook):
    """Feeds the batch of each step: which examples they are follows from the seed and the number of the step."""

    def __init__(self, images, labels, seed):
        with np.load(DIGITS) as arrays:
            self._images, self._labels = arrays["images"].reshape(-1, 64) / np.float32(16), arrays["labels"]
        self._fed, self._seed = (images, labels), seed

    def begin(self):
        self._step = tf.train.get_global_step()

    def before_run(self, run_context):
        step = int(run_context.session.run(self._step))
        chosen = np.random.RandomState([self._seed, step]).randint(len(self._labels), size=BATCH)
        feeds = zip(self._fed, (self._images[chosen], self._labels[chosen]), strict=True)
        return tf.train.SessionRunArgs(fetches=None, feed_dict=dict(feeds))


if __name__ == "__main__":
    main()
