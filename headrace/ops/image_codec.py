"""Images as files: PNG, JPEG, GIF and BMP, by Pillow, which is imported when the first image is read or written."""

from __future__ import annotations

import io
import struct
import sys
import warnings

import numpy as np

from headrace.core import dtypes
from headrace.core.file_limits import check_image
from headrace.core.registry import op
from headrace.ops.shared.gif import gif_size
from headrace.ops.shared.jpeg import jpeg_size, rgb_pixels
from headrace.ops.shared.png import pillow, png_bytes
from headrace.ops.shared.wide_png import is_wide, read_wide, write_wide
from headrace.resources.calling.value import from_numpy, to_numpy

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_BLOCK = 1 << 18  # pixels whose brightness is computed together
_DAMAGED = (OSError, SyntaxError, ValueError, IndexError, EOFError, struct.error)  # what Pillow says of damaged files
_FORMATS = ((b"\xff\xd8\xff", "jpeg"), (b"\x89PNG\r\n\x1a\n", "png"), (b"GIF8", "gif"), (b"BM", "bmp"))


def format_of(data: bytes) -> str:
    """jpeg, png, gif or bmp, by the first bytes; empty if none of them."""
    return next((format for start, format in _FORMATS if data.startswith(start)), "")


def _bytes(contents) -> bytes:
    array = np.asarray(contents, dtype=object)
    if array.ndim:
        raise ValueError(f"contents must be a scalar string, got shape {list(array.shape)}")
    return array.item()


def _opened(contents, accepted):
    data = _bytes(contents)
    format = format_of(data)
    if format not in accepted:
        what = format.upper() or f"not an image: {data[:16]!r}" if data else "empty"
        raise ValueError(f"expected {' or '.join(a.upper() for a in accepted)} data, but the contents are {what}")
    try:
        image = pillow().open(io.BytesIO(data), formats=[format])
    except (*_DAMAGED, pillow().DecompressionBombError) as error:
        raise ValueError(f"invalid {format.upper()} data, size {len(data)}: {error}") from None
    if format == "gif":
        frames, rows, columns = gif_size(data)
        check_image(max(rows, image.height), max(columns, image.width), 3)
        image.info["frames"] = frames
    else:
        check_image(image.height, image.width, _natural(image))
    return image, format


def _loaded(image, format):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image.load()
    except _DAMAGED as error:
        raise ValueError(f"invalid {format.upper()} data: {error}") from None
    return image


def _natural(image) -> int:
    """The number of channels of an image as it is."""
    if image.mode == "P":
        return 4 if "transparency" in image.info else 3
    if image.mode in ("1", "L", "I", "I;16", "I;16B", "F"):
        return 1
    return {"LA": 2, "RGBA": 4}.get(image.mode, 3)


def _decoded(contents, accepted, channels: int, wide: bool) -> np.ndarray:
    """[rows, columns, channels], uint8 or, if `wide`, uint16."""
    data = _bytes(contents)
    if is_wide(data) and "png" in accepted:
        return _wide_pixels(data, channels, wide)
    image, format = _opened(contents, accepted)
    return _pixels(_loaded(image, format), channels, wide)


def _wide_pixels(data: bytes, channels: int, wide: bool) -> np.ndarray:
    """The pixels of a PNG file with several channels of 16 bits."""
    try:
        pixels = read_wide(data)
    except ValueError as error:
        raise ValueError(f"invalid PNG data, size {len(data)}: {error}") from None
    natural = pixels.shape[2]
    channels = channels or natural
    rows, columns = pixels.shape[:2]
    check_image(rows, columns, channels)
    if channels == 1 and natural > 2:
        pixels = _wide_grey(pixels[..., :3])
    elif channels != natural:
        colours = pixels[..., :3] if natural > 2 else pixels[..., :1].repeat(min(channels, 3), -1)
        alpha = pixels[..., -1:] if natural in (2, 4) else np.full_like(pixels[..., :1], 65535)
        pixels = np.concatenate([colours, alpha], -1) if channels == 4 else colours
    return pixels if wide else (pixels >> 8).astype(np.uint8)


