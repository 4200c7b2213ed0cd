"""`fit` of a small network of tf.keras: ``keras_fit.py EPOCHS`` with the network's name in KERAS_NETWORK (mlp or convnet).

KERAS_MODE=v2 leaves TensorFlow 2's behaviour on.
"""

import os
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np

if os.environ.get("KERAS_MODE") == "v2":
    import tensorflow as tf
else:
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()

keras = tf.keras


def mlp():
    """784-512-512-10."""
    return keras.Sequential([
        keras.layers.Dense(512, activation="relu", input_shape=(784,)), keras.layers.Dense(512, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ])  # fmt: skip


def convnet():
    """Two convolutions and a layer of classes."""
    return keras.Sequential([
        keras.layers.Reshape((28, 28, 1), input_shape=(784,)), keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(), keras.layers.Conv2D(32, 3, activation="relu"), keras.layers.MaxPooling2D(),
        keras.layers.Flatten(), keras.layers.Dense(10, activation="softmax"),
    ])  # fmt: skip


def main() -> None:
    network = os.environ.get("KERAS_NETWORK", "mlp")
    samples = 20_000 if network == "mlp" else 6_000
    random = np.random.RandomState(0)
    x, y = random.rand(samples, 784).astype(np.float32), random.randint(0, 10, samples)
    model = {"mlp": mlp, "convnet": convnet}[network]()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x, y, batch_size=128, epochs=int(sys.argv[1]), verbose=0)
    print(f"loss {history.history['loss'][-1]:.3f}")


if __name__ == "__main__":
    main()
