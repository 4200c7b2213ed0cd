"""AlexNet in one tower, as the paper's Table 1 measures it: no dropout, no response normalisation (OSDI 6.1)."""

from headrace.models import layer, model, seeded

SIZE = 224
CLASSES = 1000


def build(batch, size=SIZE, divide=1, learning_rate=0.001, resident=False):
    """The training graph; `divide` makes every layer that much narrower."""
    return model.pictures(batch, size, 3, lambda x: network(layer, x, divide), learning_rate, resident)


def network(f, x, divide=1):
    """The logits, by the layers `f`."""
    x = f.max_pool(f.convolution(x, "conv1", 64 // divide, 11, stride=4, padding=2), 3, 2)
    x = f.max_pool(f.convolution(x, "conv2", 192 // divide, 5), 3, 2)
    x = f.convolution(x, "conv3", 384 // divide, 3)
    x = f.convolution(x, "conv4", 256 // divide, 3)
    x = f.max_pool(f.convolution(x, "conv5", 256 // divide, 3), 3, 2)
    x = f.dense(f.flatten(x), "fc6", 4096 // divide, rectify=True)
    x = f.dense(x, "fc7", 4096 // divide, rectify=True)
    return f.dense(x, "logits", CLASSES)


def example(batch, size=SIZE, seed=0):
    """Random pictures and labels."""
    return seeded.images(batch, size, size, 3, CLASSES, seed)
