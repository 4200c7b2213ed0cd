"""GoogLeNet (Inception, version 1) without its two side classifiers, as the paper's Table 1 measures it (OSDI 6.1)."""

from headrace.models import layer, model, seeded

SIZE = 224
CLASSES = 1000
# For each module the filters of 1 x 1; of 1 x 1 before 3 x 3, of 3 x 3; of 1 x 1 before 5 x 5, of 5 x 5; after the pool.
# None: a pool between modules.
MODULES = (
    ("3a", (64, 96, 128, 16, 32, 32)),
    ("3b", (128, 128, 192, 32, 96, 64)),
    None,
    ("4a", (192, 96, 208, 16, 48, 64)),
    ("4b", (160, 112, 224, 24, 64, 64)),
    ("4c", (128, 128, 256, 24, 64, 64)),
    ("4d", (112, 144, 288, 32, 64, 64)),
    ("4e", (256, 160, 320, 32, 128, 128)),
    None,
    ("5a", (256, 160, 320, 32, 128, 128)),
    ("5b", (384, 192, 384, 48, 128, 128)),
)


def build(batch, size=SIZE, divide=1, learning_rate=0.001, resident=False):
    """The training graph for pictures of this size, a multiple of 32; `divide` makes every layer that much narrower."""
    return model.pictures(batch, size, 3, lambda x: network(layer, x, divide), learning_rate, resident)


def network(f, x, divide=1):
    """The logits, by the layers `f`."""
    x = f.max_pool(f.convolution(x, "conv1", 64 // divide, 7, stride=2, padding=3), 3, 2, "SAME")
    x = f.convolution(x, "conv2_reduce", 64 // divide, 1)
    x = f.max_pool(f.convolution(x, "conv2", 192 // divide, 3), 3, 2, "SAME")
    for module in MODULES:
        if module is None:
            x = f.max_pool(x, 3, 2, "SAME")
        else:
            x = _module(f, x, module[0], [filters // divide for filters in module[1]])
    return f.dense(f.mean_of_picture(x), "logits", CLASSES)


def _module(f, x, name, filters):
    one, reduce3, three, reduce5, five, pool = filters
    return f.concat(
        [
            f.convolution(x, f"{name}/1x1", one, 1),
            f.convolution(f.convolution(x, f"{name}/3x3_reduce", reduce3, 1), f"{name}/3x3", three, 3),
            f.convolution(f.convolution(x, f"{name}/5x5_reduce", reduce5, 1), f"{name}/5x5", five, 5),
            f.convolution(f.max_pool(x, 3, 1, "SAME"), f"{name}/pool", pool, 1),
        ]
    )


def example(batch, size=SIZE, seed=0):
    """Random pictures and labels."""
    return seeded.images(batch, size, size, 3, CLASSES, seed)
