"""Speech with CTC: a bidirectional network, sparse targets, decoders, label error rate."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(20)
B, T, F, H, C = 3, 12, 5, 8, 6


def sparse_tuple_from(sequences, dtype=np.int32):
    indices, values = [], []
    for n, seq in enumerate(sequences):
        indices.extend(zip([n] * len(seq), range(len(seq))))
        values.extend(seq)
    return (
        np.asarray(indices, np.int64),
        np.asarray(values, dtype),
        np.asarray([len(sequences), max(map(len, sequences))], np.int64),
    )


def fixed(shape, dtype=None, partition_info=None):
    return tf.constant(rng.uniform(-0.3, 0.3, [int(d) for d in shape]).astype("f"))


graph = tf.Graph()
with graph.as_default():
    inputs = tf.placeholder(tf.float32, [None, None, F])
    targets = tf.sparse_placeholder(tf.int32)
    seq_len = tf.placeholder(tf.int32, [None])
    with tf.variable_scope("net", initializer=fixed):
        cell = tf.nn.rnn_cell.LSTMCell(H, state_is_tuple=True)
        stack = tf.nn.rnn_cell.MultiRNNCell([cell], state_is_tuple=True)
        outputs, _ = tf.nn.dynamic_rnn(stack, inputs, seq_len, dtype=tf.float32)
        shape = tf.shape(inputs)
        batch_s, max_time = shape[0], shape[1]
        W = tf.get_variable("W", [H, C])
        b = tf.get_variable("b", [C], initializer=tf.zeros_initializer())
    logits = tf.reshape(tf.matmul(tf.reshape(outputs, [-1, H]), W) + b, [batch_s, -1, C])
    logits = tf.transpose(logits, (1, 0, 2))
    loss = tf.nn.ctc_loss(targets, logits, seq_len)
    cost = tf.reduce_mean(loss)
    optimizer = tf.train.MomentumOptimizer(5e-2, 0.9).minimize(cost)
    decoded, log_prob = tf.nn.ctc_greedy_decoder(logits, seq_len)
    beam, beam_prob = tf.nn.ctc_beam_search_decoder(logits, seq_len, beam_width=10, top_paths=2, merge_repeated=False)
    ler = tf.reduce_mean(tf.edit_distance(tf.cast(decoded[0], tf.int32), targets))
    dense = tf.sparse_tensor_to_dense(decoded[0], default_value=-1)
x = rng.randn(B, T, F)
y = sparse_tuple_from([[1, 2, 2], [3, 0], [4, 1, 0, 2]])
with tf.Session(graph=graph) as session:
    tf.global_variables_initializer().run()
    feed = {inputs: x, targets: y, seq_len: [12, 9, 11]}
    for epoch in range(8):
        c, l = session.run([cost, ler], feed)
        session.run(optimizer, feed)
        print("epoch %d cost %.3f ler %.3f" % (epoch, c, l))
    print(session.run(dense, feed).tolist(), np.round(session.run(log_prob, feed), 2).ravel().tolist())
    b0, bp = session.run([beam[0], beam_prob], feed)
    print(b0.values.tolist(), np.round(bp, 2).tolist())
