"""REINFORCE: many small runs to act, one larger one to learn after each episode."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])
LENGTH = 50

random = np.random.RandomState(0)
state = tf.placeholder(tf.float32, [None, 4])
action = tf.placeholder(tf.int32, [None])
gain = tf.placeholder(tf.float32, [None])
hidden = tf.nn.tanh(tf.matmul(state, tf.Variable(tf.random_normal([4, 32], stddev=0.3))) + tf.Variable(tf.zeros([32])))
logits = tf.matmul(hidden, tf.Variable(tf.random_normal([32, 2], stddev=0.3)))
chances = tf.nn.softmax(logits)
loss = tf.reduce_mean(gain * tf.nn.sparse_softmax_cross_entropy_with_logits(labels=action, logits=logits))
train = tf.train.AdamOptimizer(1e-2).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(STEPS):
        now = random.uniform(-0.05, 0.05, 4).astype(np.float32)
        states, actions, rewards = [], [], []
        for _ in range(LENGTH):
            p = session.run(chances, {state: now[None]})[0]
            push = int(random.uniform() < p[1])
            states.append(now)
            actions.append(push)
            rewards.append(float(abs(now[0]) < 1.0))
            now = np.clip(now + np.float32([0.1 * now[1], 0.2 * push - 0.1, 0.1 * now[3], 0.1 - 0.2 * push]), -2, 2)
        gains = np.cumsum(rewards[::-1])[::-1]
        gains = (gains - gains.mean()) / (gains.std() + 1e-6)
        session.run(train, {state: states, action: actions, gain: gains})
print("last episode", sum(rewards))
