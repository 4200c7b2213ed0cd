"""Examples chosen at random by their labels, probabilities or weights (``tf.contrib.training``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.control.assertion import Assert
from headrace.library.control.dependency import identity, stop_gradient
from headrace.library.input.batch import batch, maybe_batch
from headrace.library.numeric import division, math, reduction
from headrace.library.numeric.random import random_poisson, random_uniform
from headrace.library.numeric.search import repeat
from headrace.library.scope import control_dependencies, name_scope
from headrace.library.state.initializers import Zeros
from headrace.library.state.variable import Variable
from headrace.library.state.variable_scope import get_variable, variable_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import gather, where
from headrace.library.train.moving_averages import assign_moving_average

_SMOOTHING = 10  # examples of each class that count as seen before the first


def rejection_sample(
    tensors: Sequence[Any], accept_prob_fn: Callable[[list[Tensor]], Any], batch_size: int, queue_threads: int = 1,
    enqueue_many: bool = False, prebatch_capacity: int = 16, prebatch_threads: int = 1, runtime_checks: bool = False,
    name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """Batches of the examples that are kept, each with a probability of its own.

    Args:
      tensors: A list with the tensors of an example.
      accept_prob_fn: A function of the tensors of one example that gives the probability to keep it, a float32 scalar.
      batch_size: How many examples a batch has.
      queue_threads: How many threads fill the queue of batches.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      prebatch_capacity: How many examples wait, with `enqueue_many`.
      prebatch_threads: How many threads separate examples, with `enqueue_many`.
      runtime_checks: Whether a step fails where the probability is not from 0 to 1.
      name: A name for the ops; None for `rejection_sample`.

    Returns:
      A list of tensors with the batch as their first dimension.

    >>> x = tf.random_uniform([])
    >>> (batch,) = tf.contrib.training.rejection_sample([x], lambda example: example[0], batch_size=16)
    >>> batch.shape.as_list()
    [16]
    """
    with variable_scope(name, "rejection_sample", tensors):
        listed = [convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            listed = _one_by_one(listed, prebatch_capacity, prebatch_threads)
        probability = convert_to_tensor(accept_prob_fn(listed))
        if runtime_checks:
            possible = math.logical_and(math.greater_equal(probability, 0.0), math.less_equal(probability, 1.0))
            with control_dependencies([Assert(possible, ["Not a probability:", probability])]):
                probability = identity(probability)
        return _kept(listed, probability, batch_size, queue_threads)


def _one_by_one(tensors: list[Tensor], capacity: int, threads: int) -> list[Tensor]:
    """One of many examples, another in each step."""
    rows = batch(tensors, batch_size=1, num_threads=threads, capacity=capacity, enqueue_many=True)
    return [array.squeeze(row, [0]) for row in (rows if isinstance(rows, list) else [rows])]


def _kept(tensors: list[Tensor], probability: Any, batch_size: Any, threads: int) -> list[Tensor]:
    """Batches of the examples that chance keeps."""
    keep = math.less(random_uniform([]), probability)
    batches = maybe_batch(tensors, keep, batch_size, num_threads=threads)
    return batches if isinstance(batches, list) else [batches]


def stratified_sample(
    tensors: Sequence[Any], labels: Any, target_probs: Any, batch_size: int, init_probs: Any = None,
    enqueue_many: bool = False, queue_capacity: int = 16, threads_per_queue: int = 1, name: str | None = None,
) -> tuple[list[Tensor], Tensor]:  # fmt: skip
    """Batches in which each class has the share that is asked for; examples of other classes are left out at random.

    Args:
      tensors: A list with the tensors of an example.
      labels: The class of the example, an integer scalar, or a vector with `enqueue_many`.
      target_probs: The share that each class is to have, a float32 vector [classes].
      batch_size: How many examples a batch has.
      init_probs: The share that each class has in the input; None estimates it from the examples that come.
      enqueue_many: Whether the first dimension of each tensor counts examples.
      queue_capacity: How many examples wait.
      threads_per_queue: How many threads fill each queue.
      name: A name for the ops; None for `stratified_sample`.

    Returns:
      A list of tensors with the batch as their first dimension, and the labels [batch].

    >>> label = tf.random_uniform([], 0, 2, tf.int32)
    >>> (images,), labels = tf.contrib.training.stratified_sample([tf.zeros([4])], label, [0.5, 0.5], 16, [0.9, 0.1])
    >>> images.shape.as_list(), labels.shape.as_list()
    ([16, 4], [16])
    """
    with name_scope(name, "stratified_sample", [*tensors, labels]):
        listed = [convert_to_tensor(tensor) for tensor in tensors]
        labels, target = convert_to_tensor(labels), convert_to_tensor(target_probs, dtype=dtypes.float32)
        if not enqueue_many:
            listed, labels = [array.expand_dims(t, 0) for t in listed], array.expand_dims(labels, 0)
        _check_labels(labels, target)
        if init_probs is None:
            given = _estimated_shares(labels, target.shape.num_elements())
        else:
            given = convert_to_tensor(init_probs, dtype=dtypes.float32)
            target.shape.assert_is_compatible_with(given.shape)
        reachable = reduction.reduce_all(math.logical_or(math.not_equal(given, 0.0), math.equal(target, 0.0)))
        problem = "All classes with zero initial probability must also have zero target probability: "
        with control_dependencies([Assert(reachable, [problem, given, target])]):
            given = identity(given)
        *values, label = _one_by_one([*listed, labels], queue_capacity, threads_per_queue)
        probability = gather(_acceptance(given, target), label)
        *values, label = _kept([*values, label], probability, batch_size, threads_per_queue)
        return values, label


def _check_labels(labels: Tensor, target: Tensor) -> None:
    if labels.shape.ndims not in (None, 1):
        raise ValueError(f"labels must be a scalar, or a vector with enqueue_many, got {labels} {at()}")
    if target.shape.ndims != 1 or not target.shape.is_fully_defined():
        raise ValueError(f"target_probs must be a vector of known length, got {target} {at()}")


def _estimated_shares(labels: Tensor, classes: int | None) -> Tensor:
    """The share of each class among the examples so far."""
    counts = Variable([_SMOOTHING] * int(classes or 0), trainable=False, name="class_count", dtype=dtypes.int64)
    seen = reduction.reduce_sum(creation.one_hot(labels, int(classes or 0), dtype=dtypes.int64), 0)
    counted = counts.assign_add(seen)
    return math.cast(division.truediv(counted, reduction.reduce_sum(counted)), dtypes.float32)


def _acceptance(given: Tensor, target: Tensor) -> Tensor:
    """The probability to keep an example of each class, such that the rest has the shares asked for and as few go as can be."""
    ratio = division.truediv(target, given)
    ratio = where(math.is_nan(ratio), creation.zeros_like(ratio), ratio)  # 0 / 0: the class does not come
    return division.truediv(ratio, reduction.reduce_max(ratio))


def resample_at_rate(
    inputs: Sequence[Any], rates: Any, scope: str | None = None, seed: int | None = None, back_prop: bool = False
) -> list[Tensor]:
    """Repeats or leaves out each example at random, so often as its rate says on average.

    Args:
      inputs: A list of tensors with the batch as their first dimension.
      rates: How often each example is to come on average, a float vector [batch].
      scope: A name for the ops; None for `resample_at_rate`.
      seed: The seed of the choice; None for the graph's, or a random one.
      back_prop: Whether gradients go through the choice to `inputs`.

    Returns:
      A list of tensors like `inputs`, with another number of examples, perhaps none.

    >>> (x,) = tf.contrib.training.resample_at_rate([tf.constant([1, 2, 3])], [0.0, 1.0, 2.0])
    >>> bool((tf.Session().run(x) > 1).all())
    True
    """
    with name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = convert_to_tensor(rates, name="rates")
        tensors = [convert_to_tensor(tensor) for tensor in inputs]
        counts = math.cast(random_poisson(rates, [], dtype=rates.dtype.base_dtype, seed=seed), dtypes.int32)
        indices = repeat(creation.range(array.shape(counts)[0]), counts)
        chosen = [gather(tensor, indices) for tensor in tensors]
        return chosen if back_prop else [stop_gradient(tensor) for tensor in chosen]


def weighted_resample(
    inputs: Sequence[Any], weights: Any, overall_rate: Any, scope: str | None = None, mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """Repeats or leaves out each example at random, in proportion to its weight.

    Args:
      inputs: A list of tensors with the batch as their first dimension.
      weights: The weight of each example, a float vector [batch].
      overall_rate: How many examples come out for each that goes in, on average.
      scope: A name for the ops; None for `weighted_resample`.
      mean_decay: How slowly the estimate of the average weight follows the weights that come.
      seed: The seed of the choice; None for the graph's, or a random one.

    Returns:
      The rate at which each example that came out had been chosen, and a list of tensors like `inputs`, with another number of
      examples.

    >>> rates, (x,) = tf.contrib.training.weighted_resample([tf.constant([1, 2, 3])], tf.constant([0.0, 0.5, 0.5]), 1.0)
    >>> x.shape.as_list()
    [None]
    """
    with name_scope(scope, "weighted_resample", [*inputs, weights]) as opscope:
        weights = convert_to_tensor(weights, name="weights")
        with variable_scope(scope, "estimate_mean", inputs):
            average = get_variable(
                "estimated_mean", [], weights.dtype.base_dtype, initializer=Zeros(), trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
            )  # fmt: skip
            mean = assign_moving_average(average, reduction.reduce_mean(weights), mean_decay)
        rates = division.truediv(weights * overall_rate, mean)
        chosen, *results = resample_at_rate([rates, *inputs], rates, scope=opscope, seed=seed, back_prop=False)
        return chosen, results
