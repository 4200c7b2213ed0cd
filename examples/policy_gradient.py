"""REINFORCE with a baseline (Williams, 1992) on the cart and pole: one algorithm, inside the graph, beside it, and eagerly.

`--mode graph` puts everything into the graph: a `while_loop` runs the physics and draws the pushes until every pole has
fallen, and tensor arrays keep the steps, so an update from 16 whole episodes is a single `session.run`. `--mode feed` is the
usual program: the carts live in NumPy, and the graph is asked for each push. `--mode eager` builds no graph at all and
differentiates with a tape. The three share the networks, the loss and the random numbers, and give the same episodes.

Run it with `python examples/policy_gradient.py --mode graph`; it takes some ten seconds.
"""

import argparse

import numpy as np
from cartpole import LIMIT, advance, first_states, standing
from progress import say, steps

import headrace as tf

CARTS = 16
HIDDEN = 32
DISCOUNT = 0.99
RATE = 0.02
SCALE = np.float32([1.0, 1.0, 0.1, 1.0])  # of position, speed, angle, spin


def main(argv=None):
    """Trains; returns the mean length of the episodes of every update."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mode", choices=["graph", "feed", "eager"], default="graph", help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=40, help="updates (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, carts and pushes (default: %(default)s)")
    options = parser.parse_args(argv)
    random = np.random.RandomState(options.seed)
    if options.mode == "eager":
        if not tf.executing_eagerly():
            tf.enable_eager_execution()
        return report(eager(random), random, options.steps)
    with tf.Graph().as_default(), tf.Session() as session:
        update = in_graph(random, session) if options.mode == "graph" else beside_graph(random, session)
        session.run(tf.global_variables_initializer())
        return report(update, random, options.steps)


def report(update, random, count):
    """Updates `count` times; `update` gets the first states and the numbers that decide the pushes."""
    lengths = []
    for i in steps(count):
        lengths.append(update(first_states(CARTS, random), random.uniform(size=(LIMIT, CARTS)).astype(np.float32)))
        if i % 10 == 0 or i == count - 1:
            say(f"step {i:4d}  mean length {lengths[-1]:5.1f} of at most {LIMIT}")
    return lengths


def in_graph(random, session):
    """An update that is one step of the graph: play, learn."""
    policy = Policy(random)
    state = tf.placeholder(tf.float32, [CARTS, 4], name="state")
    lots = tf.placeholder(tf.float32, [LIMIT, CARTS], name="lots")

    def go_on(i, state, up, *_):
        return tf.logical_and(i < LIMIT, tf.reduce_any(up))

    def push(i, state, up, states, actions, counts):
        action = policy.draw(state, lots[i])
        states, actions = states.write(i, state), actions.write(i, action)
        counts = counts.write(i, tf.cast(up, tf.float32))
        reached = advance(*tf.unstack(state, axis=1), action, tf.sin, tf.cos)
        return i + 1, tf.stack(reached, axis=1), up & standing(reached[0], reached[2]), states, actions, counts

    arrays = [tf.TensorArray(tf.float32, 0, dynamic_size=True) for _ in range(3)]
    everyone = tf.ones([CARTS], tf.bool)
    # Nothing is learnt through the physics: the loop needs no gradient.
    *_, states, actions, counts = tf.while_loop(go_on, push, [0, state, everyone, *arrays], back_prop=False)
    counts = counts.stack()
    loss = policy.loss(states.stack(), actions.stack(), counts)
    train = tf.train.AdamOptimizer(RATE).minimize(loss)
    length = tf.reduce_sum(counts) / CARTS

    def update(first, numbers):
        return float(session.run([length, train], {state: first, lots: numbers})[0])

    return update


def beside_graph(random, session):
    """An update that asks the graph for every push, and feeds it what came of them."""
    policy = Policy(random)
    state = tf.placeholder(tf.float32, [CARTS, 4], name="state")
    lot = tf.placeholder(tf.float32, [CARTS], name="lot")
    action = policy.draw(state, lot)
    states = tf.placeholder(tf.float32, [None, CARTS, 4], name="states")
    actions = tf.placeholder(tf.float32, [None, CARTS], name="actions")
    counts = tf.placeholder(tf.float32, [None, CARTS], name="counts")
    train = tf.train.AdamOptimizer(RATE).minimize(policy.loss(states, actions, counts))

    def update(first, numbers):
        played = play(lambda now, numbers: session.run(action, {state: now, lot: numbers}), first, numbers)
        session.run(train, dict(zip((states, actions, counts), played, strict=True)))
        return float(played[2].sum() / CARTS)

    return update


def eager(random):
    """An update without a graph."""
    policy = Policy(random)
    optimizer = tf.train.AdamOptimizer(RATE)

    def update(first, numbers):
        played = play(lambda now, numbers: policy.draw(now, numbers).numpy(), first, numbers)
        with tf.GradientTape() as tape:
            loss = policy.loss(*played)
        variables = list(policy.variables.values())
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return float(played[2].sum() / CARTS)

    return update


def play(draw, state, lots):
    """One episode of every cart in NumPy: states, actions, and 1 for each cart that stood, 0 for each that lay."""
    steps = []
    up = np.ones(CARTS, bool)
    for numbers in lots:
        action = draw(state, numbers)
        steps.append((state, action, up.astype(np.float32)))
        reached = advance(*state.T, action)
        up = up & standing(reached[0], reached[2])
        state = np.stack(reached, axis=1)
        if not up.any():
            break
    return [np.stack(part) for part in zip(*steps, strict=True)]


class Policy:
    """Two small networks: how likely a push to the right should be, and the baseline, what a state is worth."""

    def __init__(self, random):
        def variable(name, *shape, scale=1.0):
            start = random.standard_normal(shape) * scale / np.sqrt(shape[0])
            return tf.Variable(start.astype(np.float32), name=name)

        self.variables = {}
        for head in ("push", "baseline"):
            self.variables[head, "hidden"] = variable(f"{head}/hidden", 4, HIDDEN)
            self.variables[head, "output"] = variable(f"{head}/output", HIDDEN, 1, scale=0.1)

    def draw(self, state, lot):
        """1 for a push to the right, 0 for one to the left: what the number drawn, from 0 to 1, makes of the chances."""
        return tf.cast(lot < tf.sigmoid(self.network("push", state)), tf.float32)

    def network(self, head, state):
        """One number for each state."""
        hidden = tf.tanh(tf.matmul(state / SCALE, self.variables[head, "hidden"]))
        return tf.squeeze(tf.matmul(hidden, self.variables[head, "output"]), axis=1)

    def loss(self, states, actions, counts):
        """Pushes that did better than the baseline become likelier; the baseline learns what was reached."""
        # Every step is worth 1, so what came after one follows from how long the pole stayed up.
        left = tf.cumsum(counts, reverse=True)
        gains = tf.reshape(1.0 - tf.pow(DISCOUNT, left), [-1])  # in units of 1 / (1 - DISCOUNT)
        states, actions, counts = tf.reshape(states, [-1, 4]), tf.reshape(actions, [-1]), tf.reshape(counts, [-1])
        expected = self.network("baseline", states)
        surplus = tf.stop_gradient(gains - expected)
        mean, variance = tf.nn.weighted_moments(surplus, [0], counts)
        surplus = (surplus - mean) / tf.sqrt(variance + 1e-8)
        logits = self.network("push", states)
        surprise = tf.nn.sigmoid_cross_entropy_with_logits(labels=actions, logits=logits)
        return tf.reduce_sum(counts * (surplus * surprise + tf.square(gains - expected))) / tf.reduce_sum(counts)


if __name__ == "__main__":
    main()
