"""Batches of images that are read from files: those of a folder, or those that a pandas data frame names."""

from __future__ import annotations

import os
from collections.abc import Iterator as PythonIterator
from typing import Any, ClassVar

import numpy as np

from headrace.core.source import warn
from headrace.library.backend.config import floatx
from headrace.library.keras.preprocessing.image.file import checked_data_format, img_to_array, load_img
from headrace.library.keras.preprocessing.image.iterator import Iterator, save_batch

_CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}


class FileIterator(Iterator):
    """Batches of images from files; a subclass says which files, and what belongs to them."""

    allowed_class_modes: ClassVar[frozenset[str | None]] = frozenset()
    filepaths: list[str]
    labels: Any = None  # by image
    sample_weight: Any = None
    class_indices: dict[str, int]

    def _set_options(
        self, image_data_generator: Any, target_size: Any, color_mode: str, class_mode: str | None,
        data_format: str | None, save_to_dir: str | None, save_prefix: str, save_format: str, subset: str | None,
        interpolation: str, dtype: Any,
    ) -> None:  # fmt: skip
        if color_mode not in _CHANNELS:
            raise ValueError(f'Invalid color mode: {color_mode}; expected "rgb", "rgba", or "grayscale".')
        if class_mode not in self.allowed_class_modes:
            accepted = ", ".join(sorted(map(str, self.allowed_class_modes)))
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {accepted}")
        self.image_data_generator = image_data_generator
        self.target_size = tuple(target_size)
        self.color_mode = color_mode
        self.class_mode = class_mode
        self.data_format = checked_data_format(data_format)
        channels = (_CHANNELS[color_mode],)
        last = self.data_format == "channels_last"
        self.image_shape = self.target_size + channels if last else channels + self.target_size
        self.save_to_dir = save_to_dir
        self.save_prefix = save_prefix
        self.save_format = save_format
        self.interpolation = interpolation
        self.dtype = floatx() if dtype is None else dtype
        self.subset = subset
        self.split = None if subset is None else _split(subset, image_data_generator._validation_split)

    def _part(self, items: Any) -> Any:
        """Of items, those of the chosen subset."""
        if self.split is None:
            return items
        start, stop = (int(part * len(items)) for part in self.split)
        return items[start:stop]

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        batch = np.zeros((len(index_array), *self.image_shape), dtype=self.dtype)
        for place, number in enumerate(index_array):
            batch[place] = self._image(self.filepaths[number])
        if self.save_to_dir:
            save_batch(batch, index_array, self.save_to_dir, self.save_prefix, self.save_format, self.data_format)
        if self.class_mode is None:
            return batch
        targets = self._targets(batch, index_array)
        if self.sample_weight is None:
            return batch, targets
        return batch, targets, self.sample_weight[index_array]

    def _image(self, path: str) -> np.ndarray:
        image = load_img(
            path, color_mode=self.color_mode, target_size=self.target_size, interpolation=self.interpolation
        )
        pixels = img_to_array(image, data_format=self.data_format)
        return self.image_data_generator.changed(pixels) if self.image_data_generator else pixels

    def _targets(self, batch: np.ndarray, index_array: Any) -> Any:
        if self.class_mode == "input":
            return batch.copy()
        if self.class_mode in ("binary", "sparse"):
            return np.array([self.labels[number] for number in index_array], dtype=self.dtype)
        if self.class_mode == "categorical":
            rows = np.zeros((len(batch), len(self.class_indices)), dtype=self.dtype)
            for row, number in zip(rows, index_array, strict=True):
                row[self.labels[number]] = 1.0
            return rows
        if self.class_mode == "multi_output":
            return [column[index_array] for column in self.labels]
        return self.labels[index_array]


def _split(subset: str, validation: float) -> tuple[float, float]:
    parts = {"validation": (0, validation), "training": (validation, 1)}
    if subset not in parts:
        raise ValueError(f'Invalid subset name: {subset};expected "training" or "validation"')
    return parts[subset]


