"""Functions that data processes import by name."""

import os
import signal

import numpy as np


def squared(x):
    return np.int64(int(x) ** 2)


def process(x):
    return np.int64(os.getpid())


def fails_at_three(x):
    if x == 3:
        raise ValueError("three is too many")
    return np.int64(x)


def ends_at_two(x):
    if x == 2:
        raise StopIteration
    return np.int64(x)


def dies_at_two(x):
    if x == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.int64(x)


def dies_once(x, flag):
    """Kills its process the first time that it is called with 5; ``flag``: a file that says that it has."""
    if x == 5 and not os.path.exists(flag):
        with open(flag, "w"):
            os.kill(os.getpid(), signal.SIGKILL)
    return np.int64(x)


def told(x, path):
    """Says that it was called, and never ends."""
    with open(os.fsdecode(path), "w") as file:
        file.write(str(os.getpid()))
    signal.pause()