def _pixels(image, channels: int, wide: bool) -> np.ndarray:
    """[rows, columns, channels], uint8 or, if `wide`, uint16."""
    channels = channels or _natural(image)
    check_image(image.height, image.width, channels)
    if image.mode.startswith("I"):
        grey = np.asarray(image, dtype=np.uint16)
        grey = grey if wide else (grey >> 8).astype(np.uint8)
        full = np.full_like(grey, 65535 if wide else 255)
        return np.stack([grey, full] if channels == 2 else [grey] * min(channels, 3) + [full] * (channels == 4), -1)
    if channels == 1 and image.format == "PNG" and image.mode in ("RGB", "RGBA", "P"):
        return _grey(np.asarray(image.convert("RGB")), wide)
    if image.mode != _MODES[channels]:
        image = image.convert(_MODES[channels])
    array = np.asarray(image)
    array = array.reshape(*array.shape[:2], channels)
    return array.astype(np.uint16) * 257 if wide else array


def _grey(colours: np.ndarray, wide: bool) -> np.ndarray:
    """The brightness of each pixel as libpng gives it: weights in 32768ths, the rest cut off."""
    grey = _weighted(colours, 0, np.uint8)
    return grey.astype(np.uint16) * 257 if wide else grey


def _wide_grey(colours: np.ndarray) -> np.ndarray:
    """The brightness of each pixel of 16 bits as libpng gives it, rounded."""
    return _weighted(colours, 16384, np.uint16)


