"""Two towers of a convolutional network share their variables; their gradients are averaged."""

import sys

import tensorflow.compat.v1 as tf
from data import batches, images

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])

pictures, labels = images(5000)
x = tf.placeholder(tf.float32, [64, 784])
y = tf.placeholder(tf.int64, [64])


def tower(inputs, wanted):
    """The loss of half a batch."""
    net = tf.reshape(inputs, [-1, 28, 28, 1])
    for i, (before, after) in enumerate(((1, 16), (16, 32))):
        kernel = tf.get_variable(f"kernel{i}", [3, 3, before, after], initializer=tf.glorot_uniform_initializer())
        net = tf.nn.relu(tf.nn.conv2d(net, kernel, [1, 1, 1, 1], "SAME"))
        net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    net = tf.reshape(net, [-1, 7 * 7 * 32])
    w = tf.get_variable("w", [7 * 7 * 32, 10], initializer=tf.glorot_uniform_initializer())
    logits = tf.matmul(net, w)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=wanted, logits=logits))


optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
losses, gradients = [], []
with tf.variable_scope(tf.get_variable_scope()):
    for i, (half, wanted) in enumerate(zip(tf.split(x, 2), tf.split(y, 2), strict=True)):
        with tf.device(f"/cpu:{i}"), tf.name_scope(f"tower{i}"):
            losses.append(tower(half, wanted))
            tf.get_variable_scope().reuse_variables()
            gradients.append(optimizer.compute_gradients(losses[-1]))
means = [(tf.reduce_mean(tf.stack([g for g, _ in pair]), 0), pair[0][1]) for pair in zip(*gradients, strict=True)]
train = optimizer.apply_gradients(means)
loss = tf.add_n(losses) / 2

config = tf.ConfigProto(device_count={"CPU": 2})
with tf.Session(config=config) as session:
    session.run(tf.global_variables_initializer())
    for image, label in batches([pictures, labels], 64, STEPS):
        _, value = session.run([train, loss], {x: image, y: label})
print("loss", value)
