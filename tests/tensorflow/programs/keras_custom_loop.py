"""A Keras model in a loop of one's own: a dataset's iterator, the model called on its tensors, a tf.train optimizer."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K

random = np.random.RandomState(5)
data = random.randn(96, 4).astype(np.float32)
target = (data[:, :1] * data[:, 1:2] > 0).astype(np.float32)

dataset = tf.data.Dataset.from_tensor_slices((data, target)).batch(16).repeat(3)
iterator = dataset.make_initializable_iterator()
x, y = iterator.get_next()

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(12, activation="relu", input_dim=4),
        tf.keras.layers.BatchNormalization(momentum=0.8),
        tf.keras.layers.Dense(1),
    ]
)
logits = model(x, training=True)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)) + 1e-4 * tf.add_n(
    [tf.nn.l2_loss(w) for w in model.trainable_weights]
)
step = tf.train.get_or_create_global_step()
updates = model.get_updates_for(x)
with tf.control_dependencies(updates):
    train = tf.train.AdamOptimizer(0.02).minimize(loss, global_step=step, var_list=model.trainable_weights)
print([v.name for v in model.weights], len(updates))

session = tf.Session()
K.set_session(session)
session.run([tf.global_variables_initializer(), iterator.initializer])
model.set_weights(
    [
        np.ones(w.shape) if "gamma" in v.name or "variance" in v.name else random.randn(*w.shape) * 0.4
        for v, w in zip(model.weights, model.get_weights())
    ]
)
while True:
    try:
        value, _ = session.run([loss, train])
    except tf.errors.OutOfRangeError:
        break
    number = session.run(step)
    if number % 6 == 0:
        print("step %d loss %.4f" % (number, value))
print("moving mean %.4f" % model.layers[1].get_weights()[2].sum(), K.learning_phase() is not None)
probabilities = 1 / (1 + np.exp(-model.predict(data)))
print("accuracy %.3f" % np.mean((probabilities > 0.5) == target))
inputs = model.inputs + [K.learning_phase()]
hidden = K.function(inputs, [model.layers[1].output])
for phase in (0, 1):
    print("phase", phase, "%.4f" % np.abs(hidden([data, phase])[0]).mean())
