"""Addressing of a neural Turing machine: content and location, unrolled."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)
N, M, B, T = 6, 4, 2, 4


def linear(args, size, scope):
    with tf.variable_scope(scope):
        x = tf.concat(args, 1)
        W = tf.get_variable("W", [x.get_shape()[1], size])
        b = tf.get_variable("b", [size], initializer=tf.constant_initializer(0.1))
        return tf.nn.xw_plus_b(x, W, b)


def cosine(M_prev, k):
    n = tf.nn.l2_normalize(M_prev, 2)
    return tf.reduce_sum(n * tf.expand_dims(tf.nn.l2_normalize(k, 1), 1), axis=2)


def shift(w, s):
    return tf.stack(
        [tf.reduce_sum(tf.stack([tf.manip.roll(w, 1, 1), w, tf.manip.roll(w, -1, 1)], 2) * tf.expand_dims(s, 1), 2)]
    )[0]


def fixed(shape, dtype=None, partition_info=None):
    return tf.constant(rng.uniform(-0.4, 0.4, shape).astype("f"))


inputs = tf.placeholder(tf.float32, [B, T, M])
memory = tf.fill([B, N, M], 0.1) + tf.reshape(tf.linspace(0.0, 0.2, N), [1, N, 1])
w = tf.nn.softmax(tf.tile(tf.expand_dims(tf.range(N, dtype=tf.float32) * 0.1, 0), [B, 1]))
outputs, h = [], tf.zeros([B, 8])
with tf.variable_scope("ntm", initializer=fixed) as scope:
    for t, x in enumerate(tf.unstack(inputs, axis=1)):
        if t > 0:
            scope.reuse_variables()
        read = tf.squeeze(tf.matmul(tf.expand_dims(w, 1), memory), [1])
        h = tf.tanh(linear([x, read, h], 8, "controller"))
        k, beta, g, s, gamma, erase, add = tf.split(
            linear([h], M + 1 + 1 + 3 + 1 + M + M, "head"), [M, 1, 1, 3, 1, M, M], 1
        )
        content = tf.nn.softmax(tf.nn.softplus(beta) * cosine(memory, tf.tanh(k)))
        gate = tf.sigmoid(g)
        wg = gate * content + (1 - gate) * w
        ws = shift(wg, tf.nn.softmax(s))
        wp = tf.pow(ws, tf.nn.softplus(gamma) + 1)
        w = wp / tf.reduce_sum(wp, 1, keep_dims=True)
        memory = memory * (1 - tf.expand_dims(w, 2) * tf.expand_dims(tf.sigmoid(erase), 1)) + tf.matmul(
            tf.expand_dims(w, 2), tf.expand_dims(tf.tanh(add), 1)
        )
        outputs.append(linear([h, read], M, "output"))
logits = tf.stack(outputs, 1)
target = tf.to_float(inputs > 0.5)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=logits))
optimizer = tf.train.RMSPropOptimizer(1e-2, decay=0.95, momentum=0.9)
gvs = optimizer.compute_gradients(loss)
train = optimizer.apply_gradients([(tf.clip_by_norm(g, 1.0), v) for g, v in gvs])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(6):
        l, _, ww = sess.run([loss, train, w], {inputs: rng.rand(B, T, M)})
        print(i, "%.4f" % l, np.round(ww[0], 3).tolist())
