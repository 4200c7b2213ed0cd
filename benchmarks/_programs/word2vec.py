"""Skip-grams with a sampled softmax over made-up text."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])
WORDS, SIZE, BATCH = 20000, 128, 128

random = np.random.RandomState(0)
text = np.minimum(random.zipf(1.3, 200_000), WORDS) - 1
centres = tf.placeholder(tf.int32, [BATCH])
contexts = tf.placeholder(tf.int32, [BATCH, 1])
table = tf.Variable(tf.random_uniform([WORDS, SIZE], -1.0, 1.0))
looked_up = tf.nn.embedding_lookup(table, centres)
weights = tf.Variable(tf.truncated_normal([WORDS, SIZE], stddev=SIZE**-0.5))
biases = tf.Variable(tf.zeros([WORDS]))
loss = tf.reduce_mean(
    tf.nn.nce_loss(weights=weights, biases=biases, labels=contexts, inputs=looked_up, num_sampled=64, num_classes=WORDS)
)
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
norm = tf.sqrt(tf.reduce_sum(tf.square(table), 1, keepdims=True))
near = tf.nn.top_k(tf.matmul(tf.gather(table / norm, tf.range(8)), table / norm, transpose_b=True), 8)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    total = 0.0
    for i in range(STEPS):
        at = random.randint(1, len(text) - 1, BATCH)
        feeds = {centres: text[at], contexts: text[at + random.choice([-1, 1], BATCH)][:, None]}
        _, value = session.run([train, loss], feeds)
        total += value
        if i % 2000 == 0:
            session.run(near)
print("mean loss", total / STEPS)