class DirectoryIterator(FileIterator):
    """Batches of the images in a folder, in which each folder is a class.

    Args:
      directory: The folder.
      image_data_generator: The `ImageDataGenerator` that changes the images; None leaves them alone.
      target_size: The height and width that images are resized to.
      color_mode: ``"rgb"``, ``"rgba"`` or ``"grayscale"``.
      classes: The names of the folders that are used; None for all.
      class_mode: What the targets are: ``"categorical"`` for rows with a one, ``"binary"`` and ``"sparse"`` for class
        numbers, ``"input"`` for the images themselves, None for no targets.
      batch_size: How many images a batch has.
      shuffle: Whether the images come in another random order in each epoch.
      seed: The seed of the order and of random changes.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      save_to_dir: A folder where the changed images are written, to look at; None for none.
      save_prefix: The beginning of the names of these files.
      save_format: Their format.
      follow_links: Whether links to folders are followed.
      subset: ``"training"`` or ``"validation"``, parts that the generator's `validation_split` makes; None for all.
      interpolation: How images are resized, as in `load_img`.
      dtype: The type of the batches; None for `tf.keras.backend.floatx`.

    Example: ``batches = tf.keras.preprocessing.image.DirectoryIterator("photos", generator, target_size=(64, 64))``
    """

    allowed_class_modes = frozenset({"categorical", "binary", "sparse", "input", None})

    def __init__(
        self, directory: str, image_data_generator: Any, target_size: Any = (256, 256), color_mode: str = "rgb",
        classes: Any = None, class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True,
        seed: int | None = None, data_format: str | None = None, save_to_dir: str | None = None,
        save_prefix: str = "", save_format: str = "png", follow_links: bool = False, subset: str | None = None,
        interpolation: str = "nearest", dtype: Any = None,
    ) -> None:  # fmt: skip
        self._set_options(
            image_data_generator, target_size, color_mode, class_mode, data_format, save_to_dir, save_prefix,
            save_format, subset, interpolation, dtype,
        )  # fmt: skip
        self.directory = directory
        folders = list(classes or sorted(one.name for one in os.scandir(directory) if one.is_dir()))
        self.num_classes = len(folders)
        self.class_indices = {name: number for number, name in enumerate(folders)}
        self.filenames: list[str] = []
        numbers: list[int] = []
        for name, number in self.class_indices.items():
            found = self._part(list(_image_files(directory, name, self.white_list_formats, follow_links)))
            self.filenames += found
            numbers += [number] * len(found)
        self.samples = len(self.filenames)
        self.classes = self.labels = np.array(numbers, dtype="int32")
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        self.filepaths = [os.path.join(directory, name) for name in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)


def _image_files(directory: str, folder: str, endings: tuple[str, ...], follow_links: bool) -> PythonIterator[str]:
    """The paths of the images in a folder and below it, from `directory` on, in order."""
    for root, _, names in sorted(os.walk(os.path.join(directory, folder), followlinks=follow_links)):
        for name in sorted(names):
            if name.lower().endswith(endings):
                yield os.path.relpath(os.path.join(root, name), directory)


