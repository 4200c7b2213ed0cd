"""Skip-gram with NCE, candidates fixed so that every run is the same."""

import collections
import math
import numpy as np
import tensorflow as tf

text = "the quick brown fox jumps over the lazy dog and the quick cat naps while the dog runs".split()
count = collections.Counter(text).most_common()
dictionary = {w: i for i, (w, _) in enumerate(count)}
data = [dictionary[w] for w in text]
V, D, B = len(dictionary), 6, 8
rng = np.random.RandomState(1)
pairs = [(data[i], data[j]) for i in range(len(data)) for j in (i - 1, i + 1) if 0 <= j < len(data)]

graph = tf.Graph()
with graph.as_default():
    train_inputs = tf.placeholder(tf.int32, shape=[None])
    train_labels = tf.placeholder(tf.int32, shape=[None, 1])
    valid = tf.constant([0, 1, 2], dtype=tf.int32)
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(rng.uniform(-1, 1, (V, D)).astype(np.float32))
        embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        nce_weights = tf.Variable((rng.randn(V, D) / math.sqrt(D)).astype(np.float32))
        nce_biases = tf.Variable(tf.zeros([V]))
    sampled = (
        tf.constant([3, 5, 1], tf.int64),
        tf.fill([tf.shape(train_labels)[0], 1], 0.4),
        tf.constant([0.5, 0.3, 0.8]),
    )
    loss = tf.reduce_mean(
        tf.nn.nce_loss(
            weights=nce_weights,
            biases=nce_biases,
            labels=train_labels,
            inputs=embed,
            num_sampled=3,
            num_classes=V,
            sampled_values=sampled,
        )
    )
    soft = tf.reduce_mean(
        tf.nn.sampled_softmax_loss(nce_weights, nce_biases, train_labels, embed, 3, V, sampled_values=sampled)
    )
    step = tf.Variable(0, trainable=False, name="step")
    rate = tf.train.exponential_decay(1.0, step, 5, 0.9, staircase=True)
    optimizer = tf.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    normalized = embeddings / norm
    similarity = tf.matmul(tf.nn.embedding_lookup(normalized, valid), normalized, transpose_b=True)
    init = tf.global_variables_initializer()

with tf.Session(graph=graph) as session:
    init.run()
    for s in range(12):
        batch = [pairs[(s * B + k) % len(pairs)] for k in range(B)]
        feed = {train_inputs: [p[0] for p in batch], train_labels: [[p[1]] for p in batch]}
        _, l, sl, r = session.run([optimizer, loss, soft, rate], feed_dict=feed)
        print("step %d loss %.4f soft %.4f rate %.3f" % (s, l, sl, r))
    sim = similarity.eval()
    for i in range(3):
        nearest = (-sim[i, :]).argsort()[1:4]
        print(count[i][0], [count[k][0] for k in nearest])
