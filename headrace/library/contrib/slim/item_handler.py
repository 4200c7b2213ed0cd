"""What makes an item, such as an image, of the features of a ``tf.train.Example``.

A handler names the features it needs, its ``keys``, and makes the item of their tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core import dtypes
from headrace.core.source import at
from headrace.graph.structures import SparseTensor
from headrace.library.control.control_flow import case, cond
from headrace.library.control.higher_order import map_fn
from headrace.library.image.file import decode_image, decode_jpeg, is_jpeg
from headrace.library.numeric import math, reduction
from headrace.library.sparse.tensor import sparse_reshape, sparse_tensor_to_dense
from headrace.library.tensor import array
from headrace.library.tensor.slicing import slice as slice_
from headrace.library.text.string import decode_raw


class ItemHandler:
    """Base class: a subclass gives ``tensors_to_item``.

    Args:
      keys: The name of the feature that the item is made of, or a list of several.

    >>> class Double(tf.contrib.slim.tfexample_decoder.ItemHandler):
    ...     def tensors_to_item(self, keys_to_tensors):
    ...         return 2 * keys_to_tensors[self.keys[0]]
    >>> Double("x").keys
    ['x']
    """

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> Sequence[str]:
        """The names of the features."""
        return self._keys

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item, of a dictionary from the names of features to their tensors."""
        raise NotImplementedError(f"{type(self).__name__} must define tensors_to_item")


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes.

    Args:
      keys: The name of the feature that the item is made of, or a list of several.
      func: A function of a dictionary from names to tensors that gives the item.

    >>> handler = tf.contrib.slim.tfexample_decoder.ItemHandlerCallback(["a", "b"], lambda t: t["a"] + t["b"])
    >>> handler.tensors_to_item({"a": 1, "b": 2})
    3
    """

    def __init__(self, keys: Any, func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes [count, 4] of four features with one side each.

    Args:
      keys: The four names, in the order of the result; None for `ymin`, `xmin`, `ymax`, `xmax`.
      prefix: What is put before each name.

    >>> handler = tf.contrib.slim.tfexample_decoder.BoundingBox(prefix="box/")
    >>> handler.keys
    ['box/ymin', 'box/xmin', 'box/ymax', 'box/xmax']
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}: {keys!r} {at()}")
        super().__init__([f"{prefix}{key}" for key in keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        sides = [keys_to_tensors[key] for key in self.keys]
        return array.stack([side.values if isinstance(side, SparseTensor) else side for side in sides], axis=1)


class TensorHandler(ItemHandler):
    """A tensor as it is in the example, in another shape if one is given; a sparse one is made dense.

    Args:
      tensor_key: The name of the feature.
      shape_keys: The name of the feature with the shape, or a list with one for each dimension; None for none.
      shape: The shape; None for that of the feature. Only one of `shape_keys` and `shape` may be given.
      default_value: What a sparse feature has where it says nothing.

    >>> handler = tf.contrib.slim.tfexample_decoder.Tensor("pixels", shape=[2, 2])
    >>> handler.tensors_to_item({"pixels": tf.zeros([4])}).shape.as_list()
    [2, 2]
    """

    def __init__(self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            raise ValueError(f"Cannot specify both shape_keys and shape: got {shape_keys!r} and {shape!r} {at()}")
        self._tensor_key = tensor_key
        self._shape_keys = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or ())
        self._shape = shape
        self._default_value = default_value
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            shape = array.reshape(array.stack([_dense(keys_to_tensors[key]) for key in self._shape_keys]), [-1])
        if isinstance(tensor, SparseTensor):
            tensor = tensor if shape is None else sparse_reshape(tensor, shape)
            return sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if shape is None else array.reshape(tensor, shape)


def _dense(tensor: Any) -> Any:
    return sparse_tensor_to_dense(tensor) if isinstance(tensor, SparseTensor) else tensor


class LookupTensor(TensorHandler):
    """A tensor whose elements are looked up in a table, such as labels by their names.

    Args:
      tensor_key: The name of the feature.
      table: A lookup table of `tf.contrib.lookup`.
      shape_keys: The name of the feature with the shape, or a list with one for each dimension; None for none.
      shape: The shape; None for that of the feature. Only one of `shape_keys` and `shape` may be given.
      default_value: What a sparse feature has where it says nothing, before it is looked up.

    >>> table = tf.contrib.lookup.index_table_from_tensor(["cat", "dog"])
    >>> handler = tf.contrib.slim.tfexample_decoder.LookupTensor("name", table)
    >>> handler.tensors_to_item({"name": tf.constant(["dog"])}).dtype
    tf.int64
    """

    def __init__(
        self, tensor_key: str, table: Any, shape_keys: Any = None, shape: Any = None, default_value: Any = ""
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of one handler, or of another where the first one's is empty.

    Args:
      handler: The handler that is asked first.
      backup: The handler whose item is used when that of `handler` has no elements.

    >>> decoders = tf.contrib.slim.tfexample_decoder
    >>> decoders.BackupHandler(decoders.Tensor("ids"), decoders.Tensor("names")).keys
    ['ids', 'names']
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for what, given in (("Primary", handler), ("Backup", backup)):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{what} handler is of type {type(given)} instead of ItemHandler {at()}")
        self._handler = handler
        self._backup = backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        is_empty = math.equal(reduction.reduce_prod(array.shape(item)), 0)
        return cond(is_empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensorHandler(ItemHandler):
    """A sparse tensor of two features: where its elements are in the last dimension, and what they are.

    Args:
      indices_key: The name of the feature with the indices; None for `indices`.
      values_key: The name of the feature with the values; None for `values`.
      shape_key: The name of the feature with the shape; None for none.
      shape: The shape; None for that of the feature with the indices.
      densify: True gives a dense tensor.
      default_value: What a dense tensor has where the example says nothing.

    >>> tf.contrib.slim.tfexample_decoder.SparseTensor().keys
    ['indices', 'values']
    """

    def __init__(
        self, indices_key: str | None = None, values_key: str | None = None, shape_key: str | None = None,
        shape: Any = None, densify: bool = False, default_value: Any = 0,
    ) -> None:  # fmt: skip
        self._indices_key = indices_key or "indices"
        self._values_key = values_key or "values"
        self._shape_key = shape_key
        self._shape = shape
        self._densify = densify
        self._default_value = default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        else:
            shape = self._shape or indices.dense_shape
        last = array.shape(indices.indices)[1] - 1
        rows = slice_(indices.indices, [0, 0], array.stack([-1, last]))
        columns = array.reshape(math.cast(indices.values, dtypes.int64), [-1, 1])
        tensor = SparseTensor(array.concat([rows, columns], 1), values.values, math.cast(shape, dtypes.int64))
        return sparse_tensor_to_dense(tensor, self._default_value) if self._densify else tensor


class Image(ItemHandler):
    """An image of its file: JPEG, PNG, GIF, BMP, or the plain bytes of its pixels if the format is `raw`.

    Args:
      image_key: The name of the feature with the file; None for `image/encoded`.
      format_key: The name of the feature with the format; None for `image/format`.
      shape: The shape of the image; None if it is not known. It is needed for `raw`.
      channels: How many channels the image has.
      dtype: The type of the result; `raw` bytes are of this type too.
      repeated: True if the feature holds several images of one size.
      dct_method: How JPEG is decoded: "", "INTEGER_FAST" or "INTEGER_ACCURATE".

    >>> tf.contrib.slim.tfexample_decoder.Image(channels=1).keys
    ['image/encoded', 'image/format']
    """

    def __init__(
        self, image_key: str | None = None, format_key: str | None = None, shape: Any = None, channels: int = 3,
        dtype: Any = dtypes.uint8, repeated: bool = False, dct_method: str = "",
    ) -> None:  # fmt: skip
        self._image_key = image_key or "image/encoded"
        self._format_key = format_key or "image/format"
        self._shape = shape
        self._channels = channels
        self._dtype = dtypes.as_dtype(dtype)
        self._repeated = repeated
        self._dct_method = dct_method
        super().__init__([self._image_key, self._format_key])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        contents, image_format = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda one: self._decode(one, image_format), contents, dtype=self._dtype)
        return self._decode(contents, image_format)

    def _decode(self, contents: Any, image_format: Any) -> Any:
        def jpeg() -> Any:
            image = decode_jpeg(contents, channels=self._channels, dct_method=self._dct_method)
            return math.cast(image, self._dtype)

        def other() -> Any:
            return math.cast(decode_image(contents, channels=self._channels), self._dtype)

        def compressed() -> Any:
            return cond(is_jpeg(contents), jpeg, other, name="cond_jpeg")

        def raw() -> Any:
            return decode_raw(contents, self._dtype)

        is_raw = math.logical_or(math.equal(image_format, "raw"), math.equal(image_format, "RAW"))
        image = case([(is_raw, raw)], default=compressed, exclusive=True)
        if self._shape is not None:
            return array.reshape(image, self._shape)
        image.set_shape([None, None, self._channels])
        return image
