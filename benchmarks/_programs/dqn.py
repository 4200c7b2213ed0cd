"""Deep Q-learning on a corridor; the graph grows while it runs, as careless programs let it: a new op every hundred steps."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])
STATE, ACTIONS, BATCH = 8, 3, 32

random = np.random.RandomState(0)


def network(states, name):
    """The value of each action."""
    with tf.variable_scope(name):
        for i, size in enumerate((64, 64)):
            w = tf.get_variable(f"w{i}", [states.shape[1], size], initializer=tf.glorot_uniform_initializer())
            states = tf.nn.relu(tf.matmul(states, w) + tf.get_variable(f"b{i}", [size]))
        w = tf.get_variable("w", [states.shape[1], ACTIONS], initializer=tf.glorot_uniform_initializer())
        return tf.matmul(states, w)


state = tf.placeholder(tf.float32, [None, STATE])
following = tf.placeholder(tf.float32, [None, STATE])
action = tf.placeholder(tf.int32, [None])
reward = tf.placeholder(tf.float32, [None])
values = network(state, "online")
target = tf.stop_gradient(reward + 0.9 * tf.reduce_max(network(following, "target"), 1))
chosen = tf.reduce_sum(values * tf.one_hot(action, ACTIONS), 1)
loss = tf.reduce_mean(tf.squared_difference(chosen, target))
train = tf.train.RMSPropOptimizer(1e-3).minimize(loss)
best = tf.argmax(values, 1)

memory = {"state": random.rand(5000, STATE).astype(np.float32)}
memory["action"] = random.randint(0, ACTIONS, 5000)
memory["following"] = np.roll(memory["state"], 1, axis=1)
memory["reward"] = (memory["state"].argmax(1) % ACTIONS == memory["action"]).astype(np.float32)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range(STEPS):
        session.run(best, {state: memory["state"][i % 5000][None]})
        rows = random.randint(0, 5000, BATCH)
        feeds = {
            state: memory["state"][rows], following: memory["following"][rows],
            action: memory["action"][rows], reward: memory["reward"][rows],
        }  # fmt: skip
        _, value = session.run([train, loss], feeds)
        if i % 100 == 0:
            pairs = zip(tf.trainable_variables("online"), tf.trainable_variables("target"), strict=True)
            session.run([tf.assign(theirs, ours) for ours, theirs in pairs])
print("loss", value)
