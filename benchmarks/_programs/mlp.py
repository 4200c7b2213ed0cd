"""Two hidden layers with dropout and Adam; the accuracy is looked at every hundred steps."""

import sys

import tensorflow.compat.v1 as tf
from data import batches, images

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])

pictures, labels = images(10000)
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
rate = tf.placeholder_with_default(0.0, [])


def dense(inputs, size, activation=None):
    """A layer."""
    w = tf.Variable(tf.truncated_normal([int(inputs.shape[1]), size], stddev=0.05))
    b = tf.Variable(tf.constant(0.1, shape=[size]))
    outputs = tf.matmul(inputs, w) + b
    return activation(outputs) if activation else outputs


hidden = tf.nn.dropout(dense(x, 256, tf.nn.relu), rate=rate)
hidden = tf.nn.dropout(dense(hidden, 256, tf.nn.relu), rate=rate)
logits = dense(hidden, 10)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(1e-3).minimize(loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i, (image, label) in enumerate(batches([pictures, labels], 100, STEPS)):
        session.run(train, {x: image, y: label, rate: 0.5})
        if i % 100 == 0:
            session.run(accuracy, {x: pictures[:1000], y: labels[:1000]})
    print("accuracy", session.run(accuracy, {x: pictures, y: labels}))
