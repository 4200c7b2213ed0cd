"""Lookup tables (tf.lookup, tf.contrib.lookup): a key in, a value out; filled once, or changed while running."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.graph import context, raw_ops
from headrace.graph.collection import GraphKeys
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Operation, Tensor
from headrace.graph.structures import SparseTensor
from headrace.library.control.dependency import group, no_op
from headrace.library.scope import add_to_collection, colocate_with, get_collection, init_scope, name_scope
from headrace.library.state.saveable_object import SaveableObject, SaveSpec

_numbers = itertools.count()


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """One operation that fills all the tables of the graph.

    Args:
      name: A name for the op.

    Returns:
      An operation to run before the tables are used; one that does nothing if there are no tables.

    >>> table = tf.contrib.lookup.index_table_from_tensor(["cat", "dog"])
    >>> with tf.Session() as session:
    ...     session.run(tf.tables_initializer())
    ...     session.run(table.lookup(["dog"])).tolist()
    [1]
    """
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


initialize_all_tables = tables_initializer


class _Typed:
    """What has types of keys and of values."""

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        return self._value_dtype


class LookupInterface(_Typed):
    """What every table has.

    Args:
      key_dtype: The type of the keys.
      value_dtype: The type of the values.

    >>> table = tf.contrib.lookup.index_table_from_tensor(["cat", "dog"])
    >>> isinstance(table, tf.contrib.lookup.LookupInterface), table.key_dtype
    (True, tf.string)
    """

    @property
    def name(self) -> str:
        raise NotImplementedError

    def size(self, name: str | None = None) -> Tensor:
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        raise NotImplementedError

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _check_keys(self, keys: Any) -> None:
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self._key_dtype.name}, received: {keys.dtype.name}")


class _Handled(LookupInterface):
    """A table with a handle of its own in the graph."""

    resource_handle: Tensor

    @property
    def name(self) -> str:
        return self.resource_handle.op.name.rsplit("/", 1)[-1]

    def size(self, name: str | None = None) -> Tensor:
        """The number of entries."""
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]):
            return raw_ops.LookupTableSizeV2(self.resource_handle)

    def _export(self, name: str | None, default: str) -> tuple[Tensor, Tensor]:
        scope = name_scope(name, f"{self.name}_{default}", [self.resource_handle])
        with scope, colocate_with(self.resource_handle.op):
            keys, values = raw_ops.LookupTableExportV2(self.resource_handle, self._key_dtype, self._value_dtype)
            keys.set_shape([None])
            values.set_shape([None] if not getattr(self, "_default_value", values).shape.ndims else [None, None])
            return keys, values


# ---- tables that are filled once


class TableInitializerBase(_Typed):
    """What fills a table."""

    def initialize(self, table: Any) -> Operation:
        raise NotImplementedError

    @property
    def _shared_name(self) -> str:
        return ""

    def _check(self, table: Any) -> None:
        if (table.key_dtype, table.value_dtype) != (self._key_dtype, self._value_dtype):
            raise TypeError(
                f"Invalid key or value dtype for table {table.name}: expected {self._key_dtype.name} and "
                f"{self._value_dtype.name}, got {table.key_dtype.name} and {table.value_dtype.name}"
            )


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table from two tensors, or lists.

    Args:
      keys: A tensor, or a list; no key twice with different values.
      values: A tensor, or a list, with a value for each key.
      key_dtype: The type of the keys; None takes that of `keys`.
      value_dtype: The type of the values; None takes that of `values`.
      name: A name for the ops.

    >>> initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    >>> initializer.key_dtype, initializer.value_dtype
    (tf.string, tf.int32)
    """

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        with init_scope(), name_scope(name, "key_value_init", [keys, values]) as scope:
            self._name = scope
            self._keys = convert_to_tensor(keys, key_dtype, name="keys")
            self._values = convert_to_tensor(values, value_dtype, name="values")
        super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

    def initialize(self, table: Any) -> Operation:
        self._check(table)
        with name_scope(self._name, "key_value_init", [table.resource_handle, self._keys, self._values]):
            operation: Operation = raw_ops.LookupTableImportV2(table.resource_handle, self._keys, self._values)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        return operation


