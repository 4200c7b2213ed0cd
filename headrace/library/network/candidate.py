"""Candidate samplers, and losses over a few sampled classes instead of all of them (tf.nn)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.operation import Tensor
from headrace.library.control.dependency import stop_gradient
from headrace.library.factory import called
from headrace.library.linalg.matrix import matmul
from headrace.library.network.embedding import embedding_lookup
from headrace.library.network.loss_function import sigmoid_cross_entropy_with_logits
from headrace.library.network.softmax import softmax_cross_entropy_with_logits_v2
from headrace.library.numeric.math import cast, log, multiply
from headrace.library.numeric.random import get_seed
from headrace.library.scope import name_scope
from headrace.library.sparse.tensor import sparse_to_dense
from headrace.library.state.partitioned_variable import PartitionedVariable
from headrace.library.tensor import array, creation
from headrace.library.tensor.slicing import slice


class Sampled(NamedTuple):
    """Classes drawn, and how often the true and the drawn ones were to be expected."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


def _sample(op_type: str, true_classes: Any, seed: int | None, name: str | None, **attrs: Any) -> Sampled:
    seed1, seed2 = get_seed(seed)
    return Sampled(*getattr(raw_ops, op_type)(true_classes, seed=seed1 or 0, seed2=seed2 or 0, name=name, **attrs))


def _sampler(name: str, op_type: str, summary: str) -> Callable[..., Sampled]:
    text = f"""{summary}

Args:
  true_classes: An int64 matrix [batch, num_true]: the classes that are right.
  num_true: How many right classes each example has.
  num_sampled: How many classes to draw.
  unique: Whether the drawn classes all differ.
  range_max: How many classes there are.
  seed: A seed for the draws; None takes it from `tf.set_random_seed`, or draws one.
  name: A name for the op.

Returns:
  A named tuple: `sampled_candidates`, int64 [num_sampled], and how often the true and the drawn classes are expected:
  `true_expected_count` [batch, num_true] and `sampled_expected_count` [num_sampled].

>>> drawn = tf.nn.{name}([[0]], 1, num_sampled=3, unique=True, range_max=3)
>>> sorted(tf.Session().run(drawn.sampled_candidates).tolist())
[0, 1, 2]
"""

    @called(name, text)
    def sampler(
        true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int | None = None,
        name: str | None = None,
    ) -> Sampled:  # fmt: skip
        return _sample(
            op_type, true_classes, seed, name,
            num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
        )  # fmt: skip

    return sampler


uniform_candidate_sampler = _sampler(
    "uniform_candidate_sampler",
    "UniformCandidateSampler",
    "``num_sampled`` classes drawn evenly from ``[0, range_max)``, all different if ``unique``.",
)
log_uniform_candidate_sampler = _sampler(
    "log_uniform_candidate_sampler",
    "LogUniformCandidateSampler",
    "Classes drawn as words are by rank: class ``k`` with a chance of about ``1 / k``.  Sort classes by frequency.",
)
learned_unigram_candidate_sampler = _sampler(
    "learned_unigram_candidate_sampler",
    "LearnedUnigramCandidateSampler",
    "Classes drawn as often as they have been true classes in this session so far (plus one).",
)


def fixed_unigram_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, vocab_file: str = "",
    distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0,
    unigrams: Sequence[float] = (), seed: int | None = None, name: str | None = None,
) -> Sampled:  # fmt: skip
    """Classes drawn by given weights: ``unigrams``, or the last column of the lines of ``vocab_file``.

    Weights are raised to ``distortion``; the first ``num_reserved_ids`` classes are never drawn.

    Args:
      true_classes: An int64 matrix [batch, num_true]: the classes that are right.
      num_true: How many right classes each example has.
      num_sampled: How many classes to draw.
      unique: Whether the drawn classes all differ.
      range_max: How many classes there are, reserved ones included; with several shards, those of this one.
      vocab_file: A text file with a line for each class, whose last column, after a comma, is its weight; '' for
        none.
      distortion: The exponent of the weights: 1.0 takes them as they are, 0.0 makes all equal.
      num_reserved_ids: How many classes come before those that have weights.
      num_shards: How many parts the classes are divided into, for drawing in several programs.
      shard: Which part to draw from, below `num_shards`.
      unigrams: The weight of each class; give either this or `vocab_file`.
      seed: A seed for the draws; None takes it from `tf.set_random_seed`, or draws one.
      name: A name for the op.

    Returns:
      A named tuple: `sampled_candidates`, int64 [num_sampled], and how often the true and the drawn classes are
      expected: `true_expected_count` [batch, num_true] and `sampled_expected_count` [num_sampled].

    >>> drawn = tf.nn.fixed_unigram_candidate_sampler([[0]], 1, 2, False, 3, unigrams=[0.0, 1.0, 0.0])
    >>> tf.Session().run(drawn.sampled_candidates).tolist()
    [1, 1]
    """
    return _sample(
        "FixedUnigramCandidateSampler", true_classes, seed, name,
        num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max, vocab_file=vocab_file,
        distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
        unigrams=unigrams,
    )  # fmt: skip


