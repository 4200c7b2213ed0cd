"""Makes keras_files/: models and weights as TensorFlow's Keras saves them, and what they give."""

import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

from pathlib import Path

import numpy as np
import tensorflow.compat.v1 as tf

FOLDER = Path(__file__).with_name("keras_files")
layers = tf.keras.layers


def stack():
    """A stack of layers that has been trained, with the state of Adam."""
    model = tf.keras.Sequential(
        [
            layers.Dense(4, activation="relu", input_shape=(3,), kernel_regularizer=tf.keras.regularizers.l2(0.01)),
            layers.BatchNormalization(),
            layers.Dropout(0.0),
            layers.Dense(2, activation="softmax", name="output"),
        ],
        name="stack",
    )
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    return model


def graph():
    """A graph with a model in it, shared layers, a frozen layer and several inputs and outputs."""
    image = tf.keras.Input((6, 6, 2), name="image")
    words = tf.keras.Input((5,), name="words", dtype="int32")
    inner_in = tf.keras.Input((4,))
    inner = tf.keras.Model(
        inner_in, layers.BatchNormalization(name="inner_norm")(layers.Dense(3)(inner_in)), name="inner"
    )
    x = layers.ZeroPadding2D(((1, 0), (0, 1)))(image)
    x = layers.Conv2D(4, 3, strides=2, padding="same", activation="elu", dilation_rate=1)(x)
    x = layers.SeparableConv2D(4, 2, depth_multiplier=2, use_bias=False)(x)
    x = layers.GlobalAveragePooling2D()(x)
    y = layers.Embedding(7, 4, name="embedding", trainable=False)(words)
    y = layers.LeakyReLU(0.2)(layers.GlobalMaxPooling1D()(y))
    both = layers.Concatenate()([inner(x), inner(y)])
    shared = layers.Dense(6, kernel_constraint=tf.keras.constraints.MaxNorm(2.0))
    total = layers.Add(name="total")([shared(both), layers.Activation("tanh")(both)])
    return tf.keras.Model([image, words], [total, layers.Reshape((3, 2), name="folded")(total)], name="graph")


def main():
    tf.disable_v2_behavior()
    tf.set_random_seed(1)
    random = np.random.RandomState(0)
    FOLDER.mkdir(exist_ok=True)
    results = {}

    x, y = random.rand(8, 3).astype(np.float32), np.eye(2, dtype=np.float32)[np.arange(8) % 2]
    model = stack()
    model.fit(x, y, epochs=3, batch_size=4, shuffle=False, verbose=0)
    model.save(FOLDER / "stack.h5")
    model.save_weights(str(FOLDER / "stack"))
    results.update(x=x, y=y, stack=model.predict(x))
    results["stack_losses"] = [model.train_on_batch(x, y)[0] for _ in range(4)]

    model = graph()
    model.set_weights([random.rand(*w.shape).astype(np.float32) for w in model.get_weights()])
    model.save(FOLDER / "graph.h5")
    model.save_weights(FOLDER / "graph_weights.h5")
    image, words = random.rand(2, 6, 6, 2).astype(np.float32), random.randint(7, size=[2, 5])
    total, folded = model.predict([image, words])
    results.update(image=image, words=words, total=total, folded=folded)

    code = tf.keras.Sequential([layers.Lambda(lambda x: x * 2.0, name="twice", input_shape=(2,))])
    code.save(FOLDER / "code.h5")
    np.savez(FOLDER / "results.npz", **results)
    (FOLDER / "checkpoint").unlink()


if __name__ == "__main__":
    main()
