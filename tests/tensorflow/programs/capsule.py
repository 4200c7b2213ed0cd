"""Capsules with dynamic routing, margin loss and a masked reconstruction."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(16)


def squash(s, axis=-1, epsilon=1e-7, name=None):
    with tf.name_scope(name, default_name="squash"):
        squared_norm = tf.reduce_sum(tf.square(s), axis=axis, keep_dims=True)
        safe_norm = tf.sqrt(squared_norm + epsilon)
        return squared_norm / (1.0 + squared_norm) * (s / safe_norm)


def safe_norm(s, axis=-1, epsilon=1e-7, keep_dims=False, name=None):
    with tf.name_scope(name, default_name="safe_norm"):
        return tf.sqrt(tf.reduce_sum(tf.square(s), axis=axis, keep_dims=keep_dims) + epsilon)


X = tf.placeholder(shape=[None, 8, 8, 1], dtype=tf.float32, name="X")
y = tf.placeholder(shape=[None], dtype=tf.int64, name="y")
k1 = tf.Variable((rng.randn(3, 3, 1, 8) * 0.3).astype("f"))
k2 = tf.Variable((rng.randn(3, 3, 8, 8) * 0.1).astype("f"))
conv1 = tf.nn.relu(tf.nn.conv2d(X, k1, [1, 1, 1, 1], "VALID"))
conv2 = tf.nn.relu(tf.nn.conv2d(conv1, k2, [1, 2, 2, 1], "VALID"))
caps1 = squash(tf.reshape(conv2, [-1, 8, 4]), name="caps1_output")
W = tf.Variable((rng.randn(1, 8, 3, 6, 4) * 0.3).astype("f"), name="W")
batch = tf.shape(X)[0]
W_tiled = tf.tile(W, [batch, 1, 1, 1, 1], name="W_tiled")
c1 = tf.tile(tf.expand_dims(tf.expand_dims(caps1, -1), 2), [1, 1, 3, 1, 1])
predicted = tf.matmul(W_tiled, c1, name="caps2_predicted")
raw = tf.zeros([batch, 8, 3, 1, 1], dtype=np.float32, name="raw_weights")
for r in range(3):
    routing = tf.nn.softmax(raw, dim=2, name="routing_weights")
    s = tf.reduce_sum(tf.multiply(routing, predicted), axis=1, keep_dims=True)
    v = squash(s, axis=-2)
    raw = tf.add(raw, tf.matmul(predicted, tf.tile(v, [1, 8, 1, 1, 1]), transpose_a=True))
y_proba = safe_norm(v, axis=-2)
y_pred = tf.squeeze(tf.argmax(y_proba, axis=2), axis=[1, 2], name="y_pred")
T = tf.one_hot(y, depth=3)
norm = tf.reshape(safe_norm(v, axis=-2, keep_dims=True), (-1, 3))
L = tf.add(T * tf.square(tf.maximum(0.0, 0.9 - norm)), 0.5 * (1.0 - T) * tf.square(tf.maximum(0.0, norm - 0.1)))
margin = tf.reduce_mean(tf.reduce_sum(L, axis=1))
mask_with_labels = tf.placeholder_with_default(False, shape=(), name="mask_with_labels")
targets = tf.cond(mask_with_labels, lambda: y, lambda: y_pred, name="reconstruction_targets")
masked = tf.multiply(tf.reshape(v, [-1, 3, 6]), tf.reshape(tf.one_hot(targets, 3), [-1, 3, 1]))
D = tf.Variable((rng.randn(18, 64) * 0.1).astype("f"))
rec = tf.sigmoid(tf.matmul(tf.reshape(masked, [-1, 18]), D))
loss = margin + 0.0005 * tf.reduce_sum(tf.square(tf.reshape(X, [-1, 64]) - rec))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(y, y_pred), tf.float32))
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    feed = {X: rng.rand(6, 8, 8, 1), y: rng.randint(0, 3, 6)}
    for i in range(5):
        l = sess.run([loss, margin, accuracy], {X: feed[X], y: feed[y], mask_with_labels: True})
        train.run(feed)
        print(i, "%.4f %.4f %.3f" % tuple(l))