def all_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, seed: int | None = None, name: str | None = None
) -> Sampled:
    """Every class below ``num_sampled``: for tests, and for comparing with the full loss.

    Args:
      true_classes: An int64 matrix [batch, num_true]: the classes that are right.
      num_true: How many right classes each example has.
      num_sampled: How many classes there are.
      unique: Accepted for the sake of the other samplers; the classes always differ.
      seed: Accepted for the sake of the other samplers; nothing is drawn.
      name: A name for the op.

    Returns:
      A named tuple: `sampled_candidates`, int64 [num_sampled], and how often the true and the drawn classes are
      expected, which is once: `true_expected_count` [batch, num_true] and `sampled_expected_count` [num_sampled].

    >>> tf.Session().run(tf.nn.all_candidate_sampler([[1]], 1, 3, True).sampled_candidates).tolist()
    [0, 1, 2]
    """
    return _sample(
        "AllCandidateSampler", true_classes, seed, name, num_true=num_true, num_sampled=num_sampled, unique=unique
    )


def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: int, seed: int | None = None, name: str | None = None
) -> Any:
    """Where true classes were drawn as candidates: (row, position among the candidates, the lowest float).

    Args:
      true_classes: An int64 matrix [batch, num_true]: the classes that are right.
      sampled_candidates: An int64 vector: the classes that a sampler drew.
      num_true: How many right classes each example has.
      seed: Accepted for TensorFlow's sake; nothing is drawn.
      name: A name for the op.

    Returns:
      A named tuple of vectors with an element for each hit: `indices` int32, `ids` int64 and `weights` float32.

    >>> hits = tf.nn.compute_accidental_hits([[7], [4]], [3, 4], num_true=1)
    >>> tf.Session().run([hits[0], hits[1]])
    [array([1], dtype=int32), array([1])]
    """
    seed1, seed2 = get_seed(seed)
    return raw_ops.ComputeAccidentalHits(
        true_classes, sampled_candidates, num_true, seed=seed1 or 0, seed2=seed2 or 0, name=name
    )


# ---- losses


def nce_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, remove_accidental_hits: bool = False, partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:  # fmt: skip
    """Noise-contrastive estimation: for each example the loss of telling its true classes from sampled ones.

    ``weights`` [num_classes, dim] (or shards of it), ``biases`` [num_classes], ``labels`` [batch, num_true] int64,
    ``inputs`` [batch, dim].  ``sampled_values`` come from a sampler; the log-uniform one by default.

    Args:
      weights: A tensor [num_classes, dim], a list of its shards, or a partitioned variable.
      biases: A tensor [num_classes].
      labels: An int64 matrix [batch, num_true]: the classes that are right.
      inputs: A tensor [batch, dim]: what the network computed for each example.
      num_sampled: How many classes to draw for the batch.
      num_classes: How many classes there are.
      num_true: How many right classes each example has.
      sampled_values: What a candidate sampler gives; None draws by `tf.nn.log_uniform_candidate_sampler`.
      remove_accidental_hits: Whether drawn classes that are right do not count.
      partition_strategy: How shards hold the rows: 'mod' or 'div', as in `tf.nn.embedding_lookup`.
      name: A name for the op.

    Returns:
      A vector [batch] of losses.

    >>> sampled = tf.nn.all_candidate_sampler([[1]], 1, 3, True)
    >>> loss = tf.nn.nce_loss(tf.zeros([3, 2]), tf.zeros([3]), [[1]], tf.ones([1, 2]), 3, 3, sampled_values=sampled)
    >>> tf.Session().run(loss).round(3)
    array([2.773], dtype=float32)
    """
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True,
        remove_accidental_hits, partition_strategy, name, None,
    )  # fmt: skip
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return _sum_rows(losses)


def sampled_softmax_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, remove_accidental_hits: bool = True, partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss", seed: int | None = None,
) -> Tensor:  # fmt: skip
    """Softmax cross-entropy over the true and a few sampled classes: a fast stand-in for the full loss in training.

    Args:
      weights: A tensor [num_classes, dim], a list of its shards, or a partitioned variable.
      biases: A tensor [num_classes].
      labels: An int64 matrix [batch, num_true]: the classes that are right.
      inputs: A tensor [batch, dim]: what the network computed for each example.
      num_sampled: How many classes to draw for the batch.
      num_classes: How many classes there are.
      num_true: How many right classes each example has.
      sampled_values: What a candidate sampler gives; None draws by `tf.nn.log_uniform_candidate_sampler`.
      remove_accidental_hits: Whether drawn classes that are right do not count.
      partition_strategy: How shards hold the rows: 'mod' or 'div', as in `tf.nn.embedding_lookup`.
      name: A name for the op.
      seed: A seed for the draws; None takes it from `tf.set_random_seed`, or draws one.

    Returns:
      A vector [batch] of losses.

    >>> sampled = tf.nn.all_candidate_sampler([[1]], 1, 3, True)
    >>> weights, biases, inputs = tf.zeros([3, 2]), tf.zeros([3]), tf.ones([1, 2])
    >>> loss = tf.nn.sampled_softmax_loss(weights, biases, [[1]], inputs, 3, 3, sampled_values=sampled)
    >>> tf.Session().run(loss).round(3)
    array([1.099], dtype=float32)
    """
    logits, targets = _sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True,
        remove_accidental_hits, partition_strategy, name, seed,
    )  # fmt: skip
    targets = stop_gradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)


