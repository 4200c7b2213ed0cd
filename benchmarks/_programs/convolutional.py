"""Two convolutions with pooling, two dense layers, Adam."""

import sys

import tensorflow.compat.v1 as tf
from data import batches, images

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])

pictures, labels = images(5000)
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])


def weights(*shape):
    """A variable with small values."""
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


net = tf.reshape(x, [-1, 28, 28, 1])
for before, after in ((1, 32), (32, 64)):
    net = tf.nn.conv2d(net, weights(5, 5, before, after), [1, 1, 1, 1], "SAME")
    net = tf.nn.relu(net + tf.Variable(tf.constant(0.1, shape=[after])))
    net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
net = tf.reshape(net, [-1, 7 * 7 * 64])
net = tf.nn.relu(tf.matmul(net, weights(7 * 7 * 64, 512)) + 0.1)
logits = tf.matmul(net, weights(512, 10))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(1e-3).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for image, label in batches([pictures, labels], 50, STEPS):
        _, value = session.run([train, loss], {x: image, y: label})
print("loss", value)
