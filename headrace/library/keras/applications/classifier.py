"""From the layers of a network to a model: its input, its top, its weights; and the functions that users call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headrace.core.source import at
from headrace.library.keras.applications.block import is_channels_last
from headrace.library.keras.engine.model import Model
from headrace.library.layers.core import Dense
from headrace.library.layers.input_layer import Input
from headrace.library.layers.pooling import GlobalAveragePooling2D, GlobalMaxPooling2D

Body = Callable[[Any], Any]  # from images to features
Top = Callable[[Any, int], Any]  # from features and the number of classes to probabilities

_ARGUMENTS = """

    Args:
      include_top: Whether the model ends in probabilities of classes, or in features.
      weights: None for random weights, the path of a file of weights, or "imagenet" for the file that Keras downloads to
        ``~/.keras/models``; Headrace downloads nothing.
      input_tensor: A tensor made by `tf.keras.Input` to use as the input; None for a new one.
      input_shape: The shape of an image; None for {size} rows and columns of 3 channels, of any size without the top.
      pooling: Without the top: "avg" or "max" makes one number of each channel; None leaves images of features.
      classes: The number of classes.

    Returns:
      A `tf.keras.Model`.

    Example: ``model = tf.keras.applications.{name}(weights=None, classes=10)``
    """


def average_top(name: str | None = "avg_pool") -> Top:
    """The mean of each channel, and a layer of probabilities."""

    def top(x: Any, classes: int) -> Any:
        return Dense(classes, activation="softmax", name="predictions")(GlobalAveragePooling2D(name=name)(x))

    return top


def classifier(
    name: str, about: str, body: Body, top: Top, module: str, size: int = 224, least: int = 32, model_name: str = "",
    pool_names: Sequence[str | None] = (None, None),
) -> Callable[..., Model]:  # fmt: skip
    """The public function ``name``, which makes the model of a network."""
    own = model_name or name.lower()

    def make(
        include_top: bool = True, weights: Any = "imagenet", input_tensor: Any = None, input_shape: Any = None,
        pooling: str | None = None, classes: int = 1000,
    ) -> Model:  # fmt: skip
        end = top if include_top else None
        file = f"{own}_weights_tf_dim_ordering_tf_kernels{'' if include_top else '_notop'}.h5"
        shape = image_shape(input_shape, size, least, include_top)
        return make_model(own, body, end, shape, input_tensor, pooling, classes, weights, file, pool_names)

    make.__name__ = make.__qualname__ = name
    make.__module__ = module
    make.__doc__ = about + _ARGUMENTS.format(name=name, size=size)
    return make


def image_shape(shape: Any, size: int, least: int, has_top: bool) -> tuple[int | None, ...]:
    """The shape of an image: the one that is given, checked, or the network's own."""
    if shape is None:
        sides = (size, size) if has_top else (None, None)
        return (*sides, 3) if is_channels_last() else (3, *sides)
    if len(shape) != 3:
        raise ValueError(f"`input_shape` must be a tuple of three integers, got {shape!r} {at()}")
    sides = tuple(shape[:2] if is_channels_last() else shape[1:])
    if any(side is not None and side < least for side in sides):
        raise ValueError(f"Input size must be at least {least}x{least}; got `input_shape={tuple(shape)}` {at()}")
    if has_top and None in sides:
        raise ValueError(
            f"If `include_top` is True, you should specify a static `input_shape`. Got {tuple(shape)} {at()}"
        )
    return tuple(shape)


def make_model(
    name: str, body: Body, top: Top | None, shape: Any, input_tensor: Any, pooling: str | None, classes: int,
    weights: Any, file: str, pool_names: Sequence[str | None] = (None, None),
) -> Model:  # fmt: skip
    """The model of a network, with its weights; ``file`` is the name that Keras has for those of ImageNet."""
    if pooling not in (None, "avg", "max"):
        raise ValueError(f"pooling must be 'avg', 'max' or None, got {pooling!r} {at()}")
    if weights == "imagenet" and top is not None and classes != 1000:
        raise ValueError(
            f'If using `weights` as "imagenet" with `include_top` as true, `classes` should be 1000, got {classes} {at()}'
        )
    path = _weights_path(weights, file)
    inputs = _inputs(shape, input_tensor)
    x = body(inputs)
    if top is not None:
        x = top(x, classes)
    elif pooling == "avg":
        x = GlobalAveragePooling2D(name=pool_names[0])(x)
    elif pooling == "max":
        x = GlobalMaxPooling2D(name=pool_names[1])(x)
    model = Model(inputs, x, name=name)
    if path is not None:
        model.load_weights(path)
    return model


def _inputs(shape: Any, input_tensor: Any) -> Any:
    if input_tensor is None:
        return Input(shape=shape)
    return input_tensor if hasattr(input_tensor, "_keras_history") else Input(tensor=input_tensor, shape=shape)


def _weights_path(weights: Any, file: str) -> str | None:
    if weights is None:
        return None
    path = str(keras_file(file)) if weights == "imagenet" else os.fspath(weights)
    if not os.path.isfile(path) and not os.path.isfile(f"{path}.index"):
        raise ValueError(
            f"there is no file of weights {path!r}. Headrace downloads nothing: pass weights=None for random weights, or the "
            f"path of a file that Keras downloaded {at()}"
        )
    return path


def keras_file(name: str) -> Path:
    """Where Keras keeps what it downloaded for its applications."""
    return Path.home() / ".keras" / "models" / name
