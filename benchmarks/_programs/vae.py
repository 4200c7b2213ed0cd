"""A variational autoencoder with a hidden layer of 500 in both halves."""

import sys

import tensorflow.compat.v1 as tf
from data import batches, images

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])

pictures, _ = images(10000)
x = tf.placeholder(tf.float32, [None, 784])


def dense(inputs, before, after):
    """A layer without activation."""
    w = tf.Variable(tf.random_uniform([before, after], -0.05, 0.05))
    return tf.matmul(inputs, w) + tf.Variable(tf.zeros([after]))


hidden = tf.nn.tanh(dense(x, 784, 500))
mean, log_variance = dense(hidden, 500, 20), dense(hidden, 500, 20)
z = mean + tf.exp(0.5 * log_variance) * tf.random_normal(tf.shape(mean))
hidden = tf.nn.tanh(dense(z, 20, 500))
made = dense(hidden, 500, 784)
likelihood = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=made), 1)
divergence = -0.5 * tf.reduce_sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), 1)
loss = tf.reduce_mean(likelihood + divergence)
train = tf.train.AdamOptimizer(1e-3).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for (image,) in batches([pictures], 100, STEPS):
        _, value = session.run([train, loss], {x: image})
print("loss", value)
