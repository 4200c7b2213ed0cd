"""slim's data sets: what decodes records, what describes files, what gives the tensors of the next example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.source import at
from headrace.library.contrib.slim.item_handler import ItemHandler
from headrace.library.contrib.slim.parallel_reader import parallel_read
from headrace.library.tensor import array
from headrace.library.text.parsing import FixedLenFeature, parse_single_example


class DataDecoder:
    """Base class of decoders, which make the items of an example of its record.

    >>> class Line(tf.contrib.slim.data_decoder.DataDecoder):
    ...     def decode(self, data, items):
    ...         return [data for item in items]
    ...     def list_items(self):
    ...         return ["line"]
    >>> Line().list_items()
    ['line']
    """

    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """The tensors of the items, in their order, made of a record."""
        raise NotImplementedError(f"{type(self).__name__} must define decode")

    def list_items(self) -> list[str]:
        """The names of the items that can be asked for."""
        raise NotImplementedError(f"{type(self).__name__} must define list_items")


class TFExampleDecoder(DataDecoder):
    """Decodes records that are ``tf.train.Example`` messages: handlers make items of their features.

    Args:
      keys_to_features: A dictionary from the names of features to `tf.FixedLenFeature` or `tf.VarLenFeature`.
      items_to_handlers: A dictionary from the names of items to handlers, such as
        `tf.contrib.slim.tfexample_decoder.Image`.

    >>> decoders = tf.contrib.slim.tfexample_decoder
    >>> decoder = decoders.TFExampleDecoder({"label": tf.FixedLenFeature([], tf.int64)}, {"label": decoders.Tensor("label")})
    >>> decoder.list_items()
    ['label']
    """

    def __init__(self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._keys_to_features = keys_to_features
        self._items_to_handlers = items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """The tensors of the items, in their order, made of one serialized example; of all items for None."""
        example = dict(parse_single_example(serialized_example, dict(self._keys_to_features)))
        for key, feature in sorted(self._keys_to_features.items()):
            if isinstance(feature, FixedLenFeature):
                example[key] = array.reshape(example[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [handler.tensors_to_item({key: example[key] for key in handler.keys}) for handler in handlers]


class Dataset:
    """Where a data set is and how to read it: a description, which `DatasetDataProvider` follows.

    Args:
      data_sources: The files: a name, a pattern, or a list of them.
      reader: The class of their reader, such as `tf.TFRecordReader`.
      decoder: The decoder of the records, such as `tf.contrib.slim.tfexample_decoder.TFExampleDecoder`.
      num_samples: How many examples there are.
      items_to_descriptions: A dictionary from the names of items to a text about them.
      **kwargs: Further attributes, such as `num_classes`.

    >>> dataset = tf.contrib.slim.dataset.Dataset("train*", tf.TFRecordReader, None, 100, {}, num_classes=10)
    >>> dataset.num_samples, dataset.num_classes
    (100, 10)
    """

    data_sources: Any
    reader: Any
    decoder: Any
    num_samples: int
    items_to_descriptions: Any

    def __init__(
        self, data_sources: Any, reader: Any, decoder: Any, num_samples: int, items_to_descriptions: Any, **kwargs: Any
    ) -> None:
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        vars(self).update(kwargs)


class DataProvider:
    """Gives the tensors of items by their names.

    Args:
      items_to_tensors: A dictionary from the names of items to tensors.
      num_samples: How many examples there are.

    >>> provider = tf.contrib.slim.data_provider.DataProvider({"label": tf.constant(1)}, num_samples=10)
    >>> provider.list_items(), provider.num_samples()
    (['label'], 10)
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """The tensors of the items, in their order."""
        if not isinstance(items, (list, tuple)):
            raise ValueError(f"items must be a list or tuple, got {items!r} {at()}")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {self.list_items()} {at()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> list[str]:
        """The names of the items that can be asked for."""
        return list(self._items_to_tensors)

    def num_samples(self) -> int:
        """How many examples there are."""
        return self._num_samples


class DatasetDataProvider(DataProvider):
    """Gives the tensors of a data set's examples, another example in each step.

    Several readers fill one queue, from which examples leave at random or in order. `tf.train.start_queue_runners` starts them.

    Args:
      dataset: A `tf.contrib.slim.dataset.Dataset`.
      num_readers: How many readers read at the same time.
      reader_kwargs: A dictionary with further arguments of the reader; None for none.
      shuffle: Whether files and examples come at random.
      num_epochs: How often each example comes; None for no end. The count is a local variable.
      common_queue_capacity: How many records the queue holds.
      common_queue_min: How many records stay in the queue, so that those taken are mixed.
      record_key: The name of the item with the key of the record.
      seed: The seed of the order; None for the graph's, or a random one.
      scope: A name for the ops; None for `parallel_read`.

    Example: ``image, label = DatasetDataProvider(dataset, shuffle=False).get(["image", "label"])``
    """

    def __init__(
        self, dataset: Dataset, num_readers: int = 1, reader_kwargs: Any = None, shuffle: bool = True,
        num_epochs: int | None = None, common_queue_capacity: int = 256, common_queue_min: int = 128,
        record_key: str = "record_key", seed: int | None = None, scope: str | None = None,
    ) -> None:  # fmt: skip
        key, data = parallel_read(
            dataset.data_sources, reader_class=dataset.reader, num_epochs=num_epochs, num_readers=num_readers,
            reader_kwargs=reader_kwargs, shuffle=shuffle, capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min, seed=seed, scope=scope,
        )  # fmt: skip
        items = dataset.decoder.list_items()
        if record_key in items:
            raise ValueError(
                f"The item name {record_key!r}, used for record_key, is that of an item of the data set {at()}"
            )
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=True))
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
