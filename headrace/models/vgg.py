"""VGG, model A ("OxfordNet" in the paper's Table 1): eight convolutions of 3 x 3, three dense layers (OSDI 6.1)."""

from headrace.models import layer, model, seeded

SIZE = 224
CLASSES = 1000
STAGES = ((64,), (128,), (256, 256), (512, 512), (512, 512))  # a max pool after each


def build(batch, size=SIZE, divide=1, learning_rate=0.001, resident=False):
    """The training graph; `divide` makes every layer that much narrower."""
    return model.pictures(batch, size, 3, lambda x: network(layer, x, divide), learning_rate, resident)


def network(f, x, divide=1):
    """The logits, by the layers `f`."""
    for i, stage in enumerate(STAGES, 1):
        for j, filters in enumerate(stage, 1):
            x = f.convolution(x, f"conv{i}_{j}", filters // divide, 3)
        x = f.max_pool(x, 2, 2)
    x = f.dense(f.flatten(x), "fc6", 4096 // divide, rectify=True)
    x = f.dense(x, "fc7", 4096 // divide, rectify=True)
    return f.dense(x, "logits", CLASSES)


def example(batch, size=SIZE, seed=0):
    """Random pictures and labels."""
    return seeded.images(batch, size, size, 3, CLASSES, seed)
