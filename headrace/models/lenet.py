"""LeNet for digits of 28 x 28 pixels: two convolutions of 5 x 5 with max pools, two dense layers."""

from headrace.models import layer, model, seeded

SIZE = 28
CLASSES = 10


def build(batch, filters=(32, 64), hidden=512, learning_rate=0.005, resident=False):
    """The training graph for batches of this size (None: of any)."""
    return model.pictures(batch, SIZE, 1, lambda x: network(layer, x, filters, hidden), learning_rate, resident)


def network(f, x, filters=(32, 64), hidden=512):
    """The logits, by the layers `f`."""
    for i, channels in enumerate(filters, 1):
        x = f.max_pool(f.convolution(x, f"conv{i}", channels, 5), 2, 2)
    x = f.dense(f.flatten(x), "hidden", hidden, rectify=True)
    return f.dense(x, "logits", CLASSES)


def example(batch, seed=0):
    """Random pictures and labels."""
    return seeded.images(batch, SIZE, SIZE, 1, CLASSES, seed)
