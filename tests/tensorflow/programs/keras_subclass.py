"""Layers and a model as classes: build, add_weight, get_config, nested models, masks, train_on_batch."""

import numpy as np
import tensorflow as tf

random = np.random.RandomState(7)


class Scale(tf.keras.layers.Layer):
    """A factor for each column, kept near one."""

    def __init__(self, start=1.0, **kwargs):
        super(Scale, self).__init__(**kwargs)
        self.start = start

    def build(self, input_shape):
        self.factor = self.add_weight(
            name="factor",
            shape=(int(input_shape[-1]),),
            initializer=tf.keras.initializers.Constant(self.start),
            regularizer=lambda w: 0.1 * tf.reduce_sum(tf.square(w - 1.0)),
            trainable=True,
        )
        super(Scale, self).build(input_shape)

    def call(self, inputs):
        return inputs * self.factor

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return dict(super(Scale, self).get_config(), start=self.start)


class Block(tf.keras.Model):
    """Two dense layers with a way around them."""

    def __init__(self, units):
        super(Block, self).__init__(name="block")
        self.units = units
        self.first = tf.keras.layers.Dense(units, activation="relu")
        self.scale = Scale(0.5)
        self.rest = [tf.keras.layers.Dense(units), tf.keras.layers.Dense(2)]

    def call(self, inputs, training=None):
        x = self.scale(self.first(inputs))
        return self.rest[1](x + self.rest[0](x))


x = random.randn(64, 3).astype(np.float32)
y = np.stack([x.sum(1), x[:, 0] * x[:, 1]], 1)
model = Block(6)
model.compile(
    tf.keras.optimizers.Adagrad(0.1),
    loss=tf.keras.losses.Huber(delta=0.8),
    metrics=[tf.keras.metrics.MeanAbsoluteError(name="mae")],
)
model.predict(x[:1])
print(
    [tuple(w.shape.as_list()) for w in model.weights],
    len(model.layers),
    len(model.losses),
    len(model.trainable_weights),
)
model.set_weights([random.randn(*w.shape) * 0.4 for w in model.get_weights()])
for epoch in range(3):
    values = [model.train_on_batch(x[i : i + 16], y[i : i + 16]) for i in range(0, 64, 16)]
    print("epoch", epoch, " ".join("%.4f" % value[0] for value in values))
print("test", "%.4f" % model.test_on_batch(x, y)[0], model.predict_on_batch(x).shape)

inputs = tf.keras.Input((3,))
whole = tf.keras.Model(inputs, tf.keras.layers.Dense(1, use_bias=False)(Scale(2.0, name="twice")(inputs)))
config = whole.get_config()
again = tf.keras.Model.from_config(config, custom_objects={"Scale": Scale})
again.set_weights(whole.get_weights())
whole.compile("sgd", "mse"), again.compile("sgd", "mse")
print(np.allclose(whole.predict(x), again.predict(x)), again.get_layer("twice").get_config()["start"])
text = whole.to_json()
with tf.keras.utils.CustomObjectScope({"Scale": Scale}):
    print([layer.name for layer in tf.keras.models.model_from_json(text).layers])
try:
    tf.keras.models.model_from_json(text)
except ValueError as error:
    print("ValueError", "Scale" in str(error))
whole.get_layer("twice").trainable = False
print(len(whole.trainable_weights), len(whole.non_trainable_weights))
