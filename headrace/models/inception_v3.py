"""Inception, version 3, the model of the paper's scaling experiments (OSDI 6.3); without its side classifier.

Every convolution is batch-normalised; moving averages of the statistics are kept in the same step.
"""

from headrace.models import layer, model, seeded

SIZE = 299
CLASSES = 1000


def build(batch, size=SIZE, divide=1, learning_rate=0.005, resident=False):
    """The training graph for pictures of this size, 75 at least; `divide` makes every layer that much narrower."""
    return model.pictures(batch, size, 3, lambda x: network(layer, x, divide), learning_rate, resident)


def network(f, x, divide=1):
    """The logits, by the layers `f`."""
    chain = _Chain(f, divide)
    x = chain(x, "conv1", (32, 3, 2, "VALID"), (32, 3, 1, "VALID"), (64, 3))
    x = f.max_pool(x, 3, 2)
    x = chain(x, "conv4", (80, 1), (192, 3, 1, "VALID"))
    x = f.max_pool(x, 3, 2)
    for name, pool in (("5b", 32), ("5c", 64), ("5d", 64)):
        x = _mixed_35(f, chain, x, name, pool)
    x = _shrink_35(f, chain, x, "6a")
    for name, width in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
        x = _mixed_17(f, chain, x, name, width)
    x = _shrink_17(f, chain, x, "7a")
    for name in ("7b", "7c"):
        x = _mixed_8(f, chain, x, name)
    return f.dense(f.mean_of_picture(x), "logits", CLASSES)


class _Chain:
    """Makes convolutions one after the other, each given as (filters, size, stride, padding)."""

    def __init__(self, f, divide):
        self._f = f
        self._divide = divide

    def __call__(self, x, name, *steps):
        for i, (filters, *rest) in enumerate(steps, 1):
            x = self._f.normalized_convolution(x, f"{name}_{i}", filters // self._divide, *rest)
        return x


def _mixed_35(f, chain, x, name, pool):
    return f.concat(
        [
            chain(x, f"{name}/1x1", (64, 1)),
            chain(x, f"{name}/5x5", (48, 1), (64, 5)),
            chain(x, f"{name}/3x3", (64, 1), (96, 3), (96, 3)),
            chain(f.average_pool(x, 3, 1, "SAME"), f"{name}/pool", (pool, 1)),
        ]
    )


def _shrink_35(f, chain, x, name):
    return f.concat(
        [
            chain(x, f"{name}/3x3", (384, 3, 2, "VALID")),
            chain(x, f"{name}/double", (64, 1), (96, 3), (96, 3, 2, "VALID")),
            f.max_pool(x, 3, 2),
        ]
    )


def _mixed_17(f, chain, x, name, width):
    wide, tall = (1, 7), (7, 1)
    return f.concat(
        [
            chain(x, f"{name}/1x1", (192, 1)),
            chain(x, f"{name}/7x7", (width, 1), (width, wide), (192, tall)),
            chain(x, f"{name}/double", (width, 1), (width, tall), (width, wide), (width, tall), (192, wide)),
            chain(f.average_pool(x, 3, 1, "SAME"), f"{name}/pool", (192, 1)),
        ]
    )


def _shrink_17(f, chain, x, name):
    return f.concat(
        [
            chain(x, f"{name}/3x3", (192, 1), (320, 3, 2, "VALID")),
            chain(x, f"{name}/7x7", (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, "VALID")),
            f.max_pool(x, 3, 2),
        ]
    )


def _mixed_8(f, chain, x, name):
    three = chain(x, f"{name}/3x3", (384, 1))
    double = chain(x, f"{name}/double", (448, 1), (384, 3))
    return f.concat(
        [
            chain(x, f"{name}/1x1", (320, 1)),
            *(chain(three, f"{name}/3x3_{part}", (384, size)) for part, size in (("wide", (1, 3)), ("tall", (3, 1)))),
            *(
                chain(double, f"{name}/double_{part}", (384, size))
                for part, size in (("wide", (1, 3)), ("tall", (3, 1)))
            ),
            chain(f.average_pool(x, 3, 1, "SAME"), f"{name}/pool", (192, 1)),
        ]
    )


def example(batch, size=SIZE, seed=0):
    """Random pictures and labels."""
    return seeded.images(batch, size, size, 3, CLASSES, seed)
