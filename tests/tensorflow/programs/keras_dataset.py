"""Datasets straight into fit and evaluate, several inputs as dictionaries, a learning rate that follows a schedule."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

random = np.random.RandomState(17)
features = {"age": random.rand(64, 1).astype(np.float32), "place": random.randint(0, 5, (64, 1))}
labels = (features["age"][:, 0] + features["place"][:, 0] / 5.0 > 0.9).astype(np.float32)


def prepared(features, label):
    return dict(features, age=features["age"] * 2.0 - 1.0), label


dataset = tf.data.Dataset.from_tensor_slices((features, labels)).map(prepared).batch(8)
age, place = layers.Input((1,), name="age"), layers.Input((1,), dtype=tf.int64, name="place")
joined = layers.concatenate([age, layers.Reshape((3,))(layers.Embedding(5, 3)(place))])
hidden = layers.LayerNormalization(epsilon=1e-3)(layers.Dense(10, activation=tf.nn.relu)(joined))
output = layers.Dense(1, activation="sigmoid")(
    layers.maximum([hidden, layers.Dense(10, "swish" if False else "tanh")(joined)])
)
model = tf.keras.Model([age, place], output)
rate = tf.keras.optimizers.schedules.ExponentialDecay(0.05, decay_steps=8, decay_rate=0.5)
model.compile(
    tf.keras.optimizers.Adam(rate), tf.keras.losses.BinaryCrossentropy(label_smoothing=0.1), metrics=["accuracy"]
)
model.set_weights(
    [
        np.ones(w.shape) if "gamma" in v.name else random.randn(*w.shape) * 0.3
        for v, w in zip(model.weights, model.get_weights())
    ]
)
history = model.fit(
    dataset.repeat(), steps_per_epoch=8, epochs=3, validation_data=dataset, validation_steps=4, verbose=0
)
print("loss", " ".join("%.4f" % v for v in history.history["loss"]))
print("val_loss", " ".join("%.4f" % v for v in history.history["val_loss"]))
print("evaluate", "%.4f %.4f" % tuple(model.evaluate(dataset, steps=8, verbose=0)))
print("predict", model.predict(dataset, steps=2).shape)
print("iterations", tf.keras.backend.get_value(model.optimizer.iterations))
