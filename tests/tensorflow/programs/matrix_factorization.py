"""Recommender: embeddings with biases, sparse updates, several optimizers, L2 only on the rows of the batch."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(12)
U, I, D = 15, 10, 4
users, items = rng.randint(0, U, 60), rng.randint(0, I, 60)
rates = rng.randint(1, 6, 60).astype("f")
for make in (
    lambda: tf.train.AdamOptimizer(0.05),
    lambda: tf.train.AdagradOptimizer(0.1),
    lambda: tf.train.RMSPropOptimizer(0.01),
    lambda: tf.train.MomentumOptimizer(0.01, 0.9, use_nesterov=True),
    lambda: tf.train.FtrlOptimizer(0.1),
):
    tf.reset_default_graph()
    r = np.random.RandomState(1)
    u, i, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None])
    with tf.variable_scope("mf"):
        bias_global = tf.get_variable("bias_global", shape=[], initializer=tf.constant_initializer(3.0))
        wu = tf.get_variable("user_bias", initializer=np.zeros(U, "f"))
        wi = tf.get_variable("item_bias", initializer=np.zeros(I, "f"))
        eu = tf.get_variable("user", initializer=(r.randn(U, D) * 0.02).astype("f"))
        ei = tf.get_variable("item", initializer=(r.randn(I, D) * 0.02).astype("f"))
    bu, bi = tf.nn.embedding_lookup(wu, u), tf.nn.embedding_lookup(wi, i)
    vu, vi = tf.nn.embedding_lookup(eu, u), tf.nn.embedding_lookup(ei, i)
    infer = tf.reduce_sum(tf.multiply(vu, vi), 1) + bias_global + bu + bi
    infer = tf.identity(infer, name="svd_inference")
    reg = tf.add(tf.nn.l2_loss(vu), tf.nn.l2_loss(vi), name="svd_regularizer")
    cost = tf.add(tf.nn.l2_loss(tf.subtract(infer, y)), tf.multiply(reg, tf.constant(0.05, shape=[], name="l2")))
    opt = make()
    train = opt.minimize(cost, global_step=tf.train.create_global_step())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for s in range(9):
            b = slice(s % 3 * 20, s % 3 * 20 + 20)
            _, c, p = sess.run([train, cost, infer], {u: users[b], i: items[b], y: rates[b]})
        print(
            opt.get_name(),
            "%.3f" % c,
            "rmse %.3f" % np.sqrt(np.mean((np.clip(p, 1, 5) - rates[b]) ** 2)),
            sorted(opt.get_slot_names()),
            "%.4f" % np.abs(sess.run(eu)).sum(),
        )
        print(sorted(v.name for v in opt.variables())[:4])