def _weighted(colours: np.ndarray, added: int, dtype: type) -> np.ndarray:
    """The brightness, some rows at a time: it is computed with numbers of 64 bits."""
    rows, columns = colours.shape[:2]
    grey: np.ndarray = np.empty((rows, columns, 1), dtype)
    step = max(_BLOCK // max(columns, 1), 1)
    for at in range(0, rows, step):
        weighted = colours[at : at + step].astype(np.int64) @ np.array([[9797], [19234], [3737]])
        grey[at : at + step] = (weighted + added) >> 15
    return grey


def _owned(array):
    return from_numpy(array if array.base is None else np.array(array, order="C"))


def _plane(channels):
    return (None, None, channels or None)


def _check_channels(channels, accepted):
    if channels not in accepted:
        raise ValueError(f"channels must be one of {', '.join(map(str, accepted))}, got {channels}")


_PNG = (dtypes.uint8, dtypes.uint16)

decode_png = op(
    "DecodePng(contents: string[0]; channels: int = 0, dtype: type = uint8) -> (image: dtype)",
    dtype=_PNG, host=True, dynamic_shape=True,
)  # fmt: skip
decode_png.not_differentiable()


@decode_png.shape
def _(contents, channels, dtype):
    contents.with_rank(0)
    _check_channels(channels, (0, 1, 3, 4))
    return _plane(channels)


def _is_wide(dtype) -> bool:
    return str(dtype).endswith("uint16")


@decode_png.kernel
def _(contents, channels, dtype):
    return _owned(_decoded(contents, ("png", "jpeg", "gif"), channels, _is_wide(dtype)))


_JPEG = (
    "channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False, "
    'acceptable_fraction: float = 1.0, dct_method: string = ""'
)
decode_jpeg = op(f"DecodeJpeg(contents: string[0]; {_JPEG}) -> (image: uint8)", host=True, dynamic_shape=True)
decode_jpeg.not_differentiable()


def _check_jpeg(channels, ratio):
    _check_channels(channels, (0, 1, 3))
    if ratio not in (1, 2, 4, 8):
        raise ValueError(f"ratio must be 1, 2, 4, or 8, got {ratio}")


@decode_jpeg.shape
def _(contents, channels, ratio, *rest):
    contents.with_rank(0)
    _check_jpeg(channels, ratio)
    return _plane(channels)


def _jpeg(contents, channels, ratio, recover, window=None):
    """The pixels, or those in the ``window`` (row, column, rows, columns)."""
    if is_wide(data := _bytes(contents)):
        return _part(_wide_pixels(data, channels, False), window)
    image, format = None, "jpeg"
    if ratio == 1 and channels != 1 and (size := _plain_size(data)) is not None:
        pixels = rgb_pixels(data)
        if pixels is not None:
            return _part(pixels, window)
        image = _plain_jpeg(data, size)
    if image is None:
        image, format = _read_jpeg(contents, channels, ratio, recover)
    if window is not None and format == "jpeg":  # of the others only the whole says how it becomes grey
        y, x, rows, columns = _checked(window, (image.height, image.width))
        image, window = image.crop((x, y, x + columns, y + rows)), None
    return _part(_pixels(image, channels, False), window)


def _plain_size(data):
    """The rows and columns of a JPEG file with three components, of which no reader would warn; None of any other file."""
    size = jpeg_size(data) if format_of(data) == "jpeg" else None
    most = pillow().MAX_IMAGE_PIXELS
    if size is None or size[2] != 3 or (most is not None and size[0] * size[1] > most):
        return None
    check_image(*size)
    return size[:2]


def _plain_jpeg(data, size):
    """A whole file with three components, decoded without Pillow's reader; None of any other.

    That reader is written in Python, and takes a fifth of the time of a small image.
    """
    try:
        return pillow().frombytes("RGB", size[::-1], data, "jpeg", "RGB", "")
    except _DAMAGED:  # the reader says what is wrong
        return None


def _read_jpeg(contents, channels, ratio, recover):
    """An image, by Pillow's readers, and its format."""
    image, format = _opened(contents, ("jpeg", "png", "gif"))
    if format == "jpeg":
        mode = _MODES.get(channels) if image.mode in ("L", "RGB", "YCbCr") else None
        size = tuple(max(n // ratio, 1) for n in image.size)
        if ratio > 1 or (mode == "L" and image.mode != "L"):
            image.draft(mode or image.mode, size)
    return _recovered(image) if recover else _loaded(image, format), format


def _checked(window, size):
    y, x, rows, columns = window
    if min(y, x) < 0 or min(rows, columns) <= 0 or y + rows > size[0] or x + columns > size[1]:
        raise ValueError(f"Invalid JPEG data or crop window {window} for an image of {size}")
    return window


def _part(pixels, window):
    if window is None:
        return pixels
    y, x, rows, columns = _checked(window, pixels.shape[:2])
    return pixels[y : y + rows, x : x + columns]


def _recovered(image):
    from PIL import ImageFile

    before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, True
    try:
        return _loaded(image, "jpeg")
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


@decode_jpeg.kernel
def _(contents, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method):
    return _owned(_jpeg(contents, channels, ratio, try_recover_truncated))


crop_jpeg = op(
    f"DecodeAndCropJpeg(contents: string[0], crop_window: host int32[1]; {_JPEG}) -> (image: uint8)",
    host=True, dynamic_shape=True,
)  # fmt: skip
crop_jpeg.not_differentiable()


@crop_jpeg.shape
def _(contents, crop_window, channels, ratio, *rest):
    contents.with_rank(0)
    _check_jpeg(channels, ratio)
    if crop_window is not None and len(crop_window) != 4:
        raise ValueError(f"crop_window must have four elements, got {crop_window}")
    rows, columns = (None, None) if crop_window is None else crop_window[2:]
    return (rows, columns, channels or None)


@crop_jpeg.kernel
def _(contents, crop_window, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method):
    return _owned(_jpeg(contents, channels, ratio, try_recover_truncated, crop_window))


jpeg_shape = op(
    "ExtractJpegShape(contents: string[0]; output_type: type = int32) -> (image_shape: output_type)",
    output_type=dtypes.INDEX, host=True,
)  # fmt: skip
jpeg_shape.not_differentiable()
jpeg_shape.shape(lambda contents, output_type: (3,))


@jpeg_shape.kernel
def _(contents, output_type):
    image, _ = _opened(contents, ("jpeg",))
    return _owned(np.array([image.height, image.width, len(image.getbands())])).to(output_type)


decode_gif = op("DecodeGif(contents: string[0]) -> (image: uint8)", host=True, dynamic_shape=True)
decode_gif.not_differentiable()
decode_gif.shape(lambda contents: (None, None, None, 3))


def _frames(image, most=None):
    """The frames of a GIF, or as many as ``most`` of them."""
    check_image(image.height, image.width, 3, most or image.info["frames"])
    try:
        count = min(getattr(image, "n_frames", 1), most or sys.maxsize)
        frames = np.empty((count, image.height, image.width, 3), np.uint8)
        for number in range(count):
            image.seek(number)
            pixels = np.asarray(_loaded(image, "gif").convert("RGB"))
            frames[number] = pixels[: frames.shape[1], : frames.shape[2]]  # one may be larger than the whole
    except _DAMAGED as error:
        raise error if "invalid GIF data" in str(error) else ValueError(f"invalid GIF data: {error}") from None
    return frames


@decode_gif.kernel
def _(contents):
    image, format = _opened(contents, ("gif", "png", "jpeg"))
    return _owned(_frames(image) if format == "gif" else _pixels(_loaded(image, format), 3, False)[None])


decode_bmp = op("DecodeBmp(contents: string[0]; channels: int = 0) -> (image: uint8)", host=True, dynamic_shape=True)
decode_bmp.not_differentiable()


@decode_bmp.shape
def _(contents, channels):
    contents.with_rank(0)
    _check_channels(channels, (0, 1, 3, 4))
    return _plane(channels)


@decode_bmp.kernel
def _(contents, channels):
    image, format = _opened(contents, ("bmp",))
    natural = _natural(image)
    if channels not in (0, natural):
        raise ValueError(f"channels attribute {channels} does not match bits per pixel from file {natural}")
    return _owned(_pixels(_loaded(image, format), channels, False))


decode_any = op(
    "DecodeImage(contents: string[0]; channels: int = 0, dtype: type = uint8, expand_animations: bool = True) "
    "-> (image: dtype)",
    dtype=(dtypes.uint8, dtypes.uint16, dtypes.float32), host=True, dynamic_shape=True,
)  # fmt: skip
decode_any.not_differentiable()


@decode_any.shape
def _(contents, channels, dtype, expand_animations):
    contents.with_rank(0)
    _check_channels(channels, (0, 1, 3, 4))
    return None if expand_animations else _plane(channels)


@decode_any.kernel
def _(contents, channels, dtype, expand_animations):
    accepted = ("jpeg", "png", "gif", "bmp")
    if format_of(_bytes(contents)) == "gif":
        if channels not in (0, 3):
            raise ValueError(f"channels must be 0 or 3 for a GIF, got {channels}")
        frames = _frames(_opened(contents, accepted)[0], None if expand_animations else 1)
        pixels = frames if expand_animations else frames[0]
    else:
        is_fine = not str(dtype).endswith("uint8") and format_of(_bytes(contents)) == "png"
        pixels = _decoded(contents, accepted, channels, is_fine)
    if str(dtype).endswith("float32"):
        return _owned(pixels.astype(np.float32) / (65535 if pixels.dtype == np.uint16 else 255))
    if _is_wide(dtype) and pixels.dtype != np.uint16:
        pixels = pixels.astype(np.uint16) * 257
    return _owned(pixels)


encode_png = op("EncodePng(image: T[3+]; compression: int = -1) -> (contents: string)", T=_PNG, host=True)
encode_png.not_differentiable()


@encode_png.shape
def _(image, compression):
    if image.with_rank(3).tuple[2] not in (None, 1, 2, 3, 4):
        raise ValueError(f"image must have 1, 2, 3, or 4 channels, got {image}")
    if not -1 <= compression <= 9:
        raise ValueError(f"compression should be in [-1,9], got {compression}")
    return ()


def _string(data: bytes):
    scalar = np.empty((), object)
    scalar[()] = data
    return scalar


@encode_png.kernel
def _(image, compression):
    array = to_numpy(image)
    if array.shape[2] not in _MODES:
        raise ValueError(f"image must have 1, 2, 3, or 4 channels, got {list(array.shape)}")
    if array.dtype == np.uint16 and array.shape[2] > 1:
        return _string(write_wide(array, compression))
    return _string(png_bytes(array, compression))


encode_jpeg = op(
    'EncodeJpeg(image: uint8[3]; format: string in {, grayscale, rgb} = "", quality: int = 95, progressive: bool = False, '
    'optimize_size: bool = False, chroma_downsampling: bool = True, density_unit: string in {in, cm} = "in", '
    'x_density: int = 300, y_density: int = 300, xmp_metadata: string = "") -> (contents: string)',
    host=True,
)
encode_jpeg.not_differentiable()


def _save_jpeg(array, format, quality, density, **options):
    channels = array.shape[2]
    if channels not in (1, 3) or format not in ("", "grayscale", "rgb") or not 0 <= quality <= 100:
        raise ValueError(
            f"an image of 1 or 3 channels, format '', 'grayscale' or 'rgb' and quality 0 to 100 are accepted, got "
            f"{list(array.shape)}, {format!r} and {quality}"
        )
    if format and channels != {"grayscale": 1, "rgb": 3}[format]:
        raise ValueError(f"format {format!r} expects {4 - channels} channels, got {channels}")
    if 0 in array.shape or max(array.shape) >= 1 << 16:
        raise ValueError(f"image must have between 1 and 65535 rows and columns, got shape {list(array.shape)}")
    if not all(0 <= n < 1 << 16 for n in density[1:]):
        raise ValueError(f"x_density and y_density must be in [0, 65535], got {density[1]} and {density[2]}")
    picture = pillow().fromarray(np.ascontiguousarray(array[:, :, 0] if channels == 1 else array))
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=max(quality, 1), dpi=(1, 1), **options)
    data = written.getvalue()
    unit, x_density, y_density = density
    # The density is in the JFIF header, which comes first.  Pillow knows inches only.
    return _string(data[:13] + struct.pack(">BHH", unit, x_density, y_density) + data[18:])


@encode_jpeg.shape
def _(image, *attrs):
    if image.with_rank(3).tuple[2] not in (None, 1, 3):
        raise ValueError(f"image must have 1 or 3 channels, got {image}")
    return ()


@encode_jpeg.kernel
def _(
    image, format, quality, progressive, optimize_size, chroma_downsampling, density_unit, x_density, y_density,
    xmp_metadata,
):  # fmt: skip
    return _save_jpeg(
        to_numpy(image), format, quality, (2 if density_unit == "cm" else 1, x_density, y_density),
        progressive=progressive, optimize=optimize_size, subsampling=2 if chroma_downsampling else 0,
        **({"xmp": xmp_metadata.encode()} if xmp_metadata else {}),
    )  # fmt: skip


encode_jpeg_at = op(
    "EncodeJpegVariableQuality(images: uint8[3], quality: host int32[0]) -> (contents: string)", host=True
)
encode_jpeg_at.not_differentiable()
encode_jpeg_at.shape(lambda images, quality: ())
encode_jpeg_at.kernel(lambda images, quality: _save_jpeg(to_numpy(images), "", quality, (1, 300, 300), subsampling=2))
