"""``ImageDataGenerator``: random changes and normalisation of images, and the batches of changed images."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.core.source import warn
from headrace.library.backend.config import floatx
from headrace.library.keras.preprocessing.image.affine import apply_affine_transform
from headrace.library.keras.preprocessing.image.change import apply_brightness_shift, apply_channel_shift, flip_axis
from headrace.library.keras.preprocessing.image.file import checked_data_format
from headrace.library.keras.preprocessing.image.file_iterator import DataFrameIterator, DirectoryIterator
from headrace.library.keras.preprocessing.image.iterator import NumpyArrayIterator, check_images

_TINY = 1e-6  # keeps divisions away from zero


class ImageDataGenerator:
    """Changes images at random and normalises them, while batches of them are made.

    Args:
      featurewise_center: Subtracts the mean image of the data that `fit` has seen.
      samplewise_center: Subtracts from each image its mean.
      featurewise_std_normalization: Divides by the standard deviation of the data that `fit` has seen.
      samplewise_std_normalization: Divides each image by its standard deviation.
      zca_whitening: Removes correlations between pixels, as `fit` has found them.
      zca_epsilon: What keeps the whitening away from divisions by zero.
      rotation_range: The largest rotation in degrees.
      width_shift_range: The largest shift to the side: a part of the width below 1, pixels above; a list of shifts to choose
        from.
      height_shift_range: The largest shift up or down, in the same way.
      brightness_range: The smallest and largest factor of the brightness; None for no change.
      shear_range: The largest shear in degrees.
      zoom_range: The smallest and largest zoom, or one number z for 1 - z and 1 + z.
      channel_shift_range: The largest number that is added to all values of an image.
      fill_mode: What is seen beside a moved image: ``"constant"``, ``"nearest"``, ``"reflect"`` or ``"wrap"``.
      cval: The value for ``"constant"``.
      horizontal_flip: Mirrors every second image, left to right.
      vertical_flip: Mirrors every second image, top to bottom.
      rescale: A factor for all values, applied after the random changes; None for none.
      preprocessing_function: A function from an image to an image, called before `rescale`; None for none.
      data_format: ``"channels_first"``, ``"channels_last"``, or None for `tf.keras.backend.image_data_format`.
      validation_split: Which part of the images is the validation set.
      dtype: The type of the batches; None for `tf.keras.backend.floatx`.

    >>> generator = tf.keras.preprocessing.image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True)
    >>> batches = generator.flow(np.full([6, 8, 8, 3], 51.0), np.arange(6), batch_size=4, seed=1)
    >>> x, y = next(batches)
    >>> x.shape, round(float(x.mean()), 2), y.shape
    ((4, 8, 8, 3), 0.2, (4,))
    """

    interpolation_order = 1

    def __init__(
        self, featurewise_center: bool = False, samplewise_center: bool = False,
        featurewise_std_normalization: bool = False, samplewise_std_normalization: bool = False,
        zca_whitening: bool = False, zca_epsilon: float = 1e-6, rotation_range: float = 0,
        width_shift_range: Any = 0.0, height_shift_range: Any = 0.0, brightness_range: Any = None,
        shear_range: float = 0.0, zoom_range: Any = 0.0, channel_shift_range: float = 0.0, fill_mode: str = "nearest",
        cval: float = 0.0, horizontal_flip: bool = False, vertical_flip: bool = False, rescale: float | None = None,
        preprocessing_function: Any = None, data_format: str | None = None, validation_split: float = 0.0,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        self.samplewise_center = samplewise_center
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening = zca_whitening
        self.zca_epsilon = zca_epsilon
        self.rotation_range = rotation_range
        self.width_shift_range = width_shift_range
        self.height_shift_range = height_shift_range
        self.brightness_range = _checked_pair("brightness_range", brightness_range)
        self.shear_range = shear_range
        self.zoom_range = _checked_zoom(zoom_range)
        self.channel_shift_range = channel_shift_range
        self.fill_mode = fill_mode
        self.cval = cval
        self.horizontal_flip = horizontal_flip
        self.vertical_flip = vertical_flip
        self.rescale = rescale
        self.preprocessing_function = preprocessing_function
        self.dtype = floatx() if dtype is None else dtype
        self.data_format = checked_data_format(data_format)
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1.  Received: {validation_split}")
        self._validation_split = validation_split
        self.mean: Any = None
        self.std: Any = None
        self.principal_components: Any = None
        self.featurewise_std_normalization = featurewise_std_normalization and not zca_whitening
        self.featurewise_center = featurewise_center
        self._add_centers(featurewise_std_normalization)

    def _add_centers(self, wishes_std: bool) -> None:
        """Turns on what other settings need, with a warning."""
        if self.zca_whitening and wishes_std:
            warn("This ImageDataGenerator specifies `zca_whitening`, which turns `featurewise_std_normalization` off.")
        for name in ("zca_whitening", "featurewise_std_normalization"):
            if getattr(self, name) and not self.featurewise_center:
                self.featurewise_center = True
                warn(f"This ImageDataGenerator specifies `{name}`, which turns `featurewise_center` on.")
        if self.samplewise_std_normalization and not self.samplewise_center:
            self.samplewise_center = True
            warn(
                "This ImageDataGenerator specifies `samplewise_std_normalization`, which turns `samplewise_center` on."
            )

    def flow(
        self, x: Any, y: Any = None, batch_size: int = 32, shuffle: bool = True, sample_weight: Any = None,
        seed: int | None = None, save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png",
        subset: str | None = None,
    ) -> NumpyArrayIterator:  # fmt: skip
        """Batches of changed images from an array; the arguments are those of `NumpyArrayIterator`.

        Returns:
          A `NumpyArrayIterator`, which gives pairs (images, targets) endlessly.
        """
        return NumpyArrayIterator(
            x, y, self, batch_size=batch_size, shuffle=shuffle, sample_weight=sample_weight, seed=seed,
            data_format=self.data_format, save_to_dir=save_to_dir, save_prefix=save_prefix, save_format=save_format,
            subset=subset, dtype=self.dtype,
        )  # fmt: skip

    def flow_from_directory(
        self, directory: str, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
        class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
        save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", follow_links: bool = False,
        subset: str | None = None, interpolation: str = "nearest",
    ) -> DirectoryIterator:  # fmt: skip
        """Batches of changed images from a folder of folders; the arguments are those of `DirectoryIterator`.

        Returns:
          A `DirectoryIterator`, which gives pairs (images, targets) endlessly.
        """
        return DirectoryIterator(
            directory, self, target_size=target_size, color_mode=color_mode, classes=classes, class_mode=class_mode,
            data_format=self.data_format, batch_size=batch_size, shuffle=shuffle, seed=seed, save_to_dir=save_to_dir,
            save_prefix=save_prefix, save_format=save_format, follow_links=follow_links, subset=subset,
            interpolation=interpolation, dtype=self.dtype,
        )  # fmt: skip

    def flow_from_dataframe(
        self, dataframe: Any, directory: str | None = None, x_col: str = "filename", y_col: Any = "class",
        weight_col: str | None = None, target_size: Any = (256, 256), color_mode: str = "rgb", classes: Any = None,
        class_mode: str | None = "categorical", batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
        save_to_dir: str | None = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None,
        interpolation: str = "nearest", validate_filenames: bool = True, **kwargs: Any,
    ) -> DataFrameIterator:  # fmt: skip
        """Batches of changed images that a pandas data frame names; the arguments are those of `DataFrameIterator`.

        Returns:
          A `DataFrameIterator`, which gives pairs (images, targets) endlessly.
        """
        if kwargs:  # arguments of older releases
            warn(f"flow_from_dataframe: {', '.join(sorted(kwargs))} has no effect any more")
        return DataFrameIterator(
            dataframe, directory, self, x_col=x_col, y_col=y_col, weight_col=weight_col, target_size=target_size,
            color_mode=color_mode, classes=classes, class_mode="raw" if class_mode == "other" else class_mode,
            data_format=self.data_format, batch_size=batch_size, shuffle=shuffle, seed=seed, save_to_dir=save_to_dir,
            save_prefix=save_prefix, save_format=save_format, subset=subset, interpolation=interpolation,
            validate_filenames=validate_filenames, dtype=self.dtype,
        )  # fmt: skip

    def changed(self, x: np.ndarray) -> np.ndarray:
        """An image after random changes and normalisation.

        Args:
          x: An array of rank 3, which may be overwritten.

        Returns:
          An array of its shape.
        """
        return self.standardize(self.random_transform(x))

    def standardize(self, x: Any) -> Any:
        """Normalises an image, or a batch; may overwrite it.

        Args:
          x: An array of floats.

        Returns:
          An array of its shape.
        """
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + _TINY
        if self.featurewise_center and self._is_fitted(self.mean, "featurewise_center"):
            x -= self.mean
        if self.featurewise_std_normalization and self._is_fitted(self.std, "featurewise_std_normalization"):
            x /= self.std + _TINY
        if self.zca_whitening and self._is_fitted(self.principal_components, "zca_whitening"):
            x = (x.reshape(-1, np.prod(x.shape[-3:])) @ self.principal_components).reshape(x.shape)
        return x

    def _is_fitted(self, found: Any, name: str) -> bool:
        if found is None:
            warn(f"This ImageDataGenerator specifies `{name}`, but `fit` has seen no data yet: it has no effect")
        return found is not None

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """Draws a change.

        Args:
          img_shape: The shape of the image.
          seed: The seed of numpy's random numbers; None leaves them alone.

        Returns:
          A dict for `apply_transform`: theta, tx, ty, shear, zx, zy, flip_horizontal, flip_vertical,
          channel_shift_intensity and brightness.
        """
        if seed is not None:
            np.random.seed(seed)
        theta = _drawn(self.rotation_range)
        tx = _drawn_shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = _drawn_shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = _drawn(self.shear_range)
        least, most = self.zoom_range
        zx, zy = (1, 1) if least == most == 1 else np.random.uniform(least, most, 2)
        flip_horizontal = (np.random.random() < 0.5) * self.horizontal_flip
        flip_vertical = (np.random.random() < 0.5) * self.vertical_flip
        intensity = _drawn(self.channel_shift_range) if self.channel_shift_range != 0 else None
        brightness = None if self.brightness_range is None else np.random.uniform(*self.brightness_range)
        return {
            "theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy, "flip_horizontal": flip_horizontal,
            "flip_vertical": flip_vertical, "channel_shift_intensity": intensity, "brightness": brightness,
        }  # fmt: skip

    def apply_transform(self, x: Any, transform_parameters: dict[str, Any]) -> np.ndarray:
        """Changes an image.

        Args:
          x: An array of rank 3.
          transform_parameters: The change, as `get_random_transform` gives it; what is missing does not change.

        Returns:
          An array of its shape.
        """
        get: Any = transform_parameters.get
        row_axis, col_axis, channel_axis = self.row_axis - 1, self.col_axis - 1, self.channel_axis - 1
        x = apply_affine_transform(
            x, get("theta", 0), get("tx", 0), get("ty", 0), get("shear", 0), get("zx", 1), get("zy", 1),
            row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis, fill_mode=self.fill_mode, cval=self.cval,
            order=self.interpolation_order,
        )  # fmt: skip
        if get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, get("channel_shift_intensity"), channel_axis)
        if get("flip_horizontal"):
            x = flip_axis(x, col_axis)
        if get("flip_vertical"):
            x = flip_axis(x, row_axis)
        if get("brightness") is not None:
            x = apply_brightness_shift(x, get("brightness"))
        return x

    def random_transform(self, x: Any, seed: int | None = None) -> np.ndarray:
        """Changes an image at random.

        Args:
          x: An array of rank 3.
          seed: The seed of numpy's random numbers; None leaves them alone.

        Returns:
          An array of its shape.
        """
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Finds what the settings ``featurewise_*`` and ``zca_whitening`` need: mean, standard deviation, components.

        Args:
          x: Images, an array of rank 4.
          augment: Whether to use randomly changed images.
          rounds: How many changes of each image are used then.
          seed: The seed of numpy's random numbers; None leaves them alone.
        """
        x = np.array(x, dtype=self.dtype)
        check_images(x, self.data_format, "Input to `.fit()`")
        if seed is not None:
            np.random.seed(seed)
        if augment:
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x]).astype(self.dtype)
        others = tuple(axis for axis in range(4) if axis != self.channel_axis)
        if self.featurewise_center:
            self.mean = np.mean(x, axis=others, keepdims=True)[0]
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.std(x, axis=others, keepdims=True)[0]
            x /= self.std + _TINY
        if self.zca_whitening:
            flat = x.reshape(len(x), -1)
            vectors, values, _ = np.linalg.svd(flat.T @ flat / len(flat))
            self.principal_components = vectors @ np.diag(1.0 / np.sqrt(values + self.zca_epsilon)) @ vectors.T


def _drawn(limit: float) -> Any:
    return np.random.uniform(-limit, limit) if limit else 0


def _drawn_shift(limits: Any, size: int) -> Any:
    """A shift in pixels: one of a list, or up to a number."""
    if np.ndim(limits) == 0 and not limits:
        return 0
    if np.ndim(limits) or isinstance(limits, int):
        shift = np.random.choice(limits) * np.random.choice([-1, 1])
    else:
        shift = np.random.uniform(-limits, limits)
    return shift * size if np.max(limits) < 1 else shift


def _checked_pair(name: str, given: Any) -> Any:
    if given is not None and (not isinstance(given, tuple | list) or len(given) != 2):
        raise ValueError(f"`{name}` should be tuple or list of two floats. Received: {given}")
    return given


def _checked_zoom(given: Any) -> list[float]:
    if isinstance(given, int | float):
        return [1 - given, 1 + given]
    if len(given) != 2:
        raise ValueError(f"`zoom_range` should be a float or a tuple or list of two floats. Received: {given}")
    return list(given)