class TextFileIndex:
    """Special values of a column index: the whole line, or its number.

    >>> tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    (-2, -1)
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer(TableInitializerBase):
    """Fills a table from the lines of a text file: from columns, whole lines or line numbers.

    Args:
      filename: The file's name, a string or a scalar string tensor.
      key_dtype: The type of the keys; `tf.int64` for line numbers.
      key_index: The column of the keys, counted from 0, or one of `TextFileIndex`.
      value_dtype: The type of the values; `tf.int64` for line numbers.
      value_index: The column of the values, counted from 0, or one of `TextFileIndex`; another one than `key_index`.
      vocab_size: How many lines to read; None for all.
      delimiter: What stands between two columns, one character.
      name: A name for the ops.

    >>> words = tf.lookup.TextFileInitializer("words.tsv", tf.string, 0, tf.int64, 1)
    >>> words.key_dtype, words.value_dtype
    (tf.string, tf.int64)
    """

    def __init__(
        self, filename: Any, key_dtype: Any, key_index: int, value_dtype: Any, value_index: int,
        vocab_size: int | None = None, delimiter: str = "\t", name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(key_dtype, value_dtype)
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError("Filename required")
        for label, index, dtype in (("key", key_index, self._key_dtype), ("value", value_index, self._value_dtype)):
            if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
                raise ValueError(f"{label}_dtype must be int64 when {label}_index is LINE_NUMBER, got {dtype.name}.")
            if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype == dtypes.string):
                raise ValueError(
                    f"{label}_dtype must be integer or string when {label}_index is WHOLE_LINE, got {dtype.name}."
                )
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"Invalid {label} index {index}.")
        if key_index == value_index:
            raise ValueError(f"key_index ({key_index}) and value_index ({value_index}) must not be equal")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._filename = filename
        self._key_index = key_index
        self._value_index = value_index
        self._vocab_size = vocab_size
        self._delimiter = delimiter
        self._name = name

    def initialize(self, table: Any) -> Operation:
        self._check(table)
        with name_scope(self._name, "text_file_init", [table.resource_handle]):
            filename = convert_to_tensor(self._filename, dtypes.string, name="asset_filepath")
            operation: Operation = raw_ops.InitializeTableFromTextFileV2(
                table.resource_handle, filename, self._key_index, self._value_index,
                -1 if self._vocab_size is None else self._vocab_size, self._delimiter,
            )  # fmt: skip
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        if not context.executing_eagerly() and filename.op.type == "Const":
            add_to_collection(GraphKeys.ASSET_FILEPATHS, filename)
        return operation

    @property
    def _shared_name(self) -> str:
        """A name that tables of the same file have in common, so that they share their entries."""
        if isinstance(self._filename, Tensor):
            return ""
        parts = ["hash_table", self._filename] + ([] if self._vocab_size is None else [self._vocab_size])
        return "_".join(str(p) for p in (*parts, self._key_index, self._value_index))


class TextFileStringTableInitializer(TextFileInitializer):
    """Line numbers to the strings of a file.

    Args:
      filename: The file's name, a string or a scalar string tensor.
      key_column_index: The column of the keys, int64 numbers, or one of `tf.lookup.TextFileIndex`.
      value_column_index: The column of the values, strings, or one of `tf.lookup.TextFileIndex`.
      vocab_size: How many lines to read; None for all.
      delimiter: What stands between two columns, one character.
      name: A name for the ops.

    Example: ``tf.contrib.lookup.HashTable(tf.contrib.lookup.TextFileStringTableInitializer("words.txt"), "UNK")``
    """

    def __init__(
        self, filename: Any, key_column_index: int = TextFileIndex.LINE_NUMBER,
        value_column_index: int = TextFileIndex.WHOLE_LINE, vocab_size: int | None = None, delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:  # fmt: skip
        super().__init__(
            filename, dtypes.int64, key_column_index, dtypes.string, value_column_index, vocab_size, delimiter, name
        )


class TextFileIdTableInitializer(TextFileInitializer):
    """The strings (or numbers) of a file to their line numbers.

    Args:
      filename: The file's name, a string or a scalar string tensor.
      key_column_index: The column of the keys, or one of `tf.lookup.TextFileIndex`.
      value_column_index: The column of the values, int64 numbers, or one of `tf.lookup.TextFileIndex`.
      vocab_size: How many lines to read; None for all.
      delimiter: What stands between two columns, one character.
      name: A name for the ops.
      key_dtype: The type of the keys: `tf.string` or `tf.int64`.

    Example: ``tf.contrib.lookup.HashTable(tf.contrib.lookup.TextFileIdTableInitializer("words.txt"), -1)``
    """

    def __init__(
        self, filename: Any, key_column_index: int = TextFileIndex.WHOLE_LINE,
        value_column_index: int = TextFileIndex.LINE_NUMBER, vocab_size: int | None = None, delimiter: str = "\t",
        name: str = "text_file_id_table_init", key_dtype: Any = dtypes.string,
    ) -> None:  # fmt: skip
        super().__init__(
            filename, key_dtype, key_column_index, dtypes.int64, value_column_index, vocab_size, delimiter, name
        )


class StaticHashTable(_Handled):
    """A table that its initializer fills once; run ``initializer``, or ``tf.tables_initializer()``, before use.

    ``table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)``

    Args:
      initializer: What fills the table, such as a `KeyValueTensorInitializer`; it says the types too.
      default_value: The value of keys that are not in the table, a scalar.
      name: A name for the table's op; None for 'hash_table'.
      shared_name: Tables of one session with the same one share their entries. None for a table of its own; tables of
        the same text file share theirs.

    >>> table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    >>> with tf.Session() as session:
    ...     session.run(table.initializer)
    ...     session.run(table.lookup(["b", "c"])).tolist()
    [2, -1]
    """

    def __init__(
        self, initializer: Any, default_value: Any, name: str | None = None, shared_name: str | None = None
    ) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._shared = shared_name or initializer._shared_name or f"hash_table_{next(_numbers)}"
        with init_scope():  # a table that a function makes is initialised outside
            self.resource_handle = raw_ops.HashTableV2(
                shared_name=self._shared,
                key_dtype=self._key_dtype,
                value_dtype=self._value_dtype,
                name=name or "hash_table",
            )
            self._default_value = convert_to_tensor(default_value, self._value_dtype)
            self._default_value.shape.merge_with([])
            self._init_op = initializer.initialize(self)

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not in the table."""
        return self._default_value

    @property
    def initializer(self) -> Operation:
        """Fills the table."""
        return self._init_op

    @property
    def init(self) -> Operation:
        return self._init_op

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of ``keys``, dense or sparse."""
        dense = keys.values if isinstance(keys, SparseTensor) else keys
        dense = convert_to_tensor(dense, self._key_dtype) if not isinstance(dense, Tensor) else dense
        self._check_keys(dense)
        with name_scope(name, f"{self.name}_Lookup", [self.resource_handle, dense, self._default_value]):
            values: Tensor = raw_ops.LookupTableFindV2(self.resource_handle, dense, self._default_value)
        values.set_shape(dense.shape)
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, values, keys.dense_shape)
        return values

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and their values."""
        return self._export(name, "Export")


