"""Character model with stacked LSTM cells, truncated backpropagation and gradient clipping."""

import numpy as np
import tensorflow as tf

text = "hello world, hello tensorflow, hello graph. " * 6
chars = sorted(set(text))
ids = np.array([chars.index(c) for c in text])
V, H, B, T = len(chars), 12, 3, 10


class Model(object):
    def __init__(self, training=True):
        rng = np.random.RandomState(2)

        def fixed(shape, dtype=None, partition_info=None):
            return tf.constant(rng.uniform(-0.3, 0.3, shape).astype(np.float32))

        with tf.variable_scope("rnnlm", initializer=fixed):
            cells = [tf.nn.rnn_cell.BasicLSTMCell(H, state_is_tuple=True), tf.nn.rnn_cell.GRUCell(H)]
            self.cell = cell = tf.nn.rnn_cell.MultiRNNCell(cells, state_is_tuple=True)
            self.x = tf.placeholder(tf.int32, [B, T])
            self.y = tf.placeholder(tf.int32, [B, T])
            self.initial = cell.zero_state(B, tf.float32)
            embedding = tf.get_variable("embedding", [V, H])
            inputs = tf.nn.embedding_lookup(embedding, self.x)
            outputs, self.final = tf.nn.dynamic_rnn(cell, inputs, initial_state=self.initial)
            w = tf.get_variable("softmax_w", [H, V])
            b = tf.get_variable("softmax_b", [V], initializer=tf.zeros_initializer())
            logits = tf.matmul(tf.reshape(outputs, [-1, H]), w) + b
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(self.y, [-1]), logits=logits)
        self.cost = tf.reduce_sum(losses) / B / T
        self.probs = tf.nn.softmax(logits)
        self.lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, self.norm = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), 0.5)
        self.train_op = tf.train.AdamOptimizer(self.lr).apply_gradients(zip(grads, tvars))


m = Model()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(tf.assign(m.lr, 0.02))
    usable = (len(ids) - 1) // (B * T) * B * T
    xs, ys = ids[:usable].reshape(B, -1), ids[1 : usable + 1].reshape(B, -1)
    for epoch in range(3):
        state = sess.run(m.initial)
        for k in range(xs.shape[1] // T):
            feed = {m.x: xs[:, k * T : (k + 1) * T], m.y: ys[:, k * T : (k + 1) * T]}
            feed[m.initial[0].c], feed[m.initial[0].h] = state[0].c, state[0].h
            feed[m.initial[1]] = state[1]
            cost, norm, state, _ = sess.run([m.cost, m.norm, m.final, m.train_op], feed)
        print("epoch %d cost %.3f norm %.3f" % (epoch, cost, norm))
    for v in tf.trainable_variables():
        print(v.name, v.get_shape())
