"""Linear SVM with hinge loss, Ftrl and L1, streaming accuracy, and a kernel."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(9)
xs = rng.randn(40, 2).astype("f")
ys = np.where(xs[:, 0] * 1.5 - xs[:, 1] > 0.1, 1.0, -1.0).astype("f").reshape(-1, 1)
x = tf.placeholder(shape=[None, 2], dtype=tf.float32)
y = tf.placeholder(shape=[None, 1], dtype=tf.float32)
A = tf.Variable(rng.randn(2, 1).astype("f"))
b = tf.Variable(rng.randn(1, 1).astype("f"))
model = tf.subtract(tf.matmul(x, A), b)
l2 = tf.reduce_sum(tf.square(A))
hinge = tf.reduce_mean(tf.maximum(0.0, tf.subtract(1.0, tf.multiply(model, y))))
loss = tf.add(hinge, 0.1 * l2)
labels01 = (y + 1) / 2
hinge2 = tf.losses.hinge_loss(labels01, model)
acc, acc_op = tf.metrics.accuracy(labels=tf.cast(labels01, tf.int64), predictions=tf.cast(model > 0, tf.int64))
auc, auc_op = tf.metrics.auc(labels01, tf.sigmoid(model), num_thresholds=20)
train = tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.01, l2_regularization_strength=0.01).minimize(loss)
prox = tf.train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.05).minimize(hinge2)
gamma = tf.constant(-0.5)
dist = tf.reshape(tf.reduce_sum(tf.square(x), 1), [-1, 1])
sq = tf.add(tf.subtract(dist, tf.multiply(2.0, tf.matmul(x, tf.transpose(x)))), tf.transpose(dist))
kernel = tf.exp(tf.multiply(gamma, tf.abs(sq)))
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    for i in range(10):
        idx = rng.choice(40, 10)
        sess.run(train if i % 2 else prox, {x: xs[idx], y: ys[idx]})
        l, _, _ = sess.run([loss, acc_op, auc_op], {x: xs, y: ys})
        print("%d %.4f" % (i, l))
    print("accuracy %.4f auc %.4f" % tuple(sess.run([acc, auc])))
    print("kernel %.4f" % sess.run(tf.reduce_sum(kernel), {x: xs}), np.round(sess.run(A).ravel(), 4).tolist())
    print([v.name for v in tf.local_variables()])
