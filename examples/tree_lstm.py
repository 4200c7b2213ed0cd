"""A binary TreeLSTM (Tai, Socher and Manning, 2015) that learns to evaluate logical expressions such as ((1 and 0) or 1) xor 0.

Every expression is a tree of another shape, so the network has another shape for each. One graph serves them all: a
`while_loop` goes over the nodes, children first, and a tensor array keeps their states, from which a node gathers those of its
children. `--batch depth` takes all nodes of one depth, over all trees, in one iteration (dynamic batching, as in Looks et al.,
2017); `--batch node` takes them one by one. Both compute the same; the first is many times as fast.

Run it with `python examples/tree_lstm.py`; it takes some ten seconds. It trains on expressions of up to 8 leaves and is then
tried on new ones of 16.
"""

import argparse
from collections import namedtuple

import numpy as np
from progress import say, steps

import headrace as tf

OPERATORS = (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b)
SYMBOLS = 2 + len(OPERATORS)  # false, true, and, or, xor
UNITS = 16
TREES = 32  # in a batch
RATE = 0.01

Node = namedtuple("Node", "symbol left right truth depth")
Forest = namedtuple("Forest", "symbols left right truths ends roots")
"""Many trees as arrays, sorted by depth. Node 0 is nobody: the child of every leaf. `ends[d]` nodes are at most d deep."""


def main(argv=None):
    """Trains; returns the loss of every step and the accuracy on new expressions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=150, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and expressions (default: %(default)s)")
    parser.add_argument(
        "--leaves", type=int, default=8, help="of a training expression, at most (default: %(default)s)"
    )
    parser.add_argument("--batch", choices=["depth", "node"], default="depth", help="(default: %(default)s)")
    options = parser.parse_args(argv)
    if options.leaves < 1:
        parser.error(f"--leaves must be at least 1, not {options.leaves}")
    random = np.random.RandomState(options.seed)

    with tf.Graph().as_default():
        forest = Forest(
            *[tf.placeholder(tf.int32, [None], name=name) for name in Forest._fields[:3]],
            truths=tf.placeholder(tf.float32, [None], name="truths"),
            ends=tf.placeholder(tf.int32, [None], name="ends"),
            roots=tf.placeholder(tf.int32, [None], name="roots"),
        )
        logits = evaluate(forest, Cell(random), by_depth=options.batch == "depth")
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=forest.truths[1:], logits=logits[1:])
        loss = tf.reduce_mean(losses, name="loss")
        right = tf.equal(tf.gather(logits, forest.roots) > 0.0, tf.gather(forest.truths, forest.roots) > 0.5)
        accuracy = tf.reduce_mean(tf.cast(right, tf.float32), name="accuracy")
        train_op = tf.train.AdamOptimizer(RATE).minimize(loss)

        values = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i in steps(options.steps):
                trees = plant(random, [random.randint(1, options.leaves + 1) for _ in range(TREES)])
                _, value, share = session.run([train_op, loss, accuracy], dict(zip(forest, trees, strict=True)))
                values.append(float(value))
                if i % 50 == 0 or i == options.steps - 1:
                    say(f"step {i:4d}  loss {value:.4f}  accuracy {share:.3f}")
            share = float(session.run(accuracy, dict(zip(forest, plant(random, [16] * 200), strict=True))))
            say(f"accuracy on 200 new expressions of 16 leaves {share:.3f}")
    return values, share


def evaluate(forest, cell, by_depth):
    """A logit for every node: positive if its expression is thought to be true."""
    count = tf.size(forest.symbols)
    states = tf.TensorArray(tf.float32, count, clear_after_read=False, element_shape=[2 * UNITS])
    states = states.write(0, tf.zeros([2 * UNITS]))

    def grow_depth(depth, states):
        rows = tf.range(forest.ends[depth - 1], forest.ends[depth])
        left, right = (states.gather(tf.gather(children, rows)) for children in (forest.left, forest.right))
        return depth + 1, states.scatter(rows, cell(tf.gather(forest.symbols, rows), left, right))

    def grow_node(node, states):
        left, right = (states.read(children[node])[tf.newaxis] for children in (forest.left, forest.right))
        return node + 1, states.write(node, cell(forest.symbols[node, tf.newaxis], left, right)[0])

    last, grow = (tf.size(forest.ends), grow_depth) if by_depth else (count, grow_node)
    _, states = tf.while_loop(lambda i, _: i < last, grow, [1, states])
    return cell.judge(states.stack())


class Cell:
    """An LSTM cell with two predecessors. A state is the output beside the memory."""

    def __init__(self, random):
        def variable(name, *shape):
            start = random.standard_normal(shape) / np.sqrt(shape[0])
            return tf.get_variable(name, initializer=start.astype(np.float32))

        self._inputs = variable("inputs", SYMBOLS, 5 * UNITS)
        self._recurrent = variable("recurrent", 2 * UNITS, 5 * UNITS)
        self._output = variable("output", UNITS, 1)

    def __call__(self, symbols, left, right):
        """The states of nodes with these symbols and children: [n], [n, 2 * UNITS], [n, 2 * UNITS]."""
        left_output, left_memory = tf.split(left, 2, axis=1)
        right_output, right_memory = tf.split(right, 2, axis=1)
        before = tf.matmul(tf.concat([left_output, right_output], axis=1), self._recurrent)
        new, enter, keep_left, keep_right, leave = tf.split(before + tf.gather(self._inputs, symbols), 5, axis=1)
        memory = (
            tf.sigmoid(enter) * tf.tanh(new)
            + tf.sigmoid(keep_left + 1.0) * left_memory
            + tf.sigmoid(keep_right + 1.0) * right_memory
        )
        return tf.concat([tf.sigmoid(leave) * tf.tanh(memory), memory], axis=1)

    def judge(self, states):
        """A logit for each state."""
        return tf.squeeze(tf.matmul(states[:, :UNITS], self._output), axis=1)


def plant(random, leaves):
    """A forest: one random expression for each number of leaves."""
    nodes = [Node(0, 0, 0, 0, 0)]
    roots = [grow(random, count, nodes) for count in leaves]
    columns = Node(*np.array(nodes, np.int32).T)
    order = np.argsort(columns.depth, kind="stable")
    place = np.argsort(order)  # where each node went
    return Forest(
        symbols=columns.symbol[order],
        left=place[columns.left[order]],
        right=place[columns.right[order]],
        truths=columns.truth[order].astype(np.float32),
        ends=np.cumsum(np.bincount(columns.depth)),
        roots=place[roots],
    )


def grow(random, leaves, nodes):
    """Appends a random expression to the nodes, children first; returns its root's index."""
    if leaves == 1:
        truth = random.randint(2)
        nodes.append(Node(truth, 0, 0, truth, 1))
    else:
        first = random.randint(1, leaves)
        left, right = grow(random, first, nodes), grow(random, leaves - first, nodes)
        which = random.randint(len(OPERATORS))
        truth = OPERATORS[which](nodes[left].truth, nodes[right].truth)
        nodes.append(Node(2 + which, left, right, truth, 1 + max(nodes[left].depth, nodes[right].depth)))
    return len(nodes) - 1


if __name__ == "__main__":
    main()
