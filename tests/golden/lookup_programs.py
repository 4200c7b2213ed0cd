"""Programs with lookup tables; see program.py."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from golden.program import Programs

PROGRAMS = Programs()
add = PROGRAMS.add
WORDS = ["the", "cat", "dog", "a\u00e4"]
VOCABULARY = str(Path(__file__).parent / "vocabulary.txt")


def contrib(tf: Any) -> Any:
    """tf.contrib.lookup, which newer TensorFlows keep elsewhere."""
    if hasattr(tf, "contrib"):
        return tf.contrib.lookup
    return importlib.import_module("tensorflow.python.ops.lookup_ops")


def _ready(tf: Any, *fetches: Any) -> Any:
    tf.add_to_collection("setup", tf.tables_initializer())
    return list(fetches)


@add("static", names=False)
def _(tf: Any) -> Any:
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(WORDS, np.arange(4), value_dtype=tf.int64), -1
    )
    sparse = tf.SparseTensor([[0, 1], [1, 0]], ["dog", "bird"], [2, 2])
    return _ready(tf, table.lookup(tf.constant([["cat"], ["bird"]])), table.lookup(sparse), table.size())


@add("numbers", names=False)
def _(tf: Any) -> Any:
    lookup = contrib(tf)
    table = lookup.HashTable(
        lookup.KeyValueTensorInitializer(tf.constant([5, 7], tf.int64), tf.constant([0.5, 0.7])), 9.0
    )
    return _ready(tf, table.lookup(tf.constant([7, 8, 5], tf.int64)))


for _buckets in (0, 3):

    @add(f"index_table_from_tensor_{_buckets}", names=False)
    def _(tf: Any, buckets: int = _buckets) -> Any:
        table = contrib(tf).index_table_from_tensor(WORDS, buckets, default_value=-1)
        return _ready(tf, table.lookup(tf.constant(["dog", "bird", "fish", "the", ""])), table.size())

    @add(f"index_table_from_file_{_buckets}", names=False)
    def _(tf: Any, buckets: int = _buckets) -> Any:
        table = contrib(tf).index_table_from_file(VOCABULARY, buckets)
        part = contrib(tf).index_table_from_file(VOCABULARY, buckets, vocab_size=2)
        keys = tf.constant(["dog", "bird", "fish", "the", ""])
        return _ready(tf, table.lookup(keys), part.lookup(keys), table.size())


@add("index_table_of_integers", names=False)
def _(tf: Any) -> Any:
    table = contrib(tf).index_table_from_tensor([10, 20, 30], 2, dtype=tf.int32)
    return _ready(tf, table.lookup(tf.constant([20, 10, 99, 98])))


@add("strong_hash", names=False)
def _(tf: Any) -> Any:
    lookup = contrib(tf)
    table = lookup.index_table_from_tensor(WORDS, 5, hasher_spec=lookup.StrongHashSpec([3, 4]))
    return _ready(tf, table.lookup(tf.constant(["bird", "fish", "cat"])))


@add("index_to_string", names=False)
def _(tf: Any) -> Any:
    lookup = contrib(tf)
    ids = tf.constant([[1, 3], [4, 0]], tf.int64)
    return _ready(
        tf,
        lookup.index_to_string_table_from_tensor(WORDS).lookup(ids),
        lookup.index_to_string_table_from_file(VOCABULARY, default_value="?").lookup(ids),
    )


@add("vocabulary_table", names=False)
def _(tf: Any) -> Any:
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(WORDS, np.arange(4), value_dtype=tf.int64), 4
    )
    return _ready(tf, table.lookup(tf.constant(["cat", "bird", "fish"])), table.size())
