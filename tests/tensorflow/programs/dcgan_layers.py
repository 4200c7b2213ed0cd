"""A small DCGAN with tf.layers, two optimizers over two scopes and batch normalization's updates."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)


def fixed(shape, dtype=None, partition_info=None):
    return tf.constant((0.2 * rng.randn(*shape)).astype(np.float32))


def lrelu(x, th=0.2):
    return tf.maximum(th * x, x)


def generator(z, is_train=True, reuse=False):
    with tf.variable_scope("generator", reuse=reuse):
        h = tf.layers.dense(z, 2 * 2 * 8, kernel_initializer=fixed)
        h = tf.reshape(h, [-1, 2, 2, 8])
        h = lrelu(tf.layers.batch_normalization(h, training=is_train))
        h = tf.layers.conv2d_transpose(h, 4, [4, 4], strides=(2, 2), padding="same", kernel_initializer=fixed)
        h = lrelu(tf.layers.batch_normalization(h, training=is_train))
        h = tf.layers.conv2d_transpose(h, 1, [4, 4], strides=(2, 2), padding="same", kernel_initializer=fixed)
        return tf.nn.tanh(h)


def discriminator(x, is_train=True, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        h = lrelu(tf.layers.conv2d(x, 4, [4, 4], strides=(2, 2), padding="same", kernel_initializer=fixed))
        h = tf.layers.conv2d(h, 8, [4, 4], strides=(2, 2), padding="same", kernel_initializer=fixed)
        h = lrelu(tf.layers.batch_normalization(h, training=is_train))
        logits = tf.layers.dense(tf.layers.flatten(h), 1, kernel_initializer=fixed)
        return tf.nn.sigmoid(logits), logits


x = tf.placeholder(tf.float32, shape=(None, 8, 8, 1))
z = tf.placeholder(tf.float32, shape=(None, 5))
is_train = tf.placeholder(dtype=tf.bool)
G_z = generator(z, is_train)
D_real, D_real_logits = discriminator(x, is_train)
D_fake, D_fake_logits = discriminator(G_z, is_train, reuse=True)
ce = tf.nn.sigmoid_cross_entropy_with_logits
D_loss = tf.reduce_mean(ce(logits=D_real_logits, labels=tf.ones_like(D_real_logits) * 0.9)) + tf.reduce_mean(
    ce(logits=D_fake_logits, labels=tf.zeros_like(D_fake_logits))
)
G_loss = tf.reduce_mean(ce(logits=D_fake_logits, labels=tf.ones_like(D_fake_logits)))
T_vars = tf.trainable_variables()
D_vars = [var for var in T_vars if var.name.startswith("discriminator")]
G_vars = [var for var in T_vars if var.name.startswith("generator")]
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    D_optim = tf.train.AdamOptimizer(2e-3, beta1=0.5).minimize(D_loss, var_list=D_vars)
    G_optim = tf.train.AdamOptimizer(2e-3, beta1=0.5).minimize(G_loss, var_list=G_vars)

sess = tf.InteractiveSession()
tf.global_variables_initializer().run()
for step in range(4):
    images, noise = rng.uniform(-1, 1, (6, 8, 8, 1)), rng.normal(0, 1, (6, 5))
    d, _ = sess.run([D_loss, D_optim], {x: images, z: noise, is_train: True})
    g, _ = sess.run([G_loss, G_optim], {z: noise, x: images, is_train: True})
    print("step %d D %.3f G %.3f" % (step, d, g))
out = sess.run(G_z, {z: noise, is_train: False})
print(out.shape, "%.3f" % np.abs(out).mean())
for v in tf.global_variables():
    if "Adam" not in v.name and "power" not in v.name:
        print(v.name, v.shape.as_list())
sess.close()
