"""An LSTM unrolled over 20 steps, sequences of different lengths: past the end of one its state stays."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.set_random_seed(1)
STEPS = int(sys.argv[1])
LENGTH, SIZE, BATCH = 20, 64, 128

random = np.random.RandomState(0)
lengths = random.randint(3, LENGTH + 1, 2000)
kinds = random.randint(0, 2, 2000)
data = random.rand(2000, LENGTH, 1).astype(np.float32)
ramp = np.arange(LENGTH, dtype=np.float32)[None, :, None] / LENGTH
data = np.where(kinds[:, None, None] == 1, ramp + 0.1 * data, data)
data[np.arange(LENGTH)[None, :] >= lengths[:, None]] = 0.0

x = tf.placeholder(tf.float32, [None, LENGTH, 1])
y = tf.placeholder(tf.float32, [None, 2])
length = tf.placeholder(tf.int32, [None])
kernel = tf.get_variable("kernel", [1 + SIZE, 4 * SIZE], initializer=tf.glorot_uniform_initializer())
bias = tf.get_variable("bias", [4 * SIZE], initializer=tf.zeros_initializer())

count = tf.shape(x)[0]
c = h = tf.zeros([count, SIZE])
outputs = []
for t, step in enumerate(tf.unstack(x, LENGTH, 1)):
    i, j, f, o = tf.split(tf.matmul(tf.concat([step, h], 1), kernel) + bias, 4, 1)
    new_c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    new_h = tf.tanh(new_c) * tf.sigmoid(o)
    ended = t >= length
    c = tf.where(ended, c, new_c)
    h = tf.where(ended, h, new_h)
    outputs.append(tf.where(ended, tf.zeros_like(new_h), new_h))
stacked = tf.transpose(tf.stack(outputs), [1, 0, 2])
last = tf.gather(tf.reshape(stacked, [-1, SIZE]), tf.range(count) * LENGTH + length - 1)
logits = tf.matmul(last, tf.Variable(tf.random_normal([SIZE, 2]))) + tf.Variable(tf.random_normal([2]))
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(STEPS):
        rows = random.randint(0, 2000, BATCH)
        feeds = {x: data[rows], y: np.eye(2, dtype=np.float32)[kinds[rows]], length: lengths[rows]}
        _, value = session.run([train, loss], feeds)
print("loss", value)
