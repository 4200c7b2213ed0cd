"""A recursive network over trees: a while loop for each tree, whose states are read by the children's numbers, with gradients.

Words at the leaves, a matrix that joins two states, and a class for every node.  Trees are of many lengths.
"""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
STEPS = int(sys.argv[1])
WORDS, SIZE, CLASSES, TREES, LENGTHS = 2000, 35, 2, 200, (4, 30)

random = np.random.RandomState(0)


def tree(leaves):
    """A random binary tree: for each node whether it is a leaf, its word, its children, its class; children come first."""
    rows, roots = [], []
    for word in random.randint(0, WORDS, leaves):
        roots.append(len(rows))
        rows.append((True, word, 0, 0, word % CLASSES))
    while len(roots) > 1:
        at = random.randint(len(roots) - 1)
        left, right = roots[at : at + 2]
        roots[at : at + 2] = [len(rows)]
        rows.append((False, 0, left, right, (rows[left][4] + rows[right][4]) % CLASSES))
    return [np.array(column) for column in zip(*rows, strict=True)]


trees = [tree(leaves) for leaves in random.randint(*LENGTHS, TREES)]
is_leaf = tf.placeholder(tf.bool, [None])
word, left, right, label = (tf.placeholder(tf.int32, [None]) for _ in range(4))
seeded = [tf.random_uniform_initializer(-0.3, 0.3, seed=seed) for seed in range(4)]
embeddings = tf.get_variable("embeddings", [WORDS, SIZE], initializer=seeded[0])
join = tf.get_variable("join", [2 * SIZE, SIZE], initializer=seeded[1])
bias = tf.get_variable("bias", [1, SIZE], initializer=tf.zeros_initializer())
project = tf.get_variable("project", [SIZE, CLASSES], initializer=seeded[2])


def grow(states, i):
    """One node: the vector of its word, or what its children's states come to."""

    def leaf():
        return tf.expand_dims(tf.gather(embeddings, tf.gather(word, i)), 0)

    def joined():
        children = [states.read(tf.gather(side, i)) for side in (left, right)]
        return tf.nn.relu(tf.matmul(tf.concat(children, 1), join) + bias)

    state = tf.cond(tf.gather(is_leaf, i), leaf, joined)
    return states.write(i, tf.reshape(state, [1, SIZE])), i + 1


states = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False, infer_shape=False)
nodes = tf.squeeze(tf.shape(is_leaf))
states, _ = tf.while_loop(lambda _, i: i < nodes, grow, (states, 0), parallel_iterations=1)
logits = tf.matmul(tf.reshape(states.concat(), [-1, SIZE]), project)
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits)
loss = tf.reduce_sum(losses) + 0.02 * (tf.nn.l2_loss(join) + tf.nn.l2_loss(project))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(STEPS):
        columns = trees[step % TREES]
        _, value = session.run([train, loss], dict(zip((is_leaf, word, left, right, label), columns, strict=True)))
print("loss", value)
