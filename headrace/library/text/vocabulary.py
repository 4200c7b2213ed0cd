"""Tables between strings and their places in a vocabulary, with hash buckets for what is not in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.core import dtypes
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.control.dependency import no_op
from headrace.library.control.host import as_string
from headrace.library.numeric.math import add, cast, not_equal
from headrace.library.scope import name_scope
from headrace.library.tensor import array, creation
from headrace.library.tensor.indexing import where
from headrace.library.text.lookup import (
    HashTable,
    KeyValueTensorInitializer,
    LookupInterface,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from headrace.library.text.string import string_to_hash_bucket, string_to_hash_bucket_fast, string_to_hash_bucket_strong


class HasherSpec(NamedTuple):
    """How strings are hashed: "fasthash", "legacy", or "stronghash" with a key of two integers."""

    hasher: str
    key: Any


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """The keyed hash: ``StrongHashSpec(key=[1, 2])``."""

    __slots__ = ()

    def __new__(cls, key: Sequence[int]) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"`key` must have size 2, received {len(key)}")
        if not all(isinstance(k, int) for k in key):
            raise TypeError(f"Invalid key {key!r}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


class IdTableWithHashBuckets(LookupInterface):
    """A table of ids, and ``num_oov_buckets`` more ids after them that share the strings it does not have, by hash.

    Args:
      table: The table of ids; None for buckets only.
      num_oov_buckets: How many buckets, 0 or more; without a table, 1 or more.
      hasher_spec: The hash: `tf.contrib.lookup.FastHashSpec` or a `tf.contrib.lookup.StrongHashSpec`.
      name: A name for the table's ops; None makes one of the name of `table`.
      key_dtype: The type of the keys, strings or integers; None takes that of `table`, or `tf.string`.

    >>> table = tf.contrib.lookup.IdTableWithHashBuckets(None, num_oov_buckets=3)
    >>> tf.Session().run(table.lookup(["cat"])) < 3
    array([ True])
    """

    def __init__(
        self, table: Any, num_oov_buckets: int, hasher_spec: HasherSpec = FastHashSpec, name: str | None = None,
        key_dtype: Any = None,
    ) -> None:  # fmt: skip
        if num_oov_buckets < 0 or (table is None and num_oov_buckets == 0):
            raise ValueError(f"Without a table there must be oov buckets; `num_oov_buckets` is {num_oov_buckets}")
        if key_dtype is None:
            key_dtype = table.key_dtype if table is not None else dtypes.string
        super().__init__(key_dtype, dtypes.int64)
        if not self._key_dtype.is_integer and self._key_dtype != dtypes.string:
            raise TypeError(f"Invalid `key_dtype`, expected integer or string, received {self._key_dtype.name}")
        self._table = table
        self._buckets = num_oov_buckets
        self._hasher = hasher_spec
        base = name.rsplit("/", 1)[-1] if name else f"{table.name}_bucket" if table is not None else None
        self._name = base or "hash_bucket"

    @property
    def name(self) -> str:
        return self._name

    @property
    def initializer(self) -> Operation:
        if self._table is not None:
            return self._table.initializer
        with name_scope(None, "init"):
            return no_op()

    init = initializer

    @property
    def resource_handle(self) -> Tensor | None:
        return None if self._table is None else self._table.resource_handle

    def size(self, name: str | None = None) -> Tensor:
        """The number of ids, those of the buckets included."""
        with name_scope(name, f"{self.name}_Size"):
            entries = self._table.size() if self._table is not None else convert_to_tensor(0, dtypes.int64)
            return entries + self._buckets

    def _hash(self, strings: Tensor) -> Tensor:
        if self._hasher.hasher == "fasthash":
            return string_to_hash_bucket_fast(strings, self._buckets, name="hash_bucket")
        if self._hasher.hasher == "legacy":
            return string_to_hash_bucket(strings, self._buckets, name="hash_bucket")
        if self._hasher.hasher == "stronghash":
            return string_to_hash_bucket_strong(strings, self._buckets, self._hasher.key, name="hash_bucket")
        raise ValueError(f"Found unknown hasher {self._hasher.hasher} in `hasher_spec`")

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The ids of ``keys``, dense or sparse."""
        values = keys.values if isinstance(keys, SparseTensor) else keys
        values = values if isinstance(values, Tensor) else convert_to_tensor(values, self._key_dtype)
        self._check_keys(values)
        if self._table is not None and self._table.key_dtype == dtypes.int64:
            values = cast(values, dtypes.int64)
        ids = self._table.lookup(values, name=name) if not self._buckets else self._lookup(values, name)
        return SparseTensor(keys.indices, ids, keys.dense_shape) if isinstance(keys, SparseTensor) else ids

    def _lookup(self, values: Tensor, name: str | None) -> Tensor:
        with name_scope(name, f"{self.name}_Lookup"):
            strings = values if values.dtype == dtypes.string else as_string(values)
            buckets = self._hash(strings)
            if self._table is None:
                return buckets
            ids = self._table.lookup(values)
            buckets = add(buckets, self._table.size())
            return where(not_equal(ids, self._table.default_value), ids, buckets)