class DataFrameIterator(FileIterator):
    """Batches of the images that a pandas data frame names, which has a row for each image.

    Args:
      dataframe: The data frame.
      directory: The folder of the images; None if the frame has whole paths.
      image_data_generator: The `ImageDataGenerator` that changes the images; None leaves them alone.
      x_col: The column with the files' names.
      y_col: The column with the targets, or a list of columns.
      weight_col: The column with a weight for each image; None for none.
      target_size: The height and width that images are resized to.
      color_mode: ``"rgb"``, ``"rgba"`` or ``"grayscale"``.
      classes: The classes that are used; None for all in `y_col`.
      class_mode: What the targets are: ``"categorical"``, ``"binary"``, ``"sparse"`` and ``"input"`` as in
        `DirectoryIterator`, ``"raw"`` for what is in `y_col`, ``"multi_output"`` for a list of columns, None for no targets.
      batch_size: How many images a batch has.
      shuffle: Whether the images come in another random order in each epoch.
      seed: The seed of the order and of random changes.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      save_to_dir: A folder where the changed images are written, to look at; None for none.
      save_prefix: The beginning of the names of these files.
      save_format: Their format.
      subset: ``"training"`` or ``"validation"``, parts that the generator's `validation_split` makes; None for all.
      interpolation: How images are resized, as in `load_img`.
      dtype: The type of the batches; None for `tf.keras.backend.floatx`.
      validate_filenames: Whether rows whose file is not there, or is no image by its name, are left out.

    Example: ``batches = generator.flow_from_dataframe(frame, "photos", x_col="file", y_col="label")``
    """

    allowed_class_modes = frozenset({"binary", "categorical", "input", "multi_output", "raw", "sparse", None})

    def __init__(
        self, dataframe: Any, directory: str | None = None, image_data_generator: Any = None, x_col: str = "filename",
        y_col: Any = "class", weight_col: str | None = None, target_size: Any = (256, 256), color_mode: str = "rgb",
        classes: Any = None, class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True,
        seed: int | None = None, data_format: str | None = "channels_last", save_to_dir: str | None = None,
        save_prefix: str = "", save_format: str = "png", subset: str | None = None, interpolation: str = "nearest",
        dtype: Any = None, validate_filenames: bool = True,
    ) -> None:  # fmt: skip
        self._set_options(
            image_data_generator, target_size, color_mode, class_mode, data_format, save_to_dir, save_prefix,
            save_format, subset, interpolation, dtype,
        )  # fmt: skip
        self.directory = directory or ""
        _check_columns(dataframe, x_col, y_col, weight_col, class_mode, classes)
        frame = self._existing(dataframe, x_col) if validate_filenames else dataframe
        has_classes = class_mode in ("binary", "categorical", "sparse")
        if has_classes:
            frame, names = _of_classes(frame, y_col, classes)
            self.class_indices = {name: number for number, name in enumerate(names)}
        frame = self._part(frame)
        self.filenames = list(frame[x_col])
        self.samples = len(self.filenames)
        if weight_col:
            self.sample_weight = np.asarray(frame[weight_col])
        if has_classes:
            self.classes = self.labels = [self._numbers(label) for label in frame[y_col]]
        elif class_mode == "multi_output":
            self.labels = [np.array(frame[column].tolist()) for column in y_col]
        elif class_mode == "raw":
            self.labels = np.asarray(frame[y_col])
        checked = "validated" if validate_filenames else "non-validated"
        of_classes = f" belonging to {len(self.class_indices)} classes" if has_classes else ""
        print(f"Found {self.samples} {checked} image filenames{of_classes}.")
        self.filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _existing(self, frame: Any, x_col: str) -> Any:
        paths = [os.path.join(self.directory, name) for name in frame[x_col]]
        there = [path.lower().endswith(self.white_list_formats) and os.path.isfile(path) for path in paths]
        if missing := there.count(False):
            warn(f'{missing} rows of x_col="{x_col}" are left out: their files are not there, or are no images by name')
        return frame[there]

    def _numbers(self, label: Any) -> Any:
        if isinstance(label, list | tuple):
            return [self.class_indices[one] for one in label]
        return self.class_indices[label]


def _check_columns(frame: Any, x_col: str, y_col: Any, weight_col: Any, class_mode: Any, classes: Any) -> None:
    if not all(isinstance(name, str) for name in frame[x_col]):
        raise TypeError(f"All values in column x_col={x_col} must be strings.")
    if class_mode == "multi_output" and not isinstance(y_col, list):
        raise TypeError(f'If class_mode="multi_output", y_col must be a list. Received {type(y_col).__name__}.')
    accepted: Any = {"binary": str, "sparse": str, "categorical": (str, list, tuple)}.get(class_mode)
    if accepted and not all(isinstance(label, accepted) for label in frame[y_col]):
        lists = ", lists or tuples" if class_mode == "categorical" else ""
        raise TypeError(f'If class_mode="{class_mode}", y_col="{y_col}" column values must be strings{lists}.')
    if class_mode == "binary":
        count = len(set(classes or frame[y_col]))
        if count != 2:
            raise ValueError(f'If class_mode="binary" there must be 2 classes. Found {count} classes.')
    if classes and accepted is None:
        warn(f'`classes` will be ignored given the class_mode="{class_mode}"')
    if weight_col and not all(isinstance(weight, int | float | np.number) for weight in frame[weight_col]):
        raise TypeError(f"Column weight_col={weight_col} must be numeric.")


def _of_classes(frame: Any, y_col: str, classes: Any) -> tuple[Any, list[str]]:
    """The rows that have one of the classes at least, without other classes, and the classes."""
    labels = list(frame[y_col])
    if not classes:
        return frame, sorted({name for label in labels for name in _as_list(label)})
    classes = list(dict.fromkeys(classes))
    by_row = [[name for name in _as_list(label) if name in classes] for label in labels]
    frame = frame.copy()
    frame[y_col] = [
        names[0] if names and isinstance(old, str) else names for names, old in zip(by_row, labels, strict=True)
    ]
    return frame[[bool(names) for names in by_row]], classes


def _as_list(label: Any) -> list[str]:
    return list(label) if isinstance(label, list | tuple) else [label]
