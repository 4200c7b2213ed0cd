"""An autoencoder of four layers with RMSProp."""

import sys

import tensorflow.compat.v1 as tf
from data import batches, images

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])

pictures, _ = images(10000)
x = tf.placeholder(tf.float32, [None, 784])
net = x
for before, after in ((784, 256), (256, 128), (128, 256), (256, 784)):
    net = tf.nn.sigmoid(
        tf.add(tf.matmul(net, tf.Variable(tf.random_normal([before, after]))), tf.Variable(tf.random_normal([after])))
    )
loss = tf.reduce_mean(tf.pow(x - net, 2))
train = tf.train.RMSPropOptimizer(0.01).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for (image,) in batches([pictures], 256, STEPS):
        _, value = session.run([train, loss], {x: image})
print("loss", value)