class StaticVocabularyTable(IdTableWithHashBuckets):
    """Strings to ids as an initializer gives them, and hash buckets for the others (tf.lookup).

    Args:
      initializer: What fills the table with int64 ids, such as a `KeyValueTensorInitializer`; None for buckets only.
      num_oov_buckets: How many buckets, 1 or more.
      lookup_key_dtype: The type of the keys to look up; None takes that of `initializer`, or `tf.string`.
      name: A name for the table's ops.

    >>> ids = tf.lookup.KeyValueTensorInitializer(["cat"], tf.constant([0], tf.int64))
    >>> table = tf.lookup.StaticVocabularyTable(ids, num_oov_buckets=1)
    >>> with tf.Session() as session:
    ...     session.run(table.initializer)
    ...     session.run(table.lookup(["cat", "dog"])).tolist()
    [0, 1]
    """

    def __init__(
        self, initializer: Any, num_oov_buckets: int, lookup_key_dtype: Any = None, name: str | None = None
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError(f"`num_oov_buckets` must be > 0; use StaticHashTable. Received: {num_oov_buckets}")
        table = None
        if initializer is not None:
            if initializer.value_dtype != dtypes.int64:
                raise TypeError(f"Invalid `value_dtype`, expected int64 but got {initializer.value_dtype.name}.")
            table = HashTable(initializer, default_value=-1)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)


# ---- strings to ids


