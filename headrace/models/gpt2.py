"""GPT-2, as programs of 2019 write it: variables by `get_variable`, attention from products and a softmax, Adam.

Everything is by hand, as then: the normalisation, the activation, the mask of zeros and ones.
"""

import math

import headrace as tf
from headrace.models import layer, model, seeded

VOCABULARY = 50_257


def build(batch, steps=512, width=768, layers=12, heads=12, vocabulary=VOCABULARY, learning_rate=1e-4, resident=False):
    """The training graph for batches of this many sequences."""
    inputs = model.source("inputs", tf.int32, [batch, steps], resident)
    labels = model.source("labels", tf.int32, [batch, steps], resident)
    words, places = layer.table("words", vocabulary, width), layer.table("places", steps, width)
    x = tf.gather(words, inputs) + tf.gather(places, tf.range(steps))
    for i in range(layers):
        with tf.variable_scope(f"h{i}"):
            x += _attention(_norm(x, "norm1"), heads)
            hidden = _gelu(_dense(_norm(x, "norm2"), "hidden", 4 * width))
            x += _dense(hidden, "output", width)
    x = tf.reshape(_norm(x, "norm"), [batch * steps, width])
    logits = tf.matmul(x, words, transpose_b=True)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(labels, [-1]), logits=logits)
    loss = tf.reduce_mean(losses, name="loss")
    train_op = tf.train.AdamOptimizer(learning_rate).minimize(loss)
    return model.Model(inputs, labels, logits, loss, train_op, tf.trainable_variables())


def _dense(x, name, units):
    width = x.shape.as_list()[-1]
    with tf.variable_scope(name):
        y = tf.matmul(tf.reshape(x, [-1, width]), layer.kernel([width, units])) + layer.bias(units)
    return tf.reshape(y, [*x.shape.as_list()[:-1], units])


def _norm(x, name):
    with tf.variable_scope(name):
        gamma = tf.get_variable("gamma", [x.shape.as_list()[-1]], initializer=tf.ones_initializer())
        beta = tf.get_variable("beta", [x.shape.as_list()[-1]], initializer=tf.zeros_initializer())
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-5) * gamma + beta


def _gelu(x):
    return 0.5 * x * (1.0 + tf.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * tf.pow(x, 3.0))))


def _attention(x, heads):
    batch, steps, width = x.shape.as_list()
    queries, keys, values = (
        tf.transpose(tf.reshape(one, [batch, steps, heads, width // heads]), [0, 2, 1, 3])
        for one in tf.split(_dense(x, "attention", 3 * width), 3, axis=2)
    )
    scores = tf.matmul(queries, keys, transpose_b=True) * (1.0 / math.sqrt(width // heads))
    seen = tf.reshape(tf.cast(tf.range(steps)[:, None] >= tf.range(steps), scores.dtype), [1, 1, steps, steps])
    scores = scores * seen - tf.cast(1e10, scores.dtype) * (1 - seen)
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), values), [0, 2, 1, 3])
    return _dense(tf.reshape(mixed, [batch, steps, width]), "mixture", width)


def example(batch, steps=512, vocabulary=VOCABULARY, seed=0):
    """Random sequences and, for every word, the next."""
    return seeded.tokens(batch, steps, vocabulary, seed)
