"""Images as files: reading and writing PNG, JPEG, GIF and BMP (``tf.image``).  Needs Pillow when the graph runs."""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.graph import raw_ops
from headrace.graph.convert import convert_to_tensor
from headrace.graph.operation import Tensor
from headrace.library.image.color import convert_image_dtype
from headrace.library.numeric.random import random_uniform
from headrace.library.scope import name_scope


def decode_png(contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None) -> Tensor:
    """The pixels of a PNG file's bytes: [height, width, channels]."""
    return raw_ops.DecodePng(contents, channels=channels, dtype=dtype, name=name)


def decode_jpeg(
    contents: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False,
    acceptable_fraction: float = 1, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The pixels of a JPEG file's bytes: [height, width, channels], uint8."""
    return raw_ops.DecodeJpeg(
        contents, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method, name=name,
    )  # fmt: skip


def decode_and_crop_jpeg(
    contents: Any, crop_window: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """A window [y, x, height, width] of a JPEG file's pixels."""
    return raw_ops.DecodeAndCropJpeg(
        contents, crop_window, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method, name=name,
    )  # fmt: skip


def extract_jpeg_shape(contents: Any, output_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """[height, width, channels] of a JPEG file's bytes, without decoding them."""
    return raw_ops.ExtractJpegShape(contents, output_type=output_type, name=name)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """The frames of a GIF file's bytes: [frames, height, width, 3], uint8."""
    return raw_ops.DecodeGif(contents, name=name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file's bytes: [height, width, channels], uint8."""
    return raw_ops.DecodeBmp(contents, channels=channels, name=name)


def decode_image(
    contents: Any, channels: int | None = None, dtype: Any = dtypes.uint8, name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:  # fmt: skip
    """The pixels of a JPEG, PNG, GIF or BMP file's bytes.

    A GIF gives [frames, height, width, 3], or only its first frame if `expand_animations` is False.
    """
    with name_scope(name, "decode_image", [contents]) as scope:
        channels = 0 if channels is None else channels
        if channels not in (0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        dtype = dtypes.as_dtype(dtype)
        plain = dtype if dtype in (dtypes.uint8, dtypes.uint16, dtypes.float32) else dtypes.uint8
        options = {"channels": channels, "expand_animations": expand_animations}
        decoded = raw_ops.DecodeImage(contents, **options, dtype=plain, name=scope if plain == dtype else None)
        return decoded if plain == dtype else convert_image_dtype(decoded, dtype, name=scope)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether bytes begin as a JPEG file does."""
    with name_scope(name, "is_jpeg"):
        start = raw_ops.Substr(contents, 0, 3)
        return raw_ops.Equal(start, convert_to_tensor(b"\xff\xd8\xff"), name=name)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """The bytes of a PNG file of an image, uint8 or uint16."""
    return raw_ops.EncodePng(image, compression=compression, name=name)


def encode_jpeg(
    image: Any, format: str = "", quality: int = 95, progressive: bool = False, optimize_size: bool = False,
    chroma_downsampling: bool = True, density_unit: str = "in", x_density: int = 300, y_density: int = 300,
    xmp_metadata: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The bytes of a JPEG file of an image, uint8."""
    return raw_ops.EncodeJpeg(
        image, format=format, quality=quality, progressive=progressive, optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling, density_unit=density_unit, x_density=x_density, y_density=y_density,
        xmp_metadata=xmp_metadata, name=name,
    )  # fmt: skip


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """An image as it looks after being written as a JPEG file of a quality, 0 to 100, and read again."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        have = image.dtype.base_dtype
        whole = convert_image_dtype(image, dtypes.uint8)
        contents = raw_ops.EncodeJpegVariableQuality(whole, convert_to_tensor(jpeg_quality, dtypes.int32))
        decoded = decode_jpeg(contents, channels=image.shape.as_list()[-1] or 0)
        decoded.set_shape(image.shape)
        return convert_image_dtype(decoded, have, saturate=True)


def random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None) -> Tensor:
    """`adjust_jpeg_quality` by a number drawn from [min_jpeg_quality, max_jpeg_quality)."""
    if not 0 <= min_jpeg_quality <= 100 or not 0 <= max_jpeg_quality <= 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    drawn = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, drawn)
