"""Losses that belong to tensors, not to labels: add_loss, add_metric, K operations, targets and losses of one's own."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Activation, Dense, GaussianNoise, Input, Lambda, Reshape
from tensorflow.keras.models import Model

random = np.random.RandomState(2)
WIDTH, CODE = 10, 3
inputs = Input((WIDTH,))
hidden = Dense(8, activation="selu")(GaussianNoise(0.0)(inputs))
mean, spread = Dense(CODE, name="mean")(hidden), Dense(CODE, name="spread")(hidden)
code = Lambda(lambda both: both[0] + 0.3 * K.exp(both[1] / 2), output_shape=(CODE,), name="code")([mean, spread])
decoder = tf.keras.Sequential([Dense(8, activation="softplus", input_shape=(CODE,)), Dense(WIDTH)], name="decoder")
restored = Activation("sigmoid")(decoder(code))
model = Model(inputs, restored)
divergence = -0.5 * K.mean(K.sum(1 + spread - K.square(mean) - K.exp(spread), axis=-1))
error = K.mean(tf.keras.losses.binary_crossentropy(inputs, restored)) * WIDTH
model.add_loss(error + 0.1 * divergence)
model.add_metric(divergence, name="divergence", aggregation="mean")
model.compile(tf.keras.optimizers.Adamax(0.02, clipnorm=1.0))
model.set_weights([random.randn(*w.shape) * 0.3 for w in model.get_weights()])
x = (random.rand(80, WIDTH) > 0.5).astype(np.float32)
history = model.fit(x, epochs=4, batch_size=20, shuffle=False, verbose=0)
print("loss", " ".join("%.4f" % v for v in history.history["loss"]))
print("divergence", " ".join("%.4f" % v for v in history.history["divergence"]))
encoder = K.function([model.input], [mean, code])
print([v.shape for v in encoder([x[:4]])], "%.4f" % encoder([x])[1].mean())


def smooth(y_true, y_pred):
    """Dice, as segmentation programs write it."""
    both = K.sum(y_true * y_pred, axis=[1, 2])
    return 1.0 - (2.0 * both + 1.0) / (K.sum(y_true, axis=[1, 2]) + K.sum(y_pred, axis=[1, 2]) + 1.0)


def overlap(y_true, y_pred):
    return K.mean(K.cast(K.equal(K.round(y_pred), y_true), K.floatx()))


masks = Sequential = tf.keras.Sequential([Dense(25, input_shape=(WIDTH,)), Reshape((5, 5)), Activation("hard_sigmoid")])
masks.compile(
    "adadelta", smooth, [overlap, tf.keras.metrics.Precision(name="precision"), tf.keras.metrics.AUC(name="auc")]
)
masks.set_weights([random.randn(*w.shape) * 0.5 for w in masks.get_weights()])
y = (x[:, :5, None] * x[:, None, 5:]).astype(np.float32)
values = masks.fit(x, y, epochs=2, batch_size=40, shuffle=False, verbose=0).history
for name in ("loss", "overlap", "precision", "auc"):
    print(name, " ".join("%.4f" % v for v in values[name]))
print(
    "gradient %.4f"
    % K.get_session().run(K.gradients(K.sum(masks.output), [masks.input])[0], {masks.input: x[:3]}).sum()
)
