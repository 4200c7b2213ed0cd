"""Denoising autoencoder with tied weights, after the old tutorials."""

import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("epochs", 5, "epochs")
flags.DEFINE_float("rate", 0.5, "learning rate")
FLAGS = flags.FLAGS


def main(_):
    rng = np.random.RandomState(0)
    data = (rng.rand(64, 20) > 0.6).astype(np.float32)
    X = tf.placeholder("float", [None, 20], name="X")
    mask = tf.placeholder("float", [None, 20], name="mask")
    W_init = rng.uniform(-0.3, 0.3, (20, 8)).astype(np.float32)
    W = tf.Variable(W_init, name="W")
    b = tf.Variable(tf.zeros([8]), name="b")
    W_prime = tf.transpose(W)
    b_prime = tf.Variable(tf.zeros([20]), name="b_prime")
    Y = tf.nn.sigmoid(tf.matmul(mask * X, W) + b)
    Z = tf.nn.sigmoid(tf.matmul(Y, W_prime) + b_prime)
    cost = tf.reduce_sum(tf.pow(X - Z, 2)) / tf.to_float(tf.shape(X)[0])
    train_op = tf.train.GradientDescentOptimizer(FLAGS.rate).minimize(cost)
    with tf.Session() as sess:
        tf.initialize_all_variables().run()
        for i in range(FLAGS.epochs):
            for start, end in zip(range(0, 64, 16), range(16, 65, 16)):
                m = rng.binomial(1, 0.7, (16, 20)).astype(np.float32)
                sess.run(train_op, feed_dict={X: data[start:end], mask: m})
            print(i, "%.4f" % sess.run(cost, feed_dict={X: data, mask: np.ones((64, 20))}))
        print([v.name for v in tf.trainable_variables()])


if __name__ == "__main__":
    tf.app.run()
