"""An eager loop that stops and goes on: tf.train.Checkpoint and CheckpointManager around a model, an optimizer and counters."""

import os
import tempfile

import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
folder = os.path.join(tempfile.mkdtemp(), "ckpts")
random = np.random.RandomState(0)
x = random.randn(60, 4).astype(np.float32)
y = (x[:, :1] * x[:, 1:2] > 0).astype(np.float32)


class Net(tf.keras.Model):
    def __init__(self):
        super(Net, self).__init__()
        self.hidden = [tf.keras.layers.Dense(8, activation="tanh", kernel_initializer=start(i)) for i in range(2)]
        self.out = tf.keras.layers.Dense(1, kernel_initializer=start(9))

    def call(self, inputs):
        for layer in self.hidden:
            inputs = layer(inputs)
        return self.out(inputs)


def start(seed):
    def initializer(shape, dtype=None, partition_info=None):
        return tf.constant(np.random.RandomState(seed).randn(*[int(d) for d in shape]) * 0.5, tf.float32)

    return initializer


def session_of_training(steps):
    net, optimizer = Net(), tf.train.AdamOptimizer(0.05)
    step, best = tf.Variable(0, dtype=tf.int64), tf.Variable(10.0)
    checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer, step=step, best=best)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    status = checkpoint.restore(manager.latest_checkpoint)
    if manager.latest_checkpoint:
        print("restored", os.path.basename(manager.latest_checkpoint), "at step", int(step.numpy()))
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(20).repeat()
    for images, labels in dataset.take(steps):
        with tf.GradientTape() as tape:
            logits = net(images)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        step.assign_add(1)
        best.assign(tf.minimum(best, loss))
        if int(step.numpy()) % 6 == 0:
            path = manager.save()
            print("step %d loss %.4f best %.4f" % (step.numpy(), loss.numpy(), best.numpy()), os.path.basename(path))
    if int(step.numpy()) > steps:
        status.assert_existing_objects_matched()
    return net


session_of_training(12)
session_of_training(12)
net = session_of_training(6)
print(sorted(name for name in os.listdir(folder) if name.endswith(".index")))
names = [name for name, _ in tf.train.list_variables(tf.train.latest_checkpoint(folder)) if "OPTIMIZER" not in name]
print(names)

other = tf.train.Checkpoint(net=tf.train.Checkpoint(out=tf.keras.layers.Dense(1)), step=tf.Variable(0, dtype=tf.int64))
status = other.restore(tf.train.latest_checkpoint(folder))
print(int(other.step.numpy()))
try:
    status.assert_consumed()
except AssertionError:
    print("not all is used")
other.net.out(tf.zeros([1, 8]))
print(np.array_equal(other.net.out.kernel.numpy(), net.out.kernel.numpy()))
