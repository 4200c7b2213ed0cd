"""Wide and deep by hand: hash buckets, vocabulary tables, crosses, sparse lookups, safe embeddings, string splits."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(21)
lines = tf.constant(["red,12,shirt small", "blue,7,hat", "green,25,shirt large xl", "red,3,socks small"])
label = tf.constant([[1.0], [0.0], [1.0], [0.0]])
color, price, words = tf.decode_csv(lines, [["?"], [0.0], [""]])
tokens = tf.string_split(words)
ids = tf.SparseTensor(tokens.indices, tf.string_to_hash_bucket_fast(tokens.values, 20), tokens.dense_shape)
table = tf.contrib.lookup.index_table_from_tensor(["red", "green"], num_oov_buckets=2)
color_id = table.lookup(color)
price_id = tf.to_int64(tf.floor(price / 5.0))
crossed = tf.string_to_hash_bucket_strong(tf.string_join([color, tf.as_string(price_id)], "_x_"), 15, key=[1, 2])
wide = tf.get_variable("wide", initializer=np.zeros((15, 1), "f"))
deep = tf.get_variable("deep", initializer=(rng.randn(20, 4) * 0.3).astype("f"))
colors = tf.get_variable("colors", initializer=(rng.randn(4, 3) * 0.3).astype("f"))
text = tf.nn.embedding_lookup_sparse(deep, ids, None, combiner="sqrtn")
text2 = tf.nn.safe_embedding_lookup_sparse(
    [deep], tf.SparseTensor([[0, 0], [2, 1]], tf.constant([3, -1], tf.int64), [4, 2]), combiner="mean"
)
features = tf.concat([text, tf.nn.embedding_lookup(colors, color_id), tf.expand_dims(tf.log(price + 1), 1), text2], 1)
W = tf.get_variable("W", initializer=(rng.randn(12, 1) * 0.3).astype("f"))
logits = tf.matmul(features, W) + tf.nn.embedding_lookup(wide, crossed)
loss = tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(targets=label, logits=logits, pos_weight=1.5))
train = tf.group(
    tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001).minimize(loss, var_list=[wide]),
    tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[deep, colors, W]),
)
indicator = tf.sparse_to_indicator(ids, 20)
lengths = tf.size(tf.string_split(["a b c"]).values)
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    print(sess.run(color_id).tolist(), sess.run(crossed).tolist(), sess.run(ids.values).tolist(), sess.run(lengths))
    print(np.where(sess.run(indicator))[1].tolist())
    for i in range(6):
        print(i, "%.5f" % sess.run(loss))
        sess.run(train)
    print(np.round(sess.run(tf.sigmoid(logits)).ravel(), 4).tolist())
