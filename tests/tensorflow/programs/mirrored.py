"""Two replicas on two virtual devices: variables in the scope, one input for both, gradients added up."""

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
print(strategy.num_replicas_in_sync)
random = np.random.RandomState(0)
x = random.randn(64, 5).astype(np.float32)
y = (x.sum(1, keepdims=True) > 0).astype(np.float32)
start = random.randn(5, 1).astype(np.float32) * 0.1

with strategy.scope():
    w = tf.get_variable("w", initializer=start)
    b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    optimizer = tf.train.MomentumOptimizer(0.5, 0.9)


def step(inputs):
    features, labels = inputs
    logits = tf.matmul(features, w) + b
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_sum(losses) / 16.0
    with tf.control_dependencies([optimizer.minimize(loss)]):
        return tf.identity(loss)


with strategy.scope():
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True).repeat()
    iterator = strategy.make_dataset_iterator(dataset)
    losses = strategy.run(step, args=(iterator.get_next(),))
    total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
    session.run([iterator.initializer, tf.global_variables_initializer()])
    for i in range(12):
        value = session.run(total)
        if i % 4 == 3:
            print("step %d loss %.4f" % (i + 1, value))
    print("w", np.round(session.run(strategy.experimental_local_results(w)[0]).ravel(), 3) + 0.0)
    copies = session.run(strategy.experimental_local_results(b))
    print(len(copies), np.allclose(copies[0], copies[1]))
