"""The cart and pole of Barto, Sutton and Anderson (1983), in NumPy: many carts side by side, each in an episode of its own.

A pole stands on a cart. Fifty times a second the cart is pushed to the left (action 0) or to the right (action 1). An
episode is over when the pole leans more than 12 degrees, when the cart is 2.4 metres from the middle, or after `limit`
steps; every step is worth 1. Pushing at random lasts about 22 steps.
"""

import numpy as np

GRAVITY = 9.8
CART = 1.0  # kilograms
POLE = 0.1
LENGTH = 0.5  # metres, from the hinge to the pole's middle
FORCE = 10.0  # newtons
TICK = 0.02  # seconds
FARTHEST = 2.4
STEEPEST = 12.0 * np.pi / 180.0
START = 0.05  # how far from 0 each number of a first state may be
LIMIT = 200


class CartPoles:
    """`count` carts that go on for ever: where an episode ends, the next one starts."""

    def __init__(self, count, seed=0, limit=LIMIT):
        if count < 1 or limit < 1:
            raise ValueError(f"needs at least one cart and one step, not {count} carts and {limit} steps")
        self._random = np.random.RandomState(seed)
        self._limit = limit
        self.states = first_states(count, self._random)
        self.ages = np.zeros(count, np.int64)  # steps since each episode's start

    def step(self, actions):
        """Pushes every cart. Returns the states reached, whether each cart fell, and the lengths of the episodes that ended.

        `states` then holds what was reached, or the first state of a new episode.
        """
        actions = np.asarray(actions)
        if actions.shape != self.ages.shape or not np.isin(actions, (0, 1)).all():
            raise ValueError(f"needs a 0 or a 1 for each of {len(self.ages)} carts, not {actions!r}")
        reached = np.stack(advance(*self.states.T, actions.astype(np.float32)), axis=1)
        fell = ~standing(reached[:, 0], reached[:, 2])
        self.ages += 1
        over = fell | (self.ages >= self._limit)
        lengths = self.ages[over].tolist()
        self.states = np.where(over[:, None], first_states(len(over), self._random), reached)
        self.ages[over] = 0
        return reached, fell, lengths


def first_states(count, random):
    """States at the start of an episode: position, speed, angle and spin near 0, float32 [count, 4]."""
    return random.uniform(-START, START, (count, 4)).astype(np.float32)


def advance(position, speed, angle, spin, action, sin=np.sin, cos=np.cos):
    """The state one tick after a push, by Euler's rule.

    For float32 arrays; or for tensors, with TensorFlow's sine and cosine.
    """
    sine, cosine = sin(angle), cos(angle)
    pull = (FORCE * (2.0 * action - 1.0) + POLE * LENGTH * spin * spin * sine) / (CART + POLE)
    turn = (GRAVITY * sine - cosine * pull) / (LENGTH * (4.0 / 3.0 - POLE * cosine * cosine / (CART + POLE)))
    drive = pull - POLE * LENGTH * turn * cosine / (CART + POLE)
    return position + TICK * speed, speed + TICK * drive, angle + TICK * spin, spin + TICK * turn


def standing(position, angle):
    """Whether a cart in this state may go on; for arrays or tensors."""
    return (abs(position) <= FARTHEST) & (abs(angle) <= STEEPEST)
