"""Summaries of models, and images put together in grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.source import at
from headrace.graph.convert import convert_to_tensor
from headrace.library.contrib.gan.model import CycleGANModel
from headrace.library.numeric import reduction
from headrace.library.scope import name_scope
from headrace.library.summary import summary
from headrace.library.tensor import array


def image_grid(
    input_tensor: Any, grid_shape: Sequence[int], image_shape: Sequence[int] = (32, 32), num_channels: int = 3
) -> Any:
    """One image made of many, row by row.

    Args:
      input_tensor: The images, as many as the grid has places: [count, height, width, channels], or rows of their pixels.
      grid_shape: How many rows and columns the grid has.
      image_shape: The height and the width of each image.
      num_channels: The channels of each image.

    Returns:
      A tensor [1, height, width, channels].

    >>> grid = tf.contrib.gan.eval.image_grid(tf.zeros([6, 4, 5, 1]), [2, 3], (4, 5), 1)
    >>> grid.shape.as_list()
    [1, 8, 15, 1]
    """
    images = convert_to_tensor(input_tensor)
    rows, columns = (int(n) for n in grid_shape)
    height, width = (int(n) for n in image_shape)
    count = images.shape.as_list()[0] if images.shape.ndims is not None else None
    if count is not None and count != rows * columns:
        raise ValueError(f"Grid shape {tuple(grid_shape)} is incompatible with {count} images {at()}")
    tiles = array.reshape(images, [rows, columns, height, width, num_channels])
    tiles = array.transpose(tiles, [0, 2, 1, 3, 4])
    return array.reshape(tiles, [1, rows * height, columns * width, num_channels])


def image_reshaper(images: Any, num_cols: int | None = None) -> Any:
    """Images in a grid whose rows and columns are about as many.

    Args:
      images: A tensor, or a list of tensors of one shape, [height, width, channels] each; their number must be known.
      num_cols: How many columns the grid has; None for about the square root of the number of images.

    Returns:
      A tensor [1, height, width, channels]; what images do not fill is black.

    >>> tf.contrib.gan.eval.image_reshaper(tf.ones([5, 2, 2, 1])).shape.as_list()
    [1, 4, 6, 1]
    """
    images = array.stack(images) if isinstance(images, (list, tuple)) else convert_to_tensor(images)
    if images.shape.ndims != 4 or not images.shape.is_fully_defined():
        raise ValueError(f"images must be [count, height, width, channels] of known sizes, got {images} {at()}")
    count, height, width, channels = images.shape.as_list()
    columns = int(num_cols or -(-(count**0.5) // 1))
    rows = -(-count // columns)
    filled = array.pad(images, [[0, rows * columns - count], [0, 0], [0, 0], [0, 0]])
    return image_grid(filled, (rows, columns), (height, width), channels)


def add_gan_model_image_summaries(gan_model: Any, grid_size: int = 4, model_summaries: bool = True) -> None:
    """Adds summaries of real and generated images, in grids.

    Args:
      gan_model: The model, as `tf.contrib.gan.gan_model` and kin give it; both models of a `CycleGANModel`.
      grid_size: How many rows and columns the grids have.
      model_summaries: Whether to add those of `add_gan_model_summaries` too.

    Example: ``tf.contrib.gan.eval.add_gan_model_image_summaries(model, grid_size=8)``
    """
    if isinstance(gan_model, CycleGANModel):
        for name, model in (("cyclegan_x2y", gan_model.model_x2y), ("cyclegan_y2x", gan_model.model_y2x)):
            with name_scope(f"{name}_image_summaries"):
                add_gan_model_image_summaries(model, grid_size, model_summaries)
        return
    for which, data in (("real", gan_model.real_data), ("generated", gan_model.generated_data)):
        if data.shape.ndims != 4 or None in data.shape.as_list()[1:]:
            raise ValueError(
                f"The {which} data must be [batch, height, width, channels] of known size, got {data} {at()}"
            )
        _, height, width, channels = data.shape.as_list()
        grid = image_grid(data[: grid_size**2], (grid_size, grid_size), (height, width), channels)
        summary.image(f"{which}_data", grid, max_outputs=1)
    if model_summaries:
        add_gan_model_summaries(gan_model)


def add_gan_model_summaries(gan_model: Any) -> None:
    """Adds summaries of all variables of a model, and of how the discriminator judges.

    Args:
      gan_model: The model, as `tf.contrib.gan.gan_model` and kin give it; both models of a `CycleGANModel`.

    Example: ``tf.contrib.gan.eval.add_gan_model_summaries(model)``
    """
    if isinstance(gan_model, CycleGANModel):
        for name, model in (("cyclegan_x2y", gan_model.model_x2y), ("cyclegan_y2x", gan_model.model_y2x)):
            with name_scope(f"{name}_summaries"):
                add_gan_model_summaries(model)
        return
    with name_scope("generator_variables"):
        for variable in gan_model.generator_variables:
            summary.histogram(variable.op.name, variable)
    with name_scope("discriminator_variables"):
        for variable in gan_model.discriminator_variables:
            summary.histogram(variable.op.name, variable)
    with name_scope("discriminator_outputs"):
        summary.scalar("mean_on_real", reduction.reduce_mean(gan_model.discriminator_real_outputs))
        summary.scalar("mean_on_generated", reduction.reduce_mean(gan_model.discriminator_gen_outputs))
