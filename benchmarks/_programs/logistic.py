"""Logistic regression, one example at a time: tiny steps."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf
from data import batches, images, one_hot

tf.disable_v2_behavior()
STEPS = int(sys.argv[1])

pictures, labels = images(5000)
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.float32, [None, 10])
w = tf.Variable(tf.zeros([784, 10]))
b = tf.Variable(tf.zeros([10]))
logits = tf.matmul(x, w) + b
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for image, label in batches([pictures, one_hot(labels)], 1, STEPS):
        session.run(train, {x: image, y: label})
    accuracy = session.run(right, {x: pictures, y: one_hot(labels)})
assert accuracy > 0.9, accuracy
print("accuracy", np.round(accuracy, 3))
