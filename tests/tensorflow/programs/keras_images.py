"""A small network for pictures, as Keras programs of 2018 have it: Sequential, compile, fit, callbacks, evaluate, predict."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

random = np.random.RandomState(0)
CLASSES = 4


def pictures(count):
    """Squares in one of four corners, in noise."""
    labels = random.randint(0, CLASSES, count)
    images = random.rand(count, 12, 12, 1) * 0.5
    for image, label in zip(images, labels):
        row, column = 6 * (label // 2), 6 * (label % 2)
        image[row + 1 : row + 5, column + 1 : column + 5] += 0.6
    return images.astype(np.float32), labels


def seeded(model):
    """Gives every weight a value that does not depend on the framework."""
    model.set_weights(
        [
            np.ones(w.shape) if "variance" in v.name or "gamma" in v.name else random.randn(*w.shape) * 0.15
            for v, w in zip(model.weights, model.get_weights())
        ]
    )


model = tf.keras.models.Sequential(
    [
        layers.Conv2D(8, (3, 3), activation="relu", input_shape=(12, 12, 1), name="conv"),
        layers.MaxPooling2D((2, 2)),
        layers.Conv2D(8, 3, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.Activation("relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(CLASSES, activation="softmax", kernel_regularizer=tf.keras.regularizers.l2(1e-3)),
    ]
)
model.compile(
    optimizer=tf.keras.optimizers.Adam(0.02),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy", "sparse_top_k_categorical_accuracy"],
)
seeded(model)

seen = []
callbacks = [
    tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.02 if epoch < 4 else 0.005),
    tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append((epoch, sorted(logs)))),
    tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=3, restore_best_weights=True),
]
x, y = pictures(256)
test = pictures(64)
history = model.fit(x, y, batch_size=32, epochs=8, validation_data=test, callbacks=callbacks, shuffle=False, verbose=0)
for name in sorted(history.history):
    if "top_k" not in name:
        print(name, " ".join("%.3f" % value for value in history.history[name]))
print(seen[0][0], [name.replace("acc_", "") for name in seen[0][1] if "acc" not in name])
print("evaluate", " ".join("%.3f" % value for value in model.evaluate(*test, verbose=0)))
print("predict", model.predict(test[0][:2], batch_size=1).shape, np.argmax(model.predict(test[0][:6]), 1), test[1][:6])
