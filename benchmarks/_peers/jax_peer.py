"""JAX: layers for `architecture`, and the training step, one jitted function that gives its parameters' buffers away."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks._peers import architecture
from headrace.models.seeded import initial_value

CHAIN = 1000


class Layers:
    """The layers over a dictionary of parameters, into which missing ones are put as NumPy arrays."""

    relu, sigmoid, tanh = staticmethod(jax.nn.relu), staticmethod(jax.nn.sigmoid), staticmethod(jnp.tanh)
    concat, stack = staticmethod(jnp.concatenate), staticmethod(jnp.stack)

    def __init__(self, parameters):
        self.parameters = parameters

    def parameter(self, name, *shape):
        if name not in self.parameters:
            self.parameters[name] = initial_value(name, shape)
        return self.parameters[name]

    def affine(self, x, kernel, bias):
        return x @ kernel + bias

    def dense(self, x, name, units):
        return self.affine(
            x, self.parameter(f"{name}/kernel", x.shape[-1], units), self.parameter(f"{name}/bias", units)
        )

    def convolution(self, x, name, filters, size, stride=1, padding="SAME"):
        height, width = size if isinstance(size, tuple) else (size, size)
        kernel = self.parameter(f"{name}/kernel", height, width, x.shape[-1], filters)
        return jax.nn.relu(_convolve(x, kernel, stride, padding) + self.parameter(f"{name}/bias", filters))

    def max_pool(self, x, size, stride, padding="VALID"):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), padding)

    def flatten(self, x):
        return x.reshape(x.shape[0], -1)

    def look_up(self, name, rows, width, ids):
        return jnp.take(self.parameter(f"{name}/table", rows, width), ids, axis=0)

    def split(self, x, count):
        return jnp.split(x, count, 1)

    def squeeze(self, x):
        return x.squeeze(1)

    def zeros(self, *shape):
        return jnp.zeros(shape, jnp.float32)

    def loss(self, logits, labels):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def sigmoid_loss(self, logits, labels):
        return (jax.nn.softplus(logits) - logits * labels.astype(logits.dtype)).mean()


def _convolve(x, kernel, stride, padding):
    if isinstance(padding, int):
        padding = [(padding, padding)] * 2
    return lax.conv_general_dilated(x, kernel, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def prepare(workload, batch):
    """Makes the parameters; returns the step, which takes NumPy arrays and returns the loss."""
    if workload.model in ("null", "tiny"):
        return _bare(workload.model)
    forward = getattr(architecture, workload.model)

    def loss_of(parameters, inputs, labels):
        return forward(Layers(parameters), inputs, labels, **workload.arguments)

    made = {}
    jax.eval_shape(lambda inputs, labels: loss_of(made, inputs, labels), *batch)
    state = {name: jnp.array(value) for name, value in made.items()}

    def train(parameters, inputs, labels):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, inputs, labels)
        rate = workload.learning_rate
        return loss, {name: value - rate * gradients[name] for name, value in parameters.items()}

    train = jax.jit(train, donate_argnums=0)

    def step(*arrays):
        nonlocal state
        loss, state = train(state, *arrays)
        return float(loss)

    return step


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
