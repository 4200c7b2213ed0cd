"""EM for a Gaussian mixture with full covariances: batched Cholesky, triangular solves, log-determinants."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(11)
data = np.concatenate([rng.randn(30, 2) * [1, 0.3] + [0, 2], rng.randn(30, 2) * [0.4, 1] - [2, 1]]).astype("d")
K = 2
x = tf.constant(data)
mu = tf.Variable(data[[0, 59]], name="mu")
sigma = tf.Variable(tf.eye(2, batch_shape=[K], dtype=tf.float64), name="sigma")
pi = tf.Variable(np.full(K, 1.0 / K), name="pi")
chol = tf.cholesky(sigma)
diff = tf.expand_dims(x, 0) - tf.expand_dims(mu, 1)
solved = tf.matrix_triangular_solve(chol, tf.transpose(diff, [0, 2, 1]), lower=True)
maha = tf.reduce_sum(tf.square(solved), 1)
logdet = 2 * tf.reduce_sum(tf.log(tf.matrix_diag_part(chol)), 1)
log_prob = -0.5 * (maha + tf.expand_dims(logdet, 1) + 2 * np.log(2 * np.pi)) + tf.expand_dims(tf.log(pi), 1)
log_like = tf.reduce_logsumexp(log_prob, 0)
resp = tf.exp(log_prob - log_like)
nk = tf.reduce_sum(resp, 1)
new_mu = tf.matmul(resp, x) / tf.expand_dims(nk, 1)
d2 = tf.expand_dims(x, 0) - tf.expand_dims(new_mu, 1)
new_sigma = tf.einsum("kn,kni,knj->kij", resp, d2, d2) / tf.reshape(nk, [K, 1, 1]) + 1e-6 * tf.eye(2, dtype=tf.float64)
with tf.control_dependencies([new_mu, new_sigma]):
    step = tf.group(mu.assign(new_mu), sigma.assign(new_sigma), pi.assign(nk / 60.0))
slog = tf.linalg.slogdet(sigma)
ev, evec = tf.self_adjoint_eig(sigma)
grad = tf.gradients(tf.reduce_mean(log_like), [mu, sigma])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    g = sess.run(grad)
    print("grad", np.round(g[0], 5).tolist(), np.round(g[1], 5).tolist())
    for i in range(5):
        ll, _ = sess.run([tf.reduce_mean(log_like), step])
        print(i, "%.6f" % ll)
    print(
        np.round(sess.run(pi), 4).tolist(),
        np.round(sess.run(mu), 4).tolist(),
        np.round(sess.run(slog[1]), 4).tolist(),
        np.round(sess.run(ev), 4).tolist(),
        np.round(sess.run(tf.matrix_determinant(sigma)), 4).tolist(),
    )
