"""Rows of a picture as a sequence through a GRU in a while loop, with gradients clipped by their norm."""

import sys

import tensorflow.compat.v1 as tf
from data import batches, images

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])
SIZE = 128

pictures, labels = images(5000)
x = tf.placeholder(tf.float32, [None, 28, 28])
y = tf.placeholder(tf.int64, [None])
gates = tf.get_variable("gates", [28 + SIZE, 2 * SIZE], initializer=tf.glorot_uniform_initializer())
gates_bias = tf.get_variable("gates_bias", [2 * SIZE], initializer=tf.ones_initializer())
candidate = tf.get_variable("candidate", [28 + SIZE, SIZE], initializer=tf.glorot_uniform_initializer())

rows = tf.TensorArray(tf.float32, 28).unstack(tf.transpose(x, [1, 0, 2]))
outputs = tf.TensorArray(tf.float32, 28)


def cell(t, state, outputs):
    """One row."""
    row = rows.read(t)
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([row, state], 1), gates) + gates_bias), 2, 1)
    c = tf.tanh(tf.matmul(tf.concat([row, r * state], 1), candidate))
    state = u * state + (1.0 - u) * c
    return t + 1, state, outputs.write(t, state)


_, last, outputs = tf.while_loop(lambda t, *_: t < 28, cell, (0, tf.zeros([tf.shape(x)[0], SIZE]), outputs))
features = tf.concat([last, tf.reduce_mean(outputs.stack(), 0)], 1)
logits = tf.matmul(features, tf.Variable(tf.random_normal([2 * SIZE, 10], stddev=0.1)))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
optimizer = tf.train.AdamOptimizer(1e-3)
gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
train = optimizer.apply_gradients(zip(tf.clip_by_global_norm(gradients, 1.0)[0], variables, strict=True))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for image, label in batches([pictures, labels], 64, STEPS):
        _, value = session.run([train, loss], {x: image.reshape(-1, 28, 28), y: label})
print("loss", value)