def index_table_from_file(
    vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec, key_dtype: Any = dtypes.string, name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:  # fmt: skip
    """The lines of a file to their numbers; others to ``default_value`` or to hash buckets after them.

    Args:
      vocabulary_file: The file's name, a string or a scalar string tensor.
      num_oov_buckets: How many hash buckets to add for other keys; 0 for none.
      vocab_size: How many lines to read; None for all.
      default_value: The id of other keys, if there are no buckets.
      hasher_spec: The hash of the buckets: `tf.contrib.lookup.FastHashSpec` or a `tf.contrib.lookup.StrongHashSpec`.
      key_dtype: The type of the keys: `tf.string` or an integer type.
      name: A name for the table's ops.
      key_column_index: The column of the keys, counted from 0, or one of `tf.lookup.TextFileIndex`.
      value_column_index: The column of the ids, counted from 0, or one of `tf.lookup.TextFileIndex`.
      delimiter: What stands between two columns, one character.

    Returns:
      A table: run `tf.tables_initializer()`, then ``table.lookup(keys)`` gives int64 ids.

    Example: ``tf.contrib.lookup.index_table_from_file("words.txt", num_oov_buckets=1)``
    """
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    _check_buckets(num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(
            f"`vocab_size` must be greater than 0, got {vocab_size} for vocabulary_file: {vocabulary_file}."
        )
    dtype = dtypes.as_dtype(key_dtype)
    if not dtype.is_integer and dtype != dtypes.string:
        raise TypeError("Dtype for `keys` should be either integer or string.")
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            initializer = TextFileIdTableInitializer(
                vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init",
                dtypes.int64 if dtype.is_integer else dtype,
            )  # fmt: skip
            table = HashTable(initializer, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, dtype)


def index_table_from_tensor(
    vocabulary_list: Any, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = dtypes.string, name: str | None = None,
) -> Any:  # fmt: skip
    """The elements of a list to their places; others to ``default_value`` or to hash buckets after them.

    ``table = tf.contrib.lookup.index_table_from_tensor(["cat", "dog"], num_oov_buckets=1)``

    Args:
      vocabulary_list: A vector or a list of keys.
      num_oov_buckets: How many hash buckets to add for other keys; 0 for none.
      default_value: The id of other keys, if there are no buckets.
      hasher_spec: The hash of the buckets: `tf.contrib.lookup.FastHashSpec` or a `tf.contrib.lookup.StrongHashSpec`.
      dtype: The type of the keys: `tf.string` or an integer type.
      name: A name for the table's ops.

    Returns:
      A table: run `tf.tables_initializer()`, then ``table.lookup(keys)`` gives int64 ids.

    >>> table = tf.contrib.lookup.index_table_from_tensor(["cat", "dog"], num_oov_buckets=1)
    >>> with tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    ...     session.run(table.lookup(["dog", "cow"])).tolist()
    [1, 2]
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    _check_buckets(num_oov_buckets)
    key_dtype = dtypes.as_dtype(dtype)
    if not key_dtype.is_integer and key_dtype != dtypes.string:
        raise TypeError("`dtype` must either be integer or string.")
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != key_dtype.is_integer or (
            not key_dtype.is_integer and keys.dtype.base_dtype != key_dtype
        ):
            raise ValueError(f"Invalid `dtype`: Expected {key_dtype.name}, got {keys.dtype.name}.")
        values = cast(creation.range(array.size(keys)), dtypes.int64)
        with name_scope(None, "hash_table"):
            table_keys = cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
            initializer = KeyValueTensorInitializer(
                table_keys, values, table_keys.dtype.base_dtype, dtypes.int64, "table_init"
            )
            table = HashTable(initializer, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype)


def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater or equal than 0, got {num_oov_buckets}.")


def _with_buckets(table: HashTable, buckets: int, spec: HasherSpec, dtype: Any) -> Any:
    return IdTableWithHashBuckets(table, buckets, spec, key_dtype=dtype) if buckets else table


def string_to_index(tensor: Any, mapping: Any, default_value: int = -1, name: str | None = None) -> Any:
    """The places of strings in ``mapping``.

    Args:
      tensor: The strings to look up.
      mapping: A vector or a list of strings.
      default_value: The id of strings that are not in `mapping`.
      name: A name for the ops.

    Returns:
      An int64 tensor of the shape of `tensor`. Run `tf.tables_initializer()` first.

    >>> ids = tf.contrib.lookup.string_to_index(["dog", "cow"], mapping=["cat", "dog"])
    >>> with tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    ...     session.run(ids).tolist()
    [1, -1]
    """
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


# ---- ids to strings


def index_to_string_table_from_file(
    vocabulary_file: Any, vocab_size: int | None = None, default_value: str = "UNK", name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER, value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> HashTable:  # fmt: skip
    """Line numbers to the lines of a file.

    Args:
      vocabulary_file: The file's name, a string or a scalar string tensor.
      vocab_size: How many lines to read; None for all.
      default_value: The string of other ids.
      name: A name for the table's ops.
      key_column_index: The column of the ids, counted from 0, or one of `tf.lookup.TextFileIndex`.
      value_column_index: The column of the strings, counted from 0, or one of `tf.lookup.TextFileIndex`.
      delimiter: What stands between two columns, one character.

    Returns:
      A table: run `tf.tables_initializer()`, then ``table.lookup(ids)`` gives strings.

    Example: ``tf.contrib.lookup.index_to_string_table_from_file("words.txt", default_value="UNKNOWN")``
    """
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    with name_scope(name, "index_to_string"):
        initializer = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init"
        )
        return HashTable(initializer, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: str = "UNK", name: str | None = None
) -> HashTable:
    """Places in a list to its strings.

    Args:
      vocabulary_list: A vector or a list of strings.
      default_value: The string of other ids.
      name: A name for the table's ops.

    Returns:
      A table: run `tf.tables_initializer()`, then ``table.lookup(ids)`` gives strings.

    >>> table = tf.contrib.lookup.index_to_string_table_from_tensor(["cat", "dog"])
    >>> with tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    ...     session.run(table.lookup(tf.constant([1, 5], tf.int64))).tolist()
    [b'dog', b'UNK']
    """
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with name_scope(name, "index_to_string"):
        strings = convert_to_tensor(vocabulary_list, dtypes.string)
        keys = cast(creation.range(array.size(strings)), dtypes.int64)
        initializer = KeyValueTensorInitializer(keys, strings, dtypes.int64, dtypes.string, "table_init")
        return HashTable(initializer, default_value)


def index_to_string(tensor: Any, mapping: Any, default_value: str = "UNK", name: str | None = None) -> Any:
    """The strings of ``mapping`` at places.

    Args:
      tensor: The int64 ids to look up.
      mapping: A vector or a list of strings.
      default_value: The string of ids that have none.
      name: A name for the ops.

    Returns:
      A tensor of strings of the shape of `tensor`. Run `tf.tables_initializer()` first.

    >>> words = tf.contrib.lookup.index_to_string(tf.constant([1, 5], tf.int64), mapping=["cat", "dog"])
    >>> with tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    ...     session.run(words).tolist()
    [b'dog', b'UNK']
    """
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
