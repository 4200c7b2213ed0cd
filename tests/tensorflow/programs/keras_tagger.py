"""A tag for each word: both directions, one dense layer for all times, masks, weights for single times, states."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

random = np.random.RandomState(11)
TIMES, TAGS = 7, 3

inputs = layers.Input((TIMES, 4))

x = layers.Bidirectional(layers.GRU(5, return_sequences=True, reset_after=False), merge_mode="concat")(inputs)
x, state = layers.SimpleRNN(6, return_sequences=True, return_state=True)(x)
x = layers.TimeDistributed(layers.Dense(8, activation="elu"))(x)
outputs = layers.TimeDistributed(layers.Dense(TAGS, activation="softmax"))(x)
model = tf.keras.Model(inputs, outputs)
print(model.output_shape, [tuple(w.shape) for w in model.get_weights()])
model.compile(
    tf.keras.optimizers.Nadam(0.01),
    "sparse_categorical_crossentropy",
    sample_weight_mode="temporal",
    weighted_metrics=["acc"],
)
model.set_weights([random.randn(*w.shape) * 0.3 for w in model.get_weights()])

data = random.randn(40, TIMES, 4)
lengths = random.randint(3, TIMES + 1, 40)
for row, length in zip(data, lengths):
    row[length:] = 0.0
tags = (np.cumsum(data[:, :, 0], 1) > 0).astype(int) + (data[:, :, 1] > 0)
weights = np.where(np.arange(TIMES) < 3, 2.0, 1.0) * np.ones([40, 1])
history = model.fit(data, tags[..., None], sample_weight=weights, batch_size=8, epochs=4, shuffle=False, verbose=0)
print("loss", " ".join("%.4f" % v for v in history.history["loss"]))
print("predict %.4f" % model.predict(data[:5]).std())

reader = tf.keras.Sequential(
    [
        layers.Masking(mask_value=0.0, batch_input_shape=(2, 3, 4)),
        layers.LSTM(4, stateful=True, return_sequences=True),
        layers.LSTM(3, stateful=True, go_backwards=True),
    ]
)
reader.compile("sgd", "mse")
reader.set_weights([random.randn(*w.shape) * 0.3 for w in reader.get_weights()])
parts = [reader.predict(data[:2, i : i + 3], batch_size=2) for i in (0, 3)]
reader.reset_states()
print("states %.5f %.5f %.5f" % (parts[0].sum(), parts[1].sum(), reader.predict(data[:2, 3:6], batch_size=2).sum()))
cells = layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)], return_state=True)
print([t.shape.as_list() for t in tf.nest.flatten(cells(tf.zeros([5, TIMES, 4])))])
