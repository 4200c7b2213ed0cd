"""Batches from a generator and a Sequence: class weights, a CSV log, the weights of the best epoch kept."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

random = np.random.RandomState(13)


class Batches(tf.keras.utils.Sequence):
    """Pieces of arrays."""

    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size

    def __len__(self):
        return int(np.ceil(len(self.x) / float(self.size)))

    def __getitem__(self, index):
        piece = slice(index * self.size, (index + 1) * self.size)
        return self.x[piece], self.y[piece]


def endless(x, y, size):
    while True:
        for begin in range(0, len(x), size):
            yield x[begin : begin + size], y[begin : begin + size]


x = random.randn(90, 5)
y = tf.keras.utils.to_categorical((x[:, 0] > 0.8).astype(int) + (x[:, 1] > 0), 3)
model = tf.keras.Sequential(
    [
        layers.Dense(16, input_shape=(5,), kernel_constraint=tf.keras.constraints.max_norm(2.0)),
        layers.LeakyReLU(0.1),
        layers.Dense(8),
        layers.PReLU(),
        layers.Dense(3),
        layers.Softmax(),
    ]
)
model.compile(tf.keras.optimizers.RMSprop(lr=0.005, decay=1e-3), "categorical_crossentropy", ["categorical_accuracy"])
model.set_weights([random.randn(*w.shape) * 0.4 for w in model.get_weights()])
folder = tempfile.mkdtemp()
log, best = os.path.join(folder, "log.csv"), os.path.join(folder, "best.h5")
callbacks = [
    tf.keras.callbacks.CSVLogger(log),
    tf.keras.callbacks.ModelCheckpoint(best, monitor="val_loss", save_best_only=True, save_weights_only=True),
    tf.keras.callbacks.TerminateOnNaN(),
]
history = model.fit_generator(
    endless(x, y, 15),
    steps_per_epoch=6,
    epochs=4,
    validation_data=Batches(x[:30], y[:30], 10),
    class_weight={0: 1.0, 1: 2.0, 2: 0.5},
    callbacks=callbacks,
    verbose=0,
    shuffle=False,
)
print("loss", " ".join("%.4f" % v for v in history.history["loss"]))
print("val_loss", " ".join("%.4f" % v for v in history.history["val_loss"]))
with open(log) as file:
    lines = file.read().splitlines()
print(lines[0], len(lines))
model.load_weights(best)
print("evaluate %.4f" % model.evaluate_generator(Batches(x[:30], y[:30], 10))[0])
print("predict", model.predict_generator(Batches(x, y, 20)).shape)
history = model.fit(Batches(x, y, 18), epochs=2, verbose=0, shuffle=False)
print("sequence", " ".join("%.4f" % v for v in history.history["loss"]))
