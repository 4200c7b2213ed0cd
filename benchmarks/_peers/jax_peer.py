"""JAX: layers for `architecture`, and the training step, one jitted function that gives its parameters' buffers away."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks._peers import architecture
from headrace.models.layer import EPSILON, MOMENTUM
from headrace.models.seeded import initial_value

CHAIN = 1000


class Layers:
    """The layers over a dictionary of parameters, into which missing ones are put as NumPy arrays.

    `averages` are the values of which moving averages are kept; what they become is put into `updated`.
    """

    sigmoid, tanh = staticmethod(jax.nn.sigmoid), staticmethod(jnp.tanh)
    join, stack = staticmethod(jnp.concatenate), staticmethod(jnp.stack)

    def __init__(self, parameters, averages):
        self.parameters = parameters
        self.averages = averages
        self.updated = {}

    def parameter(self, name, *shape):
        return _found(self.parameters, name, shape)

    def affine(self, x, kernel, bias):
        return x @ kernel + bias

    def dense(self, x, name, units, rectify=False):
        kernel, bias = self.parameter(f"{name}/kernel", x.shape[-1], units), self.parameter(f"{name}/bias", units)
        y = self.affine(x, kernel, bias)
        return jax.nn.relu(y) if rectify else y

    def convolution(self, x, name, filters, size, stride=1, padding="SAME"):
        y = self._convolve(x, name, filters, size, stride, padding)
        return jax.nn.relu(y + self.parameter(f"{name}/bias", filters))

    def normalized_convolution(self, x, name, filters, size, stride=1, padding="SAME"):
        y = self._convolve(x, name, filters, size, stride, padding)
        mean = y.mean((0, 1, 2))
        variance = jnp.square(y - mean).mean((0, 1, 2))
        count = y.size // filters
        for kind, value in (("mean", mean), ("variance", variance * (count / (count - 1)))):
            moving = _found(self.averages, f"{name}/moving_{kind}", (filters,))
            self.updated[f"{name}/moving_{kind}"] = moving - (moving - lax.stop_gradient(value)) * (1.0 - MOMENTUM)
        return jax.nn.relu((y - mean) * lax.rsqrt(variance + EPSILON) + self.parameter(f"{name}/beta", filters))

    def _convolve(self, x, name, filters, size, stride, padding):
        height, width = size if isinstance(size, tuple) else (size, size)
        kernel = self.parameter(f"{name}/kernel", height, width, x.shape[-1], filters)
        return _convolve(x, kernel, stride, padding)

    def max_pool(self, x, size, stride, padding="VALID"):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)

    def average_pool(self, x, size, stride, padding="VALID"):
        window, strides = (1, size, size, 1), (1, stride, stride, 1)
        count = lax.reduce_window(np.ones((1, *x.shape[1:3], 1), np.float32), 0.0, lax.add, window, strides, padding)
        return lax.reduce_window(x, 0.0, lax.add, window, strides, padding) / count

    def mean_of_picture(self, x):
        return x.mean((1, 2))

    def concat(self, branches):
        return jnp.concatenate(branches, 3)

    def flatten(self, x):
        return x.reshape(x.shape[0], -1)

    def look_up(self, name, rows, width, ids):
        return jnp.take(self.parameter(f"{name}/table", rows, width), ids, axis=0)

    def layer_normalization(self, x, name):
        gamma, beta = self.parameter(f"{name}/gamma", x.shape[-1]), self.parameter(f"{name}/beta", x.shape[-1])
        mean = x.mean(-1, keepdims=True)
        variance = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * gamma + beta

    def attention(self, queries, keys, values):
        return jax.nn.dot_product_attention(queries, keys, values, is_causal=True)

    def split(self, x, count):
        return jnp.split(x, count, 1)

    def zeros(self, *shape):
        return jnp.zeros(shape, jnp.float32)

    def scan(self, cell, before, sequence):
        return lax.scan(cell, before, sequence)[1]

    def loss(self, logits, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def sigmoid_loss(self, logits, labels):
        return (jax.nn.softplus(logits) - logits * labels.astype(logits.dtype)).mean()


def _found(values, name, shape):
    if name not in values:
        values[name] = initial_value(name, shape)
    return values[name]


def _convolve(x, kernel, stride, padding):
    if isinstance(padding, int):
        padding = [(padding, padding)] * 2
    return lax.conv_general_dilated(x, kernel, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def prepare(workload, batch):
    """Makes the parameters; returns the step, which takes NumPy arrays and returns the loss, and the seconds of building."""
    if workload.bare:
        return _bare(workload.model), 0.0
    state, train = _embedding(workload) if workload.model == "embedding" else _training(workload, batch)
    train = jax.jit(train, donate_argnums=0)
    held = [jnp.asarray(array) for array in batch]

    def step(*arrays):
        nonlocal state
        loss, state = train(state, *arrays)
        return float(loss)

    return (lambda: step(*held)) if workload.resident else step, 0.0  # it is traced in the first step


def _training(workload, batch):
    forward = architecture.loss_of(workload)

    def loss_of(parameters, averages, inputs, labels):
        layers = Layers(parameters, averages)
        loss = forward(layers, inputs, labels)
        return loss, layers.updated

    made = ({}, {})
    jax.eval_shape(lambda inputs, labels: loss_of(*made, inputs, labels)[0], *batch)

    def train(state, inputs, labels):
        parameters, averages = state
        (loss, averages), gradients = jax.value_and_grad(loss_of, has_aux=True)(parameters, averages, inputs, labels)
        rate = workload.learning_rate
        return loss, ({name: value - rate * gradients[name] for name, value in parameters.items()}, averages)

    return jax.tree.map(jnp.array, made), train


def _embedding(workload):
    """Only the rows that were looked up get a gradient, and only they are updated."""

    def train(table, ids, targets):
        difference = table[ids] - targets  # the gradient of the loss is the difference itself
        return 0.5 * jnp.square(difference).sum(), table.at[ids].add(-workload.learning_rate * difference)

    return jnp.array(initial_value("embedding/table", (workload.arguments["rows"], 64))), train


def _bare(name):
    if name == "null":
        add = jax.jit(lambda x: x + 1.0)
        return lambda x: float(add(x))
    other = jnp.asarray(np.full(8, 1.5, np.float32))

    @jax.jit
    def chain(value, other):
        for i in range(CHAIN):
            value = jnp.sin(value) if i % 2 else value * other
        return value.sum()

    return lambda x: float(chain(x, other))
