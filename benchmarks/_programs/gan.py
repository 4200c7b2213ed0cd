"""A GAN with batch norm in both networks and an optimizer for each."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf
from data import batches, images

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])

pictures, _ = images(5000)
random = np.random.RandomState(2)


def dense(inputs, size):
    """A layer in the current scope."""
    w = tf.get_variable("w", [inputs.shape[1], size], initializer=tf.random_normal_initializer(stddev=0.02))
    return tf.matmul(inputs, w) + tf.get_variable("b", [size], initializer=tf.zeros_initializer())


def normalised(inputs):
    """Batch norm with the batch's own moments."""
    size = inputs.shape[-1]
    mean, variance = tf.nn.moments(inputs, [0])
    shift = tf.get_variable("shift", [size], initializer=tf.zeros_initializer())
    scale = tf.get_variable("scale", [size], initializer=tf.ones_initializer())
    return tf.nn.batch_normalization(inputs, mean, variance, shift, scale, 1e-5)


def generator(z):
    """From noise to a picture."""
    with tf.variable_scope("generator"):
        for i, size in enumerate((128, 256)):
            with tf.variable_scope(f"layer{i}"):
                z = tf.nn.relu(normalised(dense(z, size)))
        with tf.variable_scope("last"):
            return tf.nn.sigmoid(dense(z, 784))


def discriminator(x, reuse):
    """From a picture to how real it looks."""
    with tf.variable_scope("discriminator", reuse=reuse):
        for i, size in enumerate((256, 128)):
            with tf.variable_scope(f"layer{i}"):
                x = tf.nn.leaky_relu(normalised(dense(x, size)))
        with tf.variable_scope("last"):
            return dense(x, 1)


x = tf.placeholder(tf.float32, [None, 784])
z = tf.placeholder(tf.float32, [None, 64])
real, false = discriminator(x, False), discriminator(generator(z), True)
cross = tf.nn.sigmoid_cross_entropy_with_logits
d_loss = tf.reduce_mean(cross(labels=tf.ones_like(real), logits=real)) + tf.reduce_mean(
    cross(labels=tf.zeros_like(false), logits=false)
)
g_loss = tf.reduce_mean(cross(labels=tf.ones_like(false), logits=false))
trained = tf.trainable_variables()
d_train = tf.train.AdamOptimizer(2e-4, beta1=0.5).minimize(
    d_loss, var_list=[v for v in trained if v.name.startswith("discriminator")]
)
g_train = tf.train.AdamOptimizer(2e-4, beta1=0.5).minimize(
    g_loss, var_list=[v for v in trained if v.name.startswith("generator")]
)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for (image,) in batches([pictures], 64, STEPS):
        noise = random.uniform(-1, 1, [64, 64]).astype(np.float32)
        _, d_value = session.run([d_train, d_loss], {x: image, z: noise})
        _, g_value = session.run([g_train, g_loss], {z: noise})
print("losses", d_value, g_value)
