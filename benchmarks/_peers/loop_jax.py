"""The loops of `control_flow` in JAX: `lax.while_loop` and `lax.scan` inside one jitted function."""

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks._peers import loop_data as data

clock = data.clock


def _timed(function, *arguments):
    """The jitted function on arrays of the device; waits for the result."""
    compiled = jax.jit(function)
    given = [jnp.asarray(a) for a in arguments]
    return lambda: jax.block_until_ready(compiled(*given))


def empty(lib):
    return _timed(lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0), data.EMPTY)


def _scan(rows):
    def step(so_far, row):
        following = so_far * 0.9 + row
        return following, following

    return jnp.concatenate([rows[:1], lax.scan(step, rows[0], rows[1:])[1]])


def scan(lib):
    return _timed(_scan, data.rows())


def scan_gradient(lib):
    return _timed(jax.grad(lambda rows: jnp.square(_scan(rows)).sum()), data.rows())


def _lstm(inputs, kernel, bias):
    def step(carry, x):
        state, output = carry
        i, j, f, o = jnp.split(jnp.concatenate([x, output], 1) @ kernel + bias, 4, axis=1)
        state = state * jax.nn.sigmoid(f + 1.0) + jax.nn.sigmoid(i) * jnp.tanh(j)
        output = jnp.tanh(state) * jax.nn.sigmoid(o)
        return (state, output), output

    zeros = jnp.zeros((data.BATCH, data.UNITS))
    return lax.scan(step, (zeros, zeros), inputs)[1]


def lstm(lib):
    return _timed(_lstm, data.inputs(), data.kernel(), data.bias())


def lstm_gradient(lib):
    gradient = jax.grad(lambda *given: jnp.square(_lstm(*given)).sum(), argnums=(0, 1, 2))
    return _timed(gradient, data.inputs(), data.kernel(), data.bias())


CASES = {
    "empty loop": empty,
    "scan": scan,
    "scan, gradient": scan_gradient,
    "LSTM": lstm,
    "LSTM, gradient": lstm_gradient,
}
