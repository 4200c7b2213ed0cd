"""Random tensors: seeds, distributions, shuffling and cropping.

A graph seed and an op seed together fix a stream; see ``set_random_seed``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.core.shape import Dimension
from headrace.graph import context, raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.scope import control_dependencies, name_scope

DEFAULT_GRAPH_SEED = 87654321
_MAXINT32 = 2**31 - 1

_UNIFORM = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


# ---- seeds


def set_random_seed(seed: int | None) -> None:
    """Sets the default graph's seed, from which every random op made later takes its own.

    - neither seed set: another stream in each session
    - graph seed only: each op gets a seed of its own by its position in the graph; sessions repeat
    - op seed only (``tf.random_uniform([1], seed=1)``): a default graph seed joins it; sessions repeat
    - both: the two together fix the stream

    Args:
      seed: An integer; None for no seed.

    >>> tf.set_random_seed(7)
    >>> x = tf.random_uniform([2])
    >>> bool((tf.Session().run(x) == tf.Session().run(x)).all())
    True
    """
    context.get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The pair of seeds a random op should use, given its own seed: ``(None, None)`` where nothing is fixed.

    Args:
      op_seed: The op's own seed; None for none.

    Returns:
      A pair of integers, or of None.

    >>> tf.get_seed(5)
    (87654321, 5)
    """
    graph = context.get_default_graph()
    if graph.seed is not None:
        pair = (graph.seed % _MAXINT32, (graph._last_id if op_seed is None else op_seed) % _MAXINT32)
    elif op_seed is not None:
        pair = (DEFAULT_GRAPH_SEED, op_seed % _MAXINT32)
    else:
        return None, None
    # A pair of zeros would mean "not seeded" to the kernel.
    return (0, _MAXINT32) if pair == (0, 0) else pair


def _seeds(op_seed: int | None) -> dict[str, int]:
    seed, seed2 = get_seed(op_seed)
    return {"seed": seed or 0, "seed2": seed2 or 0}


def shape_tensor(shape: Any) -> Tensor:
    """A shape argument as an integer tensor called "shape"."""
    dtype = None
    if isinstance(shape, (list, tuple)):
        shape = [d.value if isinstance(d, Dimension) else d for d in shape]
        dtype = None if shape else dtypes.int32
        if context.executing_eagerly() and all(type(d) is int for d in shape):
            return shape  # type: ignore[return-value]  # numbers are what the kernel wants
    return convert_to_tensor(shape, dtype, name="shape")


# ---- distributions


def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Normally distributed values: ``tf.random_normal([784, 10], stddev=0.1)``.

    Args:
      shape: The shape, a list or a 1-D integer tensor.
      mean, stddev: The mean and the standard deviation: scalars, or tensors that broadcast to the shape.
      dtype: The floating-point type of the values.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``, with other values in every step.

    >>> tf.random_normal([2, 3], stddev=0.1).shape.as_list()
    [2, 3]
    """
    with name_scope(name, "random_normal", [shape, mean, stddev]) as scope:
        return _scaled("RandomStandardNormal", scope, shape, mean, stddev, dtype, seed)


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Normally distributed values no further than two standard deviations from the mean.

    Args:
      shape: The shape, a list or a 1-D integer tensor.
      mean, stddev: The mean and the standard deviation before values are left out: scalars, or tensors that broadcast
        to the shape.
      dtype: The floating-point type of the values.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``, with other values in every step.

    >>> x = tf.Session().run(tf.truncated_normal([100], stddev=0.1))
    >>> bool((abs(x) <= 0.2).all())
    True
    """
    with name_scope(name, "truncated_normal", [shape, mean, stddev]) as scope:
        return _scaled("TruncatedNormal", scope, shape, mean, stddev, dtype, seed)


def _scaled(op_type: str, scope: str, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: int | None) -> Tensor:
    element_type = dtypes.as_dtype(dtype)
    sizes = shape_tensor(shape)
    mean = convert_to_tensor(mean, element_type, name="mean")
    stddev = convert_to_tensor(stddev, element_type, name="stddev")
    drawn = getattr(raw_ops, op_type)(sizes, element_type, **_seeds(seed))
    return raw_ops.AddV2(raw_ops.Mul(drawn, stddev, name="mul"), mean, name=scope)


