"""Deep Q-learning on the cart and pole (Mnih et al., 2015; the double estimate of van Hasselt et al., 2016).

The network learns what each push is worth from a memory of past steps. What it learns from is its own later estimate,
taken from a second network, the target, that a group of assign ops in the graph sets to the first one now and then. The
carts explore: with a probability that falls from 1 to `--explore`, a push is drawn by lot.

Now and then the pushes that seem best are tried on new carts; training stops when those stay up for `--goal` steps on
average. Run it with `python examples/dqn.py`; it takes some ten seconds.
"""

import argparse

import numpy as np
from cartpole import CartPoles
from progress import say, steps

import headrace as tf

CARTS = 8
HIDDEN = 64
BATCH = 256
MEMORY = 20000
DISCOUNT = 0.99
COPY_EVERY = 25  # steps, from the network to the target
TRAIN = 4  # times a step
WARM_UP = 100  # steps without training
TRY_EVERY = 100
SCALE = np.float32([1.0, 1.0, 0.1, 1.0])  # of position, speed, angle, spin


def main(argv=None):
    """Trains; returns the mean length of the episodes of every try."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=3000, help="at most, of each of 8 carts (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of weights, carts and exploration (default: %(default)s)")
    parser.add_argument("--goal", type=float, default=150.0, help="mean length to stop at (default: %(default)s)")
    parser.add_argument("--explore", type=float, default=0.05, help="share of random pushes (default: %(default)s)")
    options = parser.parse_args(argv)
    if not 0.0 <= options.explore <= 1.0:
        parser.error(f"--explore is a probability, not {options.explore:g}")
    random = np.random.RandomState(options.seed)
    carts = CartPoles(CARTS, seed=options.seed)
    memory = Memory(MEMORY)

    with tf.Graph().as_default():
        agent = Agent(random)
        tries = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i in steps(options.steps):
                if i % COPY_EVERY == 0:
                    session.run(agent.copy)
                if i % TRY_EVERY == 0 or i == options.steps - 1:
                    tries.append(attempt(session, agent, seed=options.seed + i))
                    say(f"step {i:4d}  mean length {tries[-1]:5.1f}")
                    if i > WARM_UP and tries[-1] >= options.goal:
                        break

                chance = max(options.explore, 1.0 - i / 750)
                states = carts.states
                actions = session.run(agent.best, {agent.state: states})
                actions = np.where(random.uniform(size=CARTS) < chance, random.randint(0, 2, CARTS), actions)
                reached, fell, _ = carts.step(actions)
                memory.add(states, actions, reached, fell)
                for _ in range(TRAIN if i >= WARM_UP else 0):
                    session.run(agent.train, agent.feeds(memory.sample(BATCH, random)))
    return tries


class Agent:
    """The graph: the network, its target, and how the one learns from the other."""

    def __init__(self, random):
        self.state = tf.placeholder(tf.float32, [None, 4], name="state")
        self.action = tf.placeholder(tf.int32, [None], name="action")
        self.reached = tf.placeholder(tf.float32, [None, 4], name="reached")
        self.fell = tf.placeholder(tf.float32, [None], name="fell")
        start = first_weights(random)

        with tf.variable_scope("network"):
            values = worth(self.state, start)
        with tf.variable_scope("network", reuse=True):
            later = worth(self.reached, start)
        with tf.variable_scope("target"):
            judged = worth(self.reached, start)
        self.best = tf.argmax(values, axis=1)

        # The network chooses the next push, the target says what it is worth: choosing and judging by one network
        # would favour whatever it overestimates.
        choice = tf.one_hot(tf.argmax(later, axis=1), 2)
        goal = 1.0 + DISCOUNT * (1.0 - self.fell) * tf.reduce_sum(choice * judged, axis=1)
        value = tf.reduce_sum(tf.one_hot(self.action, 2) * values, axis=1)
        self.loss = tf.losses.huber_loss(tf.stop_gradient(goal), value)

        network = tf.trainable_variables("network")
        target = tf.trainable_variables("target")
        self.train = tf.train.AdamOptimizer(1e-3).minimize(self.loss, var_list=network)
        self.copy = tf.group(*[old.assign(new) for old, new in zip(target, network, strict=True)])

    def feeds(self, batch):
        """A batch of the memory, for the placeholders."""
        return dict(zip((self.state, self.action, self.reached, self.fell), batch, strict=True))


def worth(states, start):
    """What each of the two pushes is worth: [n, 2]."""
    hidden = states / SCALE
    for name in ("first", "second"):
        hidden = tf.nn.relu(dense(hidden, start[name], name))
    return dense(hidden, start["worth"], "worth")


def dense(inputs, start, name):
    """inputs @ W + b."""
    with tf.variable_scope(name):
        weights = tf.get_variable("W", initializer=start)
        biases = tf.get_variable("b", [start.shape[1]], initializer=tf.zeros_initializer())
        return tf.matmul(inputs, weights) + biases


def first_weights(random):
    """The first values of all weights."""
    shapes = {"first": (4, HIDDEN), "second": (HIDDEN, HIDDEN), "worth": (HIDDEN, 2)}
    return {
        name: (random.standard_normal(shape) * np.sqrt(2.0 / shape[0])).astype(np.float32)
        for name, shape in shapes.items()
    }


class Memory:
    """The last `size` steps: state, action, state reached, whether the cart fell."""

    def __init__(self, size):
        self._arrays = (
            np.zeros((size, 4), np.float32),
            np.zeros(size, np.int32),
            np.zeros((size, 4), np.float32),
            np.zeros(size, np.float32),
        )
        self._size = size
        self._added = 0

    def add(self, *step):
        """Remembers a step of every cart, and forgets the oldest ones if need be."""
        rows = np.arange(self._added, self._added + len(step[0])) % self._size
        for array, values in zip(self._arrays, step, strict=True):
            array[rows] = values
        self._added += len(rows)

    def sample(self, count, random):
        """Some of the steps, drawn by lot."""
        rows = random.randint(0, min(self._added, self._size), count)
        return [array[rows] for array in self._arrays]


def attempt(session, agent, seed, count=20):
    """The mean length of `count` episodes in which every push is the one that seems best."""
    carts = CartPoles(count, seed)
    lengths = []
    while len(lengths) < count:
        _, _, ended = carts.step(session.run(agent.best, {agent.state: carts.states}))
        lengths.extend(ended)
    return float(np.mean(lengths))


if __name__ == "__main__":
    main()
