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
    """The pixels of a PNG file's bytes: [height, width, channels].

    Args:
      contents: The bytes of the file, a scalar string; JPEG and GIF files are read too.
      channels: 1 for gray, 2 for gray and opacity, 3 for RGB, 4 for RGBA; 0 takes what the file has.
      dtype: `tf.uint8`, or `tf.uint16` for files of 16 bits a channel.
      name: A name for the op.

    Returns:
      A tensor [height, width, channels] of `dtype`.

    >>> contents = tf.image.encode_png(np.full([2, 3, 1], 7, np.uint8))
    >>> tf.Session().run(tf.image.decode_png(contents)).shape
    (2, 3, 1)
    """
    return raw_ops.DecodePng(contents, channels=channels, dtype=dtype, name=name)


def decode_jpeg(
    contents: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False,
    acceptable_fraction: float = 1, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The pixels of a JPEG file's bytes: [height, width, channels], uint8.

    Args:
      contents: The bytes of the file, a scalar string; PNG and GIF files are read too.
      channels: 1 for gray, 3 for RGB; 0 takes what the file has.
      ratio: How many times smaller the image is decoded: 1, 2, 4 or 8.
      fancy_upscaling: Accepted for TensorFlow's sake; it changes nothing.
      try_recover_truncated: Whether a file that was cut off gives the pixels it has; otherwise that is an error.
      acceptable_fraction: Accepted for TensorFlow's sake; it changes nothing.
      dct_method: Accepted for TensorFlow's sake; it changes nothing.
      name: A name for the op.

    Returns:
      A uint8 tensor [height, width, channels].

    >>> contents = tf.image.encode_jpeg(np.zeros([2, 3, 3], np.uint8))
    >>> tf.Session().run(tf.image.decode_jpeg(contents)).shape
    (2, 3, 3)
    """
    return raw_ops.DecodeJpeg(
        contents, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method, name=name,
    )  # fmt: skip


def decode_and_crop_jpeg(
    contents: Any, crop_window: Any, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
    try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """A window [y, x, height, width] of a JPEG file's pixels.

    Args:
      contents: The bytes of the file, a scalar string; PNG and GIF files are read too.
      crop_window: Four integers, [y, x, height, width], inside the image.
      channels: 1 for gray, 3 for RGB; 0 takes what the file has.
      ratio: How many times smaller the image is decoded: 1, 2, 4 or 8. The window is of the smaller image.
      fancy_upscaling: Accepted for TensorFlow's sake; it changes nothing.
      try_recover_truncated: Whether a file that was cut off gives the pixels it has; otherwise that is an error.
      acceptable_fraction: Accepted for TensorFlow's sake; it changes nothing.
      dct_method: Accepted for TensorFlow's sake; it changes nothing.
      name: A name for the op.

    Returns:
      A uint8 tensor [crop_window[2], crop_window[3], channels].

    >>> contents = tf.image.encode_jpeg(np.zeros([4, 4, 3], np.uint8))
    >>> tf.Session().run(tf.image.decode_and_crop_jpeg(contents, [1, 1, 2, 3])).shape
    (2, 3, 3)
    """
    return raw_ops.DecodeAndCropJpeg(
        contents, crop_window, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=float(acceptable_fraction),
        dct_method=dct_method, name=name,
    )  # fmt: skip


def extract_jpeg_shape(contents: Any, output_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """[height, width, channels] of a JPEG file's bytes, without decoding them.

    Args:
      contents: The bytes of a JPEG file, a scalar string.
      output_type: `tf.int32` or `tf.int64`.
      name: A name for the op.

    Returns:
      A vector of three integers of `output_type`.

    >>> contents = tf.image.encode_jpeg(np.zeros([2, 3, 3], np.uint8))
    >>> tf.Session().run(tf.image.extract_jpeg_shape(contents)).tolist()
    [2, 3, 3]
    """
    return raw_ops.ExtractJpegShape(contents, output_type=output_type, name=name)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """The frames of a GIF file's bytes: [frames, height, width, 3], uint8.

    Args:
      contents: The bytes of the file, a scalar string; a PNG or JPEG file gives one frame.
      name: A name for the op.

    Returns:
      A uint8 tensor [frames, height, width, 3].

    >>> contents = tf.image.encode_png(np.zeros([2, 3, 3], np.uint8))
    >>> tf.Session().run(tf.image.decode_gif(contents)).shape
    (1, 2, 3, 3)
    """
    return raw_ops.DecodeGif(contents, name=name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file's bytes: [height, width, channels], uint8.

    Args:
      contents: The bytes of a BMP file, a scalar string.
      channels: 1, 3 or 4, as many as the file has, or it is an error; 0 takes what the file has.
      name: A name for the op.

    Returns:
      A uint8 tensor [height, width, channels].

    Example: ``tf.image.decode_bmp(tf.read_file("image.bmp"), channels=3)``
    """
    return raw_ops.DecodeBmp(contents, channels=channels, name=name)


def decode_image(
    contents: Any, channels: int | None = None, dtype: Any = dtypes.uint8, name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:  # fmt: skip
    """The pixels of a JPEG, PNG, GIF or BMP file's bytes.

    A GIF gives [frames, height, width, 3], or only its first frame if `expand_animations` is False.

    Args:
      contents: The bytes of the file, a scalar string.
      channels: 1 for gray, 3 for RGB, 4 for RGBA; 0 or None takes what the file has. A GIF takes 0 or 3.
      dtype: The type of the pixels: integers of the full range, or floats from 0 to 1.
      name: A name for the op.
      expand_animations: Whether a GIF gives all its frames. If so, the rank of the result is not known before the
        step.

    Returns:
      A tensor [height, width, channels] of `dtype`, or [frames, height, width, 3] for a GIF.

    >>> contents = tf.image.encode_png(np.full([2, 3, 1], 255, np.uint8))
    >>> tf.Session().run(tf.image.decode_image(contents, dtype=tf.float32)).max()
    np.float32(1.0)
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
    """Whether bytes begin as a JPEG file does.

    Args:
      contents: The bytes of a file, a string tensor.
      name: A name for the op.

    Returns:
      A bool tensor of the shape of `contents`.

    >>> tf.Session().run(tf.image.is_jpeg(tf.image.encode_jpeg(np.zeros([2, 3, 3], np.uint8))))
    np.True_
    """
    with name_scope(name, "is_jpeg"):
        start = raw_ops.Substr(contents, 0, 3)
        return raw_ops.Equal(start, convert_to_tensor(b"\xff\xd8\xff"), name=name)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """The bytes of a PNG file of an image, uint8 or uint16.

    Args:
      image: A uint8 or uint16 tensor [height, width, channels] of 1, 2, 3 or 4 channels.
      compression: From 0, none, to 9, the smallest file; -1 takes the usual one.
      name: A name for the op.

    Returns:
      A scalar string: the bytes of the file.

    >>> tf.Session().run(tf.image.encode_png(np.zeros([2, 3, 3], np.uint8)))[:4]
    b'\\x89PNG'
    """
    return raw_ops.EncodePng(image, compression=compression, name=name)


def encode_jpeg(
    image: Any, format: str = "", quality: int = 95, progressive: bool = False, optimize_size: bool = False,
    chroma_downsampling: bool = True, density_unit: str = "in", x_density: int = 300, y_density: int = 300,
    xmp_metadata: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """The bytes of a JPEG file of an image, uint8.

    Args:
      image: A uint8 tensor [height, width, channels] of 1 or 3 channels.
      format: 'grayscale' or 'rgb', which must fit the channels; '' takes what fits.
      quality: From 0, the smallest file, to 100, the best image.
      progressive: Whether the file shows a coarse image first while it is loaded.
      optimize_size: Whether to spend time on a smaller file of the same pixels.
      chroma_downsampling: Whether colour is stored at half the resolution.
      density_unit: What the densities count in: 'in', pixels per inch, or 'cm', pixels per centimetre.
      x_density: Pixels per unit across, from 0 to 65535; it is only noted in the file.
      y_density: Pixels per unit down, from 0 to 65535; it is only noted in the file.
      xmp_metadata: XMP text to write into the file; '' for none.
      name: A name for the op.

    Returns:
      A scalar string: the bytes of the file.

    >>> tf.Session().run(tf.image.encode_jpeg(np.zeros([2, 3, 3], np.uint8), quality=80))[:3]
    b'\\xff\\xd8\\xff'
    """
    return raw_ops.EncodeJpeg(
        image, format=format, quality=quality, progressive=progressive, optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling, density_unit=density_unit, x_density=x_density, y_density=y_density,
        xmp_metadata=xmp_metadata, name=name,
    )  # fmt: skip


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """An image as it looks after being written as a JPEG file of a quality, 0 to 100, and read again.

    Args:
      image: One image [height, width, channels] of 1 or 3 channels, of any type; floats lie in [0, 1].
      jpeg_quality: The quality, an integer from 0 to 100.
      name: A name for the op.

    Returns:
      The image, of the type and shape of `image`.

    >>> tf.Session().run(tf.image.adjust_jpeg_quality(np.full([8, 8, 3], 128, np.uint8), 50)).shape
    (8, 8, 3)
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        have = image.dtype.base_dtype
        whole = convert_image_dtype(image, dtypes.uint8)
        contents = raw_ops.EncodeJpegVariableQuality(whole, convert_to_tensor(jpeg_quality, dtypes.int32))
        decoded = decode_jpeg(contents, channels=image.shape.as_list()[-1] or 0)
        decoded.set_shape(image.shape)
        return convert_image_dtype(decoded, have, saturate=True)


def random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None) -> Tensor:
    """`adjust_jpeg_quality` by a number drawn from [min_jpeg_quality, max_jpeg_quality).

    Args:
      image: One image [height, width, channels] of 1 or 3 channels, of any type; floats lie in [0, 1].
      min_jpeg_quality: The least quality, from 0 to 100.
      max_jpeg_quality: The bound of the quality, from 0 to 100, above `min_jpeg_quality` and never drawn itself.
      seed: A seed for the quality; None takes it from `tf.set_random_seed`, or draws one.

    Returns:
      The image, of the type and shape of `image`.

    >>> tf.Session().run(tf.image.random_jpeg_quality(np.full([8, 8, 3], 128, np.uint8), 50, 90)).shape
    (8, 8, 3)
    """
    if not 0 <= min_jpeg_quality <= 100 or not 0 <= max_jpeg_quality <= 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    drawn = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, drawn)