def parameterized_truncated_normal(
    shape: Any, means: Any = 0.0, stddevs: Any = 1.0, minvals: Any = -2.0, maxvals: Any = 2.0,
    dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Normally distributed values within bounds; the parameters are scalars or hold one value a row of the result."""
    with name_scope(name, "parameterized_truncated_normal", [shape, means, stddevs, minvals, maxvals]):
        element_type = dtypes.as_dtype(dtype)
        sizes = shape_tensor(shape)
        parameters = [
            convert_to_tensor(value, element_type, name=label)
            for label, value in (("means", means), ("stddevs", stddevs), ("minvals", minvals), ("maxvals", maxvals))
        ]
        return raw_ops.ParameterizedTruncatedNormal(sizes, *parameters, **_seeds(seed))


def random_uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Values spread evenly over ``[minval, maxval)``: floats by default, integers too (``maxval`` must then be given).

    ``tf.random_uniform([], 0, 10, tf.int32)`` is one digit.

    Args:
      shape: The shape, a list or a 1-D integer tensor.
      minval: The lower bound, which may occur.
      maxval: The upper bound, which does not occur; None for 1.
      dtype: The type of the values: float16, bfloat16, float32, float64, int32 or int64.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``, with other values in every step.

    >>> x = tf.random_uniform([2, 3], minval=0, maxval=10, dtype=tf.int32, seed=1)
    >>> values = tf.Session().run(x)
    >>> values.shape, bool((values >= 0).all() and (values < 10).all())
    ((2, 3), True)
    """
    element_type, maxval = _uniform_arguments(dtype, maxval)
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        sizes = shape_tensor(shape)
        low = convert_to_tensor(minval, element_type, name="min")
        high = convert_to_tensor(maxval, element_type, name="max")
        if element_type.is_integer:
            return raw_ops.RandomUniformInt(sizes, low, high, **_seeds(seed), name=scope)
        return _stretch(raw_ops.RandomUniform(sizes, element_type, **_seeds(seed)), low, high, scope)


def _uniform_arguments(dtype: Any, maxval: Any) -> tuple[DType, Any]:
    element_type = dtypes.as_dtype(dtype)
    if element_type not in _UNIFORM:
        raise ValueError(f"Invalid dtype {element_type!r}; random_uniform makes {', '.join(d.name for d in _UNIFORM)}")
    if maxval is None:
        if element_type.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {element_type!r}")
        maxval = 1
    return element_type, maxval


def _stretch(drawn: Tensor, low: Tensor, high: Tensor, scope: str) -> Tensor:
    """[0, 1) onto [low, high)."""
    return raw_ops.AddV2(raw_ops.Mul(drawn, raw_ops.Sub(high, low, name="sub"), name="mul"), low, name=scope)


def random_gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = dtypes.float32, seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Samples of Gamma(alpha, beta), ``shape`` of them for each pair of parameters: the result has shape
    ``shape + broadcast(alpha, beta).shape``.  Differentiable with respect to both.

    Args:
      shape: How many samples for each pair of parameters: a list or a 1-D tensor of int32.
      alpha: The shape parameter, a positive number or a tensor of them.
      beta: The inverse scale, a positive number or a tensor of them; None for 1.
      dtype: The floating-point type of the values.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``, with other values in every step.

    >>> tf.random_gamma([10], alpha=[0.5, 1.5]).shape.as_list()
    [10, 2]
    """
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        element_type = dtypes.as_dtype(dtype)
        sizes = convert_to_tensor(shape, dtypes.int32, name="shape")
        alpha = convert_to_tensor(alpha, element_type, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, element_type, name="beta")
        wide = raw_ops.AddV2(alpha, raw_ops.ZerosLike(beta), name="add")
        smallest = np.finfo(element_type.as_numpy_dtype).tiny
        drawn = raw_ops.RealDiv(raw_ops.RandomGamma(sizes, wide, **_seeds(seed)), beta, name="truediv")
        return raw_ops.Maximum(smallest, drawn)


def random_poisson(
    lam: Any, shape: Any, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Samples of Poisson(lam): the result has shape ``shape + lam.shape``.

    Args:
      lam: The rates: a number or a tensor of them.
      shape: How many samples for each rate: a list or a 1-D tensor of int32.
      dtype: The type of the values.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.

    Returns:
      A tensor of ``dtype`` that holds whole numbers, other ones in every step.

    >>> tf.random_poisson([0.5, 1.5], [10]).shape.as_list()
    [10, 2]
    """
    return random_poisson_v2(shape, lam, dtype, seed, name)


def random_poisson_v2(
    shape: Any, lam: Any, dtype: Any = dtypes.float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """``random_poisson`` with the order of arguments of the other distributions."""
    with name_scope(name, "random_poisson", [lam, shape]):
        sizes = convert_to_tensor(shape, dtypes.int32, name="shape")
        return raw_ops.RandomPoissonV2(sizes, lam, **_seeds(seed), dtype=dtype)


def multinomial(
    logits: Any, num_samples: Any, seed: int | None = None, name: str | None = None, output_dtype: Any = None
) -> Tensor:
    """Draws ``num_samples`` classes for each row of unnormalised log-probabilities: ``[batch, num_samples]``.

    Args:
      logits: A tensor of shape ``[batch, classes]``.
      num_samples: How many classes to draw for each row.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.
      output_dtype: The type of the result: int32 or int64; None for int64.

    Returns:
      A tensor of ``output_dtype``, with other values in every step.

    >>> tf.multinomial(tf.zeros([2, 5]), 3).shape.as_list()
    [2, 3]
    """
    with name_scope(name, "multinomial", [logits]):
        return _categorical(logits, num_samples, output_dtype, seed)


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draws classes as ``multinomial`` does, under its later name.

    Args:
      logits: A tensor of shape ``[batch, classes]``: unnormalised log-probabilities.
      num_samples: How many classes to draw for each row.
      dtype: The type of the result: int32 or int64; None for int64.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.

    Returns:
      A tensor of ``dtype`` and shape ``[batch, num_samples]``, with other values in every step.

    >>> tf.random.categorical(tf.zeros([2, 5]), 3).shape.as_list()
    [2, 3]
    """
    with name_scope(name, "categorical", [logits]):
        return _categorical(logits, num_samples, dtype, seed)


def _categorical(logits: Any, num_samples: Any, dtype: Any, seed: int | None) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    return raw_ops.Multinomial(logits, num_samples, **_seeds(seed), output_dtype=dtype)


# ---- rearranging


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of ``value`` in random order.

    Args:
      value: A tensor; its first dimension is shuffled.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.

    Returns:
      A tensor of the type and shape of ``value``, in another order in every step.

    >>> sorted(tf.Session().run(tf.random_shuffle([1, 2, 3])).tolist())
    [1, 2, 3]
    """
    return raw_ops.RandomShuffle(value, **_seeds(seed), name=name)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A slice of shape ``size`` at a random place; give a dimension its full size to leave it whole.

    ``tf.random_crop(image, [24, 24, 3])``

    Args:
      value: A tensor.
      size: The shape of the slice; no larger than that of ``value``.
      seed: The op's own seed; None to leave it to the graph.
      name: A name for the op.

    Returns:
      A tensor of the type of ``value`` and the shape ``size``, from another place in every step.

    >>> tf.Session().run(tf.random_crop(np.zeros([32, 32, 3]), [24, 24, 3])).shape
    (24, 24, 3)
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, name="size")
        shape = raw_ops.Shape(value)
        fits = raw_ops.All(raw_ops.GreaterEqual(shape, size), [0])
        with name_scope(None, "Assert", [fits, shape, size]):
            assertion = raw_ops.Assert(fits, ["Need value.shape >= size, got ", shape, size], summarize=1000)
        with control_dependencies([assertion]):
            shape = raw_ops.Identity(shape, name="control_dependency")
        limit = raw_ops.AddV2(raw_ops.Sub(shape, size, name="sub"), 1, name="add")
        offset = random_uniform(raw_ops.Shape(shape), dtype=size.dtype, maxval=size.dtype.max, seed=seed)
        return raw_ops.Slice(value, raw_ops.FloorMod(offset, limit, name="mod"), size, name=scope)


# ---- functions of a seed


def stateless_random_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """``random_uniform`` as a function of ``seed``, two integers: equal seeds give equal values, everywhere.

    Args:
      shape: The shape, a list or a 1-D integer tensor.
      seed: Two integers, a list or a tensor of shape [2].
      minval: The lower bound, which may occur; None, with ``maxval`` None too, for all integers of the type.
      maxval: The upper bound, which does not occur; None for 1.
      dtype: The type of the values: float16, bfloat16, float32, float64, int32 or int64.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``.

    >>> x, y = (tf.random.stateless_uniform([2], seed=[1, 2]) for _ in range(2))
    >>> bool(tf.Session().run(tf.reduce_all(tf.equal(x, y))))
    True
    """
    element_type = dtypes.as_dtype(dtype)
    if element_type not in _UNIFORM:
        raise ValueError(
            f"Invalid dtype {element_type!r}; stateless_uniform makes {', '.join(d.name for d in _UNIFORM)}"
        )
    if element_type.is_integer and (minval is None) != (maxval is None):
        raise ValueError(
            f"For integer dtype {element_type!r}, minval and maxval must be both `None` or both non-`None`."
        )
    if maxval is None and not element_type.is_integer:
        maxval = 1
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        sizes = shape_tensor(shape)
        if element_type.is_integer and minval is None:
            return raw_ops.StatelessRandomUniformFullInt(sizes, seed, element_type, name=scope)
        low = convert_to_tensor(minval, element_type, name="min")
        high = convert_to_tensor(maxval, element_type, name="max")
        if element_type.is_integer:
            return raw_ops.StatelessRandomUniformInt(sizes, seed, low, high, name=scope)
        return _stretch(raw_ops.StatelessRandomUniform(sizes, seed, element_type), low, high, scope)


def stateless_random_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """``random_normal`` as a function of ``seed``, two integers.

    Args:
      shape: The shape, a list or a 1-D integer tensor.
      seed: Two integers, a list or a tensor of shape [2].
      mean, stddev: The mean and the standard deviation: scalars, or tensors that broadcast to the shape.
      dtype: The floating-point type of the values.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``.

    >>> x, y = (tf.random.stateless_normal([2], seed=[1, 2]) for _ in range(2))
    >>> bool(tf.Session().run(tf.reduce_all(tf.equal(x, y))))
    True
    """
    with name_scope(name, "stateless_random_normal", [shape, seed, mean, stddev]) as scope:
        return _stateless_scaled("StatelessRandomNormal", scope, shape, seed, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """``truncated_normal`` as a function of ``seed``, two integers.

    Args:
      shape: The shape, a list or a 1-D integer tensor.
      seed: Two integers, a list or a tensor of shape [2].
      mean, stddev: The mean and the standard deviation before values are left out: scalars, or tensors that broadcast
        to the shape.
      dtype: The floating-point type of the values.
      name: A name for the op.

    Returns:
      A tensor of ``dtype``.

    >>> x, y = (tf.random.stateless_truncated_normal([2], seed=[1, 2]) for _ in range(2))
    >>> bool(tf.Session().run(tf.reduce_all(tf.equal(x, y))))
    True
    """
    with name_scope(name, "stateless_truncated_normal", [shape, seed, mean, stddev]) as scope:
        return _stateless_scaled("StatelessTruncatedNormal", scope, shape, seed, mean, stddev, dtype)


def _stateless_scaled(op_type: str, scope: str, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any) -> Tensor:
    element_type = dtypes.as_dtype(dtype)
    sizes = shape_tensor(shape)
    mean = convert_to_tensor(mean, element_type, name="mean")
    stddev = convert_to_tensor(stddev, element_type, name="stddev")
    drawn = getattr(raw_ops, op_type)(sizes, seed, element_type)
    return raw_ops.AddV2(raw_ops.Mul(drawn, stddev, name="mul"), mean, name=scope)


def stateless_multinomial(
    logits: Any, num_samples: Any, seed: Any, output_dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """``multinomial`` as a function of ``seed``, two integers.

    Args:
      logits: A tensor of shape ``[batch, classes]``: unnormalised log-probabilities.
      num_samples: How many classes to draw for each row.
      seed: Two integers, a list or a tensor of shape [2].
      output_dtype: The type of the result: int32 or int64.
      name: A name for the op.

    Returns:
      A tensor of ``output_dtype`` and shape ``[batch, num_samples]``.

    >>> tf.random.stateless_multinomial(tf.zeros([2, 5]), 3, seed=[1, 2]).shape.as_list()
    [2, 3]
    """
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        return _stateless_categorical(logits, num_samples, seed, output_dtype)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """``categorical`` as a function of ``seed``, two integers.

    Args:
      logits: A tensor of shape ``[batch, classes]``: unnormalised log-probabilities.
      num_samples: How many classes to draw for each row.
      seed: Two integers, a list or a tensor of shape [2].
      dtype: The type of the result: int32 or int64.
      name: A name for the op.

    Returns:
      A tensor of ``dtype`` and shape ``[batch, num_samples]``.

    >>> tf.random.stateless_categorical(tf.zeros([2, 5]), 3, seed=[1, 2]).shape.as_list()
    [2, 3]
    """
    with name_scope(name, "stateless_categorical", [logits, seed]):
        return _stateless_categorical(logits, num_samples, seed, dtype)


def _stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    return raw_ops.StatelessMultinomial(logits, num_samples, seed, dtype)
