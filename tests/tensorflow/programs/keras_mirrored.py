"""A Keras model compiled in the scope of a mirrored strategy: fit, evaluate and predict on two virtual devices."""

import numpy as np
import tensorflow as tf

tf.keras.backend.set_session(tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})))
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
random = np.random.RandomState(1)
x = random.randn(64, 6).astype(np.float32)
y = (x[:, :3].sum(1) > 0).astype(np.int64)
kernels = [(random.randn(*shape) * 0.3).astype(np.float32) for shape in ((6, 8), (8, 2))]

with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(
                8, activation="relu", input_shape=(6,), kernel_initializer=tf.constant_initializer(kernels[0])
            ),
            tf.keras.layers.Dense(2, activation="softmax", kernel_initializer=tf.constant_initializer(kernels[1])),
        ]
    )
    model.compile(
        optimizer=tf.keras.optimizers.SGD(0.2, momentum=0.9),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )

dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True).repeat()
history = model.fit(dataset, epochs=3, steps_per_epoch=4, verbose=0)
for epoch, loss in enumerate(history.history["loss"]):
    print("epoch %d loss %.4f" % (epoch + 1, loss))
print("accuracy", ["%.3f" % v for v in history.history["accuracy" if "accuracy" in history.history else "acc"]])
loss, accuracy = model.evaluate(dataset, steps=4, verbose=0)
print("evaluated %.4f %.3f" % (loss, accuracy))
print("weights", np.round(model.get_weights()[3], 3) + 0.0)
