"""Additive attention over encoder outputs, a decoder unrolled with raw_rnn-like loops, masks and teacher forcing."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(15)
B, S, T, V, E, H = 3, 5, 4, 11, 6, 8


def fixed(shape, dtype=None, partition_info=None):
    return tf.constant(rng.uniform(-0.3, 0.3, [int(d) for d in shape]).astype("f"))


enc = tf.placeholder(tf.int32, [B, S])
enc_len = tf.placeholder(tf.int32, [B])
dec = tf.placeholder(tf.int32, [B, T])
with tf.variable_scope("seq2seq", initializer=fixed):
    table = tf.get_variable("embedding", [V, E])
    with tf.variable_scope("encoder"):
        fw, bw = tf.nn.rnn_cell.LSTMCell(H), tf.nn.rnn_cell.LSTMCell(H)
        outputs, (sf, sb) = tf.nn.bidirectional_dynamic_rnn(
            fw, bw, tf.nn.embedding_lookup(table, enc), sequence_length=enc_len, dtype=tf.float32
        )
        memory = tf.concat(outputs, 2)
        state = tf.nn.rnn_cell.LSTMStateTuple(sf.c + sb.c, sf.h + sb.h)
    keys = tf.layers.dense(memory, H, use_bias=False, name="memory_layer")
    mask = tf.sequence_mask(enc_len, S)
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(H), output_keep_prob=1.0)
    v = tf.get_variable("attention_v", [H])
    context = tf.zeros([B, 2 * H])
    logits, aligns = [], []
    previous = tf.zeros([B], tf.int32)
    with tf.variable_scope("decoder") as scope:
        for t in range(T):
            if t:
                scope.reuse_variables()
            x = tf.concat([tf.nn.embedding_lookup(table, previous), context], 1)
            out, state = cell(x, state)
            query = tf.layers.dense(out, H, name="query")
            score = tf.reduce_sum(v * tf.tanh(keys + query[:, None]), 2)
            score = tf.where(mask, score, tf.fill([B, S], -1e9))
            a = tf.nn.softmax(score)
            context = tf.squeeze(tf.matmul(a[:, None], memory), 1)
            logits.append(tf.layers.dense(tf.concat([out, context], 1), V, name="project"))
            aligns.append(a)
            previous = dec[:, t]
logits = tf.stack(logits, 1)
weights = tf.to_float(tf.not_equal(dec, 0))
ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=dec, logits=logits)
loss = tf.reduce_sum(ce * weights) / tf.reduce_sum(weights)
params = tf.trainable_variables()
clipped, norm = tf.clip_by_global_norm(tf.gradients(loss, params), 1.0)
train = tf.train.AdamOptimizer(0.01).apply_gradients(zip(clipped, params))
feed = {enc: rng.randint(1, V, (B, S)), enc_len: [5, 3, 1], dec: rng.randint(0, V, (B, T))}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(4):
        l, n, a = sess.run([loss, norm, aligns[-1]], feed)
        sess.run(train, feed)
        print(i, "%.4f %.4f" % (l, n), np.round(a[1], 3).tolist())
    for p in params:
        print(p.name, p.shape.as_list())