StaticHashTableV1 = StaticHashTable  # its name in tensorflow.python.ops.lookup_ops


class HashTable(StaticHashTable):
    """tf.contrib.lookup's name and order of arguments for ``StaticHashTable``.

    Args:
      initializer: What fills the table, such as a `KeyValueTensorInitializer`; it says the types too.
      default_value: The value of keys that are not in the table, a scalar.
      shared_name: Tables of one session with the same one share their entries. None for a table of its own; tables of
        the same text file share theirs.
      name: A name for the table's op.

    >>> table = tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer([1, 2], ["a", "b"]), "?")
    >>> with tf.Session() as session:
    ...     session.run(table.initializer)
    ...     session.run(table.lookup([2, 3])).tolist()
    [b'b', b'?']
    """

    def __init__(
        self, initializer: Any, default_value: Any, shared_name: str | None = None, name: str = "hash_table"
    ) -> None:
        super().__init__(initializer, default_value, name, shared_name)


# ---- tables that change


class _Entries(SaveableObject):
    """The entries of a table in a checkpoint: its keys, and its values in the same order."""

    def __init__(self, table: MutableHashTable, name: str) -> None:
        keys, values = table.export()
        specs = [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")]
        super().__init__(table.resource_handle.op, specs, name)
        self._handle = table.resource_handle

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Any:
        with colocate_with(self._handle.op):
            return raw_ops.LookupTableImportV2(self._handle, *restored_tensors)


class MutableHashTable(_Handled):
    """A table to put entries into and take them out of while the graph runs.  Values are scalars or vectors.

    Args:
      key_dtype: The type of the keys.
      value_dtype: The type of the values.
      default_value: The value of keys that are not in the table; its shape is that of all values.
      shared_name: Tables of one session with the same one share their entries; None for a table of its own.
      name: A name for the table's op.
      checkpoint: Whether a `tf.train.Saver` that saves everything saves the entries, under `name`.

    >>> table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    >>> with tf.Session() as session:
    ...     session.run(table.insert(["a"], [7]))
    ...     session.run(table.lookup(["a", "b"])).tolist()
    [7, -1]
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, shared_name: str | None = None,
        name: str = "MutableHashTable", checkpoint: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, self._value_dtype)
        self._shared = shared_name or f"table_{next(_numbers)}"
        self.resource_handle = self._make(name)
        if checkpoint and not context.executing_eagerly():
            context.get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _Entries(self, name))

    def _make(self, name: str) -> Tensor:
        shape = self._default_value.shape
        options = {"shared_name": self._shared, "key_dtype": self._key_dtype, "value_dtype": self._value_dtype}
        if shape.ndims == 0:
            return raw_ops.MutableHashTableV2(name=name, **options)
        return raw_ops.MutableHashTableOfTensorsV2(value_shape=shape, name=name, **options)

    def lookup(  # type: ignore[override]
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Tensor:
        """The values of ``keys``; the table's default, or one given for each key, where there is none."""
        keys = convert_to_tensor(keys, self._key_dtype, name="keys")
        with name_scope(name, f"{self.name}_lookup_table_find", [self.resource_handle, keys, self._default_value]):
            default = self._default_value if dynamic_default_values is None else dynamic_default_values
            values: Tensor = raw_ops.LookupTableFindV2(self.resource_handle, keys, default)
            values.set_shape(keys.shape.concatenate(self._default_value.shape))
            return values

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Adds entries, or gives keys that are there other values."""
        with name_scope(name, f"{self.name}_lookup_table_insert", [self.resource_handle, keys, values]):
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            values = convert_to_tensor(values, self._value_dtype, name="values")
            return raw_ops.LookupTableInsertV2(self.resource_handle, keys, values)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Takes entries out; keys that are not there do not matter."""
        keys = keys if isinstance(keys, Tensor) else convert_to_tensor(keys, self._key_dtype)
        self._check_keys(keys)
        with name_scope(name, f"{self.name}_lookup_table_remove", [self.resource_handle, keys]):
            return raw_ops.LookupTableRemoveV2(self.resource_handle, keys)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and their values."""
        return self._export(name, "lookup_table_export_values")


class DenseHashTable(MutableHashTable):
    """A mutable table made with TF1's options for open addressing; here they change nothing but the graph.

    Args:
      key_dtype: The type of the keys.
      value_dtype: The type of the values.
      default_value: The value of keys that are not in the table; its shape is that of all values.
      empty_key: A key that is never used, which marks free places.
      deleted_key: Another key that is never used, which marks places set free.
      initial_num_buckets: How many places the table begins with; None for the usual number.
      name: A name for the table's op.
      checkpoint: Whether a `tf.train.Saver` that saves everything saves the entries, under `name`.
      shared_name: Tables of one session with the same one share their entries; None for a table of its own.

    >>> table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
    >>> with tf.Session() as session:
    ...     session.run(table.insert([5], [7]))
    ...     session.run(table.lookup([5, 6])).tolist()
    [7, -1]
    """

    def __init__(
        self, key_dtype: Any, value_dtype: Any, default_value: Any, empty_key: Any, deleted_key: Any,
        initial_num_buckets: int | None = None, name: str = "MutableDenseHashTable", checkpoint: bool = True,
        shared_name: str | None = None,
    ) -> None:  # fmt: skip
        self._keys = empty_key, deleted_key
        self._buckets = initial_num_buckets
        super().__init__(key_dtype, value_dtype, default_value, shared_name, name, checkpoint)

    def _make(self, name: str) -> Tensor:
        empty, deleted = (
            convert_to_tensor(k, self._key_dtype, name=n)
            for k, n in zip(self._keys, ("empty_key", "deleted_key"), strict=True)
        )
        return raw_ops.MutableDenseHashTableV2(
            empty, deleted, shared_name=self._shared, key_dtype=self._key_dtype, value_dtype=self._value_dtype,
            value_shape=self._default_value.shape, initial_num_buckets=self._buckets, name=name,
        )  # fmt: skip

    insert_or_assign = MutableHashTable.insert
    erase = MutableHashTable.remove