def _sum_rows(x: Tensor) -> Tensor:
    """The sums of the rows as a product with ones, which is how TF1 adds them."""
    columns: Any = array.shape(x)
    ones = creation.ones(array.stack([columns[1], 1]), x.dtype)
    return array.reshape(matmul(x, ones), [-1])


def _sampled_logits(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int,
    sampled_values: Any, subtract_log_q: bool, remove_accidental_hits: bool, partition_strategy: str,
    name: str | None, seed: int | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """-> logits [batch, num_true + num_sampled] and targets: 1 / num_true for the true classes, else 0."""
    tables = list(weights) if isinstance(weights, (list, PartitionedVariable)) else [weights]
    with name_scope(name, "compute_sampled_logits", [*tables, biases, inputs, labels]):
        labels = _as_int64(labels)
        flat = array.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
        drawn, true_count, drawn_count = (stop_gradient(s) for s in sampled_values)
        drawn = _as_int64(drawn)
        ids = array.concat([flat, drawn], 0)
        true_w, drawn_w = _halves(embedding_lookup(tables, ids, partition_strategy), flat, inputs.dtype, 2)
        drawn_logits: Any = matmul(inputs, drawn_w, transpose_b=True)
        true_b, drawn_b = _halves(embedding_lookup(biases, ids, partition_strategy), flat, inputs.dtype, 1)
        true_logits: Any = _row_wise(inputs, true_w, num_true)
        true_logits += array.reshape(true_b, [-1, num_true])
        drawn_logits += drawn_b
        if remove_accidental_hits:
            drawn_logits += _hit_penalty(labels, drawn, num_true, num_sampled, drawn_logits.dtype)
        if subtract_log_q:
            true_logits -= log(true_count)
            drawn_logits -= log(drawn_count)
        logits = array.concat([true_logits, drawn_logits], 1)
        ones: Any = creation.ones_like(true_logits)
        targets = array.concat([ones / num_true, creation.zeros_like(drawn_logits)], 1)
        return logits, targets


def _as_int64(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) and x.dtype == dtypes.int64 else cast(x, dtypes.int64)


def _halves(rows: Tensor, flat: Tensor, dtype: Any, rank: int) -> tuple[Tensor, Tensor]:
    """What belongs to the true classes, and the rest, which belongs to the sampled ones."""
    if rows.dtype != dtype:
        rows = cast(rows, dtype)
    if rank == 1:
        return slice(rows, [0], array.shape(flat)), slice(rows, array.shape(flat), [-1])
    count: Any = array.shape(flat)
    first = slice(rows, [0, 0], array.stack([count[0], -1]))
    count = array.shape(flat)
    return first, slice(rows, array.stack([count[0], 0]), [-1, -1])


def _row_wise(inputs: Any, true_w: Tensor, num_true: int) -> Tensor:
    """The product of each input with the weights of its true classes."""
    sizes: Any = array.shape(true_w)
    width = sizes[1:2]
    shape = array.concat([[-1, num_true], width], 0)
    products = multiply(array.expand_dims(inputs, 1), array.reshape(true_w, shape))
    sums = _sum_rows(array.reshape(products, array.concat([[-1], width], 0)))
    return array.reshape(sums, [-1, num_true])


def _hit_penalty(labels: Tensor, drawn: Tensor, num_true: int, num_sampled: int, dtype: Any) -> Tensor:
    """The lowest float wherever a sampled class is a true one, which takes it out of the competition."""
    rows, ids, weights = compute_accidental_hits(labels, drawn, num_true=num_true)
    rows = array.reshape(rows, [-1, 1])
    columns = array.reshape(cast(ids, dtypes.int32), [-1, 1])
    indices = array.concat([rows, columns], 1, "sparse_indices")
    batch: Any = array.shape(labels)
    shape = array.concat([batch[:1], array.expand_dims(num_sampled, 0)], 0)
    if weights.dtype != dtype:
        weights = cast(weights, dtype)
    return sparse_to_dense(indices, shape, weights, default_value=0.0, validate_indices=False)
