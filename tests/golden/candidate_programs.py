"""Programs with candidate samplers and sampled losses; see program.py.

Only what does not depend on the random stream is compared: the expected counts of true classes of samples with
repetition, and losses of given candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add

TRUE = np.array([[1, 4], [0, 2], [4, 4]], np.int64)
WEIGHTS = np.arange(14, dtype=np.float32).reshape(7, 2) / 5 - 1.3
BIASES = np.arange(7, dtype=np.float32) / 3
INPUTS = np.array([[0.5, -1.0], [1.5, 0.3], [-0.7, 0.2]], np.float32)

for _name, _options in {
    "uniform": {}, "log_uniform": {}, "learned_unigram": {},
    "fixed_unigram": {"unigrams": [1.0, 3.0, 0.5, 2.0, 2.0]},
    "fixed_unigram_reserved": {"unigrams": [1.0, 3.0, 0.5], "num_reserved_ids": 2, "distortion": 0.5},
    "fixed_unigram_shard": {"unigrams": [1.0, 3.0, 0.5, 2.0, 2.0, 1, 7, 5, 6, 4], "num_shards": 2, "shard": 1},
}.items():  # fmt: skip

    @add(_name)
    def _(tf: Any, name: str = _name, options: Any = _options) -> Any:
        sampler = getattr(tf.nn, "_".join(name.split("_")[:2] if "unigram" in name else [name]) + "_candidate_sampler")
        drawn = sampler(tf.constant(TRUE), 2, 3, False, 5, seed=1, **options)
        return drawn.true_expected_count


@add("all")
def _(tf: Any) -> Any:
    return list(tf.nn.all_candidate_sampler(tf.constant(TRUE), 2, 5, True))


@add("hits")
def _(tf: Any) -> Any:
    return list(tf.nn.compute_accidental_hits(tf.constant(TRUE), tf.constant([4, 7, 1], tf.int64), 2))


def _given(tf: Any, labels: Any, num_true: int) -> Any:
    counts = tf.constant(np.linspace(0.1, 0.9, 3 * num_true, dtype=np.float32).reshape(3, num_true))
    return tf.constant([4, 6, 1], tf.int64), counts, tf.constant([0.3, 0.2, 0.7])


for _loss in ("nce_loss", "sampled_softmax_loss"):
    for _remove in (False, True):
        for _true in (1, 2):

            @add(f"{_loss}_{_remove:d}{_true}", names=False)
            def _(tf: Any, loss: str = _loss, remove: bool = _remove, num_true: int = _true) -> Any:
                labels = tf.constant(TRUE[:, :num_true])
                return getattr(tf.nn, loss)(
                    tf.constant(WEIGHTS), tf.constant(BIASES), labels, tf.constant(INPUTS), 3, 7, num_true,
                    _given(tf, labels, num_true), remove_accidental_hits=remove,
                )  # fmt: skip

            @add(f"{_loss}_gradient_{_remove:d}{_true}", names=False)
            def _(tf: Any, loss: str = _loss, remove: bool = _remove, num_true: int = _true) -> Any:
                shards = [tf.constant(WEIGHTS[i::2]) for i in range(2)]
                biases, inputs = tf.constant(BIASES), tf.constant(INPUTS)
                labels = tf.constant(TRUE[:, :num_true].astype(np.int32))
                total = getattr(tf.nn, loss)(
                    shards, biases, labels, inputs, 3, 7, num_true, _given(tf, labels, num_true),
                    remove_accidental_hits=remove,
                )  # fmt: skip
                grads = tf.gradients(total * total, [*shards, biases, inputs])
                return [total, *(tf.convert_to_tensor(g) for g in grads)]


@add("default_sampler", names=False)
def _(tf: Any) -> Any:
    loss = tf.nn.sampled_softmax_loss(tf.constant(WEIGHTS), tf.constant(BIASES), TRUE[:, :1], tf.constant(INPUTS), 7, 7)
    return [tf.shape(loss), tf.reduce_all(tf.is_finite(loss))]
