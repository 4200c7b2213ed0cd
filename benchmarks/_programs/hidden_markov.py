"""A hidden Markov model trained by gradient through the forward algorithm, a scan over the observations."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])
STATES, SYMBOLS, LENGTH = 5, 12, 40

random = np.random.RandomState(0)
sequences = [np.cumsum(random.randint(0, 3, LENGTH)) % SYMBOLS for _ in range(30)]
x = tf.placeholder(tf.int32, [None])
start = tf.nn.softmax(tf.Variable(tf.random_normal([1, STATES])))
moves = tf.nn.softmax(tf.Variable(tf.random_normal([STATES, STATES])))
emits = tf.nn.softmax(tf.Variable(tf.random_normal([STATES, SYMBOLS])))


def forward(before, symbol):
    """One observation: the scaled weights of the states, and the scale."""
    weights = tf.matmul(before[0], moves) * emits[:, symbol]
    scale = tf.reduce_sum(weights)
    return weights / scale, scale


first = start * emits[:, x[0]]
_, scales = tf.scan(forward, x[1:], (first, np.float32(1.0)))
loss = -tf.reduce_sum(tf.log(scales))
train = tf.train.AdamOptimizer(1e-2).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(STEPS):
        total = 0.0
        for sequence in sequences:
            _, value = session.run([train, loss], {x: sequence})
            total += value
print("loss", total / len(sequences))
