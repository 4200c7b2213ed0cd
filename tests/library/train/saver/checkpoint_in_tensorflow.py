"""Goes on from a tf.train.Checkpoint of Headrace in real TensorFlow, saves another one, and prints the losses."""

import sys

import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf
import tf_keras


class Net(tf_keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf_keras.layers.Dense(3)
        self.rest = [tf_keras.layers.Dense(2), tf_keras.layers.Dense(1)]
        self.named = {"scale": tf_keras.layers.BatchNormalization()}

    def call(self, inputs):
        x = self.named["scale"](self.first(inputs))
        for layer in self.rest:
            x = layer(x)
        return x


x = tf.constant(np.arange(12, dtype=np.float32).reshape(3, 4) / 10)
net, optimizer = Net(), tf.train.AdamOptimizer(0.1)
checkpoint = tf2.train.Checkpoint(net=net, optimizer=optimizer, step=tf2.Variable(0))
status = checkpoint.restore(sys.argv[1])
for _ in range(2):
    with tf2.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(x) - 1.0))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables, strict=True))
    print(float(loss))
status.assert_consumed()
checkpoint.step.assign_add(1)
checkpoint.save(sys.argv[2])
print(float(tf.reduce_mean(tf.square(net(x) - 1.0))))
