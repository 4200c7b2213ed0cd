"""Makes applications.json: names, numbers of parameters and outputs of the networks of tf_keras."""

import json
import os
import sys
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("applications.json")
NAMES = (
    "VGG16 MobileNet MobileNetV2 Xception ResNet50 ResNet50V2 InceptionV3 DenseNet121 NASNetMobile InceptionResNetV2 VGG19 "
    "DenseNet169 ResNet101 ResNet101V2 DenseNet201 ResNet152 ResNet152V2 NASNetLarge"
).split()
SIZE = 80  # of the images, which all networks accept


def values(names, shapes):
    """A value for each variable, of sizes with which numbers stay moderate through many layers."""
    for i, (name, shape) in enumerate(zip(names, shapes, strict=True)):
        random = np.random.RandomState(i)
        if "kernel" in name:
            inputs = np.prod(shape[:2]) if "depthwise" in name else np.prod(shape[:-1])
            yield (random.standard_normal(shape) * np.sqrt(1.5 / inputs)).astype(np.float32)
        elif "gamma" in name or "variance" in name:
            yield random.uniform(0.8, 1.2, shape).astype(np.float32)
        else:
            yield random.uniform(-0.1, 0.1, shape).astype(np.float32)


def image():
    """One image."""
    return np.random.RandomState(99).uniform(-1, 1, [1, SIZE, SIZE, 3]).astype(np.float32)


def main():
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tensorflow as tf

    results = json.loads(PATH.read_text()) if PATH.exists() else {}
    for name in sys.argv[1:] or NAMES:
        tf.keras.backend.clear_session()
        model = getattr(tf.keras.applications, name)(
            include_top=False, weights=None, input_shape=(SIZE, SIZE, 3), pooling="avg"
        )
        model.set_weights(list(values([w.name for w in model.weights], [w.shape for w in model.weights])))
        found = model.predict(image(), verbose=0)[0]
        layers = [layer.name for layer in model.layers if layer.weights]
        results[name] = {
            "name": model.name,
            "params": model.count_params(),
            "layers": f"{len(model.layers)} {len(layers)} {' '.join(layers[:3] + layers[-3:])}",
            "outputs": [float(f"{value:.5g}") for value in found[:4]],
        }
        PATH.write_text(json.dumps(results, indent=0) + "\n")


if __name__ == "__main__":
    main()
