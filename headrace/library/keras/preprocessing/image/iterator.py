"""Batches of images, endlessly: the order of the images, and those that are in memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator as PythonIterator
from typing import Any

import numpy as np

from headrace.core.source import warn
from headrace.library.backend.config import floatx
from headrace.library.keras.preprocessing.image.file import array_to_img, checked_data_format
from headrace.library.keras.utils.sequence import Sequence


class Iterator(Sequence):
    """The base of what gives batches of images: it says which images make a batch. Safe to use from several threads.

    A subclass defines ``_get_batches_of_transformed_samples``, which is called with the numbers of a batch's images.

    Args:
      n: How many images there are.
      batch_size: How many images a batch has, but the last of an epoch.
      shuffle: Whether the images come in another random order in each epoch.
      seed: The seed of the order and of random changes; None leaves numpy's random numbers alone.

    >>> class Numbers(tf.keras.preprocessing.image.Iterator):
    ...     def _get_batches_of_transformed_samples(self, index_array):
    ...         return index_array.tolist()
    >>> numbers = Numbers(5, 2, shuffle=False, seed=None)
    >>> [next(numbers) for _ in range(4)], len(numbers)
    ([[0, 1], [2, 3], [4], [0, 1]], 3)
    """

    white_list_formats = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self.n = n
        self.batch_size = batch_size
        self.seed = seed
        self.shuffle = shuffle
        self.batch_index = 0
        self.total_batches_seen = 0
        self.lock = threading.Lock()
        self.index_array: Any = None
        self.index_generator = self._flow_index()

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def __len__(self) -> int:
        return (self.n + self.batch_size - 1) // self.batch_size

    def __getitem__(self, idx: int) -> Any:
        if idx >= len(self):
            raise ValueError(f"Asked to retrieve element {idx}, but the Sequence has length {len(self)}")
        with self.lock:
            self._count_batch()
            if self.index_array is None:
                self._set_index_array()
            chosen = self.index_array[self.batch_size * idx : self.batch_size * (idx + 1)]
        return self._get_batches_of_transformed_samples(chosen)

    def on_epoch_end(self) -> None:
        """Chooses a new order."""
        self._set_index_array()

    def reset(self) -> None:
        """Goes back to the first batch."""
        self.batch_index = 0

    def _count_batch(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)
        self.total_batches_seen += 1

    def _flow_index(self) -> PythonIterator[Any]:
        """The numbers of the images of each batch, endlessly."""
        self.reset()
        while True:
            self._count_batch()
            if self.batch_index == 0:
                self._set_index_array()
            first = self.batch_index * self.batch_size
            last = first + self.batch_size >= self.n
            self.batch_index = 0 if last else self.batch_index + 1
            yield self.index_array[first : first + self.batch_size]

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self) -> Any:
        """The next batch.

        Returns:
          What the subclass makes of the images.
        """
        with self.lock:
            chosen = next(self.index_generator)
        return self._get_batches_of_transformed_samples(chosen)  # changes of images may go on in several threads

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define _get_batches_of_transformed_samples")


def save_batch(batch: np.ndarray, numbers: Any, folder: str, prefix: str, file_format: str, data_format: str) -> None:
    """Writes the images of a batch as files, to look at.

    Args:
      batch: The images, an array of rank 4.
      numbers: The number of each image, for its file's name.
      folder: The folder of the files.
      prefix: The beginning of each name.
      file_format: The format of the files, such as ``"png"``.
      data_format: ``"channels_first"`` or ``"channels_last"``.

    >>> from headrace.library.keras.preprocessing.image.iterator import save_batch
    >>> save_batch(np.zeros([0, 2, 2, 3]), [], ".", "image", "png", "channels_last")
    """
    for image, number in zip(batch, numbers, strict=True):
        name = f"{prefix}_{number}_{np.random.randint(int(1e7))}.{file_format}"
        array_to_img(image, data_format, scale=True).save(os.path.join(folder, name))


class NumpyArrayIterator(Iterator):
    """Batches of images that are in memory, changed by an `ImageDataGenerator`.

    Args:
      x: An array of rank 4, or a pair of one and a list of other inputs, which are not changed.
      y: The targets, one for each image; None for none.
      image_data_generator: What changes the images.
      batch_size: How many images a batch has.
      shuffle: Whether the images come in another random order in each epoch.
      sample_weight: A weight for each image; None for none.
      seed: The seed of the order and of random changes.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      save_to_dir: A folder where the changed images are written, to look at; None for none.
      save_prefix: The beginning of the names of these files.
      save_format: Their format.
      subset: ``"training"`` or ``"validation"``, parts that the generator's `validation_split` makes; None for all.
      dtype: The type of the batches; None for `tf.keras.backend.floatx`.

    >>> generator = tf.keras.preprocessing.image.ImageDataGenerator(rescale=0.5)
    >>> batches = tf.keras.preprocessing.image.NumpyArrayIterator(
    ...     np.ones([3, 4, 4, 1]), np.arange(3), generator, batch_size=2)
    >>> x, y = next(batches)
    >>> x.shape, float(x.max()), y
    ((2, 4, 4, 1), 0.5, array([0, 1]))
    """

    def __init__(
        self, x: Any, y: Any, image_data_generator: Any, batch_size: int = 32, shuffle: bool = False,
        sample_weight: Any = None, seed: int | None = None, data_format: str | None = None,
        save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        self.data_format = checked_data_format(data_format)
        self.dtype = floatx() if dtype is None else dtype
        images, others = _images_and_others(x)
        targets = None if y is None else np.asarray(y)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        for name, values in (("y", targets), ("sample_weight", weights), *(("x[1]", one) for one in others)):
            if values is not None and len(values) != len(images):
                raise ValueError(
                    f"`x` (images tensor) and `{name}` should have the same length. Found: x.shape = {images.shape},"
                    f" {name}.shape = {values.shape}"
                )
        if subset is not None:
            part = _part(subset, int(len(images) * image_data_generator._validation_split), targets)
            images, others = images[part], [one[part] for one in others]
            targets = None if targets is None else targets[part]
            weights = None if weights is None else weights[part]
        self.x = np.asarray(images, dtype=self.dtype)
        check_images(self.x, self.data_format, "Input data in `NumpyArrayIterator`")
        self.x_misc = others
        self.y = targets
        self.sample_weight = weights
        self.image_data_generator = image_data_generator
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        super().__init__(len(self.x), batch_size, shuffle, seed)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        batch = np.zeros((len(index_array), *self.x.shape[1:]), dtype=self.dtype)
        for place, number in enumerate(index_array):
            batch[place] = self.image_data_generator.changed(self.x[number].astype(self.dtype))
        if self.save_to_dir:
            save_batch(batch, index_array, self.save_to_dir, self.save_prefix, self.save_format, self.data_format)
        inputs = [batch, *(one[index_array] for one in self.x_misc)] if self.x_misc else batch
        if self.y is None:
            return inputs
        if self.sample_weight is None:
            return inputs, self.y[index_array]
        return inputs, self.y[index_array], self.sample_weight[index_array]


def _images_and_others(x: Any) -> tuple[np.ndarray, list[np.ndarray]]:
    if not isinstance(x, tuple | list):
        return np.asarray(x), []
    others = x[1] if isinstance(x[1], list) else [x[1]]
    return np.asarray(x[0]), [np.asarray(one) for one in others]


def _part(subset: str, cut: int, targets: np.ndarray | None) -> slice:
    if subset not in ("training", "validation"):
        raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation".')
    if targets is not None and not np.array_equal(np.unique(targets[:cut]), np.unique(targets[cut:])):
        raise ValueError(
            "Training and validation subsets have different number of classes after the split. If your numpy arrays are"
            " sorted by the label, you might want to shuffle them."
        )
    return slice(cut) if subset == "validation" else slice(cut, None)


def check_images(x: np.ndarray, data_format: str, what: str) -> None:
    """Refuses arrays that are not of rank 4, and warns if the axis of the channels does not look so.

    Args:
      x: The array.
      data_format: ``"channels_first"`` or ``"channels_last"``.
      what: What the array is called in messages.

    >>> from headrace.library.keras.preprocessing.image.iterator import check_images
    >>> check_images(np.zeros([2, 4, 4, 3]), "channels_last", "x")
    """
    if x.ndim != 4:
        raise ValueError(f"{what} should have rank 4. You passed an array with shape {x.shape}")
    axis = 3 if data_format == "channels_last" else 1
    if x.shape[axis] not in (1, 3, 4):
        warn(f"{what} has {x.shape[axis]} channels: with {data_format!r} axis {axis} of {x.shape} should be 1, 3 or 4")
