"""Eager execution: a model called on values, gradients by a tape, an optimizer of Keras, metrics that count."""

import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
random = np.random.RandomState(23)
x = random.randn(40, 3).astype(np.float32)
y = (x[:, 0] > x[:, 1]).astype(np.int32)

model = tf.keras.Sequential([tf.keras.layers.Dense(6, activation="relu"), tf.keras.layers.Dense(2)])
print(model(x[:2]).shape, len(model.trainable_variables))
model.set_weights([random.randn(*w.shape) * 0.4 for w in model.get_weights()])
optimizer = tf.keras.optimizers.Adam(0.05)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
mean, accuracy = tf.keras.metrics.Mean(), tf.keras.metrics.SparseCategoricalAccuracy()
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(10)
for epoch in range(4):
    mean.reset_states(), accuracy.reset_states()
    for batch, labels in dataset:
        with tf.GradientTape() as tape:
            logits = model(batch, training=True)
            loss = loss_of(labels, logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        mean(loss)
        accuracy(labels, logits)
    print("epoch %d loss %.4f accuracy %.3f" % (epoch, mean.result().numpy(), accuracy.result().numpy()))
print("iterations", int(optimizer.iterations.numpy()))
model.compile("sgd", loss_of)
print("fit %.4f" % model.fit(x, y, epochs=1, batch_size=10, shuffle=False, verbose=0).history["loss"][0])
print("predict", model.predict(x, verbose=0).shape)
