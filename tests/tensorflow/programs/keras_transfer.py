"""A trained model as part of another: frozen layers, weights by name from an HDF5 file, a whole model saved and loaded."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, models

random = np.random.RandomState(19)
folder = tempfile.mkdtemp()
x = random.rand(48, 8, 8, 3).astype(np.float32)
y = (x[:, :4].mean((1, 2, 3)) > x[:, 4:].mean((1, 2, 3))).astype(np.float32)


def base():
    inputs = layers.Input((8, 8, 3))
    net = layers.SeparableConv2D(6, 3, activation="relu", name="first")(inputs)
    net = layers.DepthwiseConv2D(2, strides=2, name="second")(layers.ZeroPadding2D(1)(net))
    net = layers.Conv2DTranspose(4, 2, strides=2, name="third")(layers.ReLU(6.0)(net))
    return models.Model(inputs, layers.UpSampling2D()(layers.Cropping2D(1)(net)), name="base")


body = base()
body.set_weights([random.randn(*w.shape) * 0.3 for w in body.get_weights()])
path = os.path.join(folder, "base.h5")
body.save_weights(path)
other = base()
other.load_weights(path, by_name=True)
print(body.output_shape, all(np.array_equal(a, b) for a, b in zip(body.get_weights(), other.get_weights())))
for layer in other.layers[:-3]:
    layer.trainable = False
print(len(other.trainable_weights), len(other.non_trainable_weights))

model = models.Sequential([other, layers.Flatten(), layers.Dense(1, activation="sigmoid")])
model.compile(tf.keras.optimizers.Adam(0.01, beta_1=0.8), "binary_crossentropy")
model.layers[-1].set_weights([random.randn(*w.shape) * 0.05 for w in model.layers[-1].get_weights()])
losses = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0).history["loss"]
print("loss", " ".join("%.4f" % v for v in losses))
print("frozen", np.array_equal(other.get_layer("first").get_weights()[0], body.get_layer("first").get_weights()[0]))
whole = os.path.join(folder, "whole.h5")
model.save(whole)
tf.keras.backend.clear_session()
again = models.load_model(whole)
print("loaded", [layer.name for layer in again.layers], len(again.trainable_weights))
losses = again.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0).history["loss"]
print("loss", " ".join("%.4f" % v for v in losses))
copy = models.clone_model(again)
copy.set_weights(again.get_weights())
print(
    "copy %.4f" % np.abs(copy.predict(x) - again.predict(x)).max(),
    len(tf.keras.models.model_from_json(again.to_json()).layers),
)
