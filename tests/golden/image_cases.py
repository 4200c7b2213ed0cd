"""Calls of tf.image, run by real TensorFlow to make image.npz (make_cases.py) and by Headrace to be compared with it.

A case is a function of the module (`tf`) that gives the tensors to fetch; gradients are among them where there are any.
"""

import itertools

import numpy as np

RANDOM = np.random.RandomState(7)
IMAGES = RANDOM.uniform(0, 1, (2, 5, 4, 3)).astype(np.float32)
BYTES = RANDOM.randint(0, 256, (2, 5, 4, 3)).astype(np.uint8)
GREY = RANDOM.randint(0, 256, (6, 7, 1)).astype(np.uint8)
LARGE = RANDOM.uniform(0, 1, (2, 24, 26, 2)).astype(np.float32)
SMOOTH = (np.add.outer(np.arange(17), np.arange(13))[:, :, None] * np.array([3, 5, 7])).astype(np.uint8)
BOXES = np.array([[0.1, 0.1, 0.9, 0.8], [0.0, 0.0, 1.0, 1.0], [-0.2, 0.3, 0.7, 1.4], [0.8, 0.9, 0.2, 0.1]], np.float32)
CORNERS = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 1, 0, 0], [3, 3, 3, 4]], np.float32
)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], np.float32)

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def _with_gradient(tf, x, y, factor=None):
    weights = np.cos(np.arange(np.prod(y.shape.as_list()))).reshape(y.shape.as_list()).astype(np.float32)
    return [y, *tf.gradients(tf.reduce_sum(y * weights), x)]


def _resize(name, size, align_corners, half_pixel_centers, dtype):
    def run(tf):
        images = IMAGES.astype(dtype) if dtype != "uint8" else BYTES
        x = tf.constant(images)
        options = {} if name == "resize_area" else {"half_pixel_centers": half_pixel_centers}
        y = getattr(tf.image, name)(x, size, align_corners=align_corners, **options)
        return _with_gradient(tf, x, y) if dtype != "uint8" and name != "resize_area" else [y]

    return run


for _name, _size, (_align, _half) in itertools.product(
    ["resize_bilinear", "resize_nearest_neighbor", "resize_bicubic", "resize_area"],
    [(7, 9), (3, 2), (5, 8), (1, 1), (10, 8)],
    [(False, False), (True, False), (False, True)],
):
    if _name != "resize_area" or not _half:
        CASES[f"{_name}_{_size}_{_align}_{_half}"] = _resize(_name, _size, _align, _half, "float32")
for _name in ("resize_bilinear", "resize_nearest_neighbor", "resize_bicubic", "resize_area"):
    CASES[f"{_name}_uint8"] = _resize(_name, (7, 3), False, False, "uint8")
CASES["resize_bilinear_float64"] = _resize("resize_bilinear", (3, 7), False, False, "float64")


@case
def resize_images(tf):
    one = tf.image.resize_images(IMAGES[0], [3, 7], tf.image.ResizeMethod.NEAREST_NEIGHBOR)
    area = tf.image.resize_images(BYTES, [4, 4], tf.image.ResizeMethod.AREA)
    return [
        one,
        area,
        tf.image.resize_images(BYTES, [5, 4]),
        tf.image.resize_images(IMAGES, [20, 9], preserve_aspect_ratio=True),
    ]


@case
def resize_with_pad(tf):
    return [tf.image.resize_image_with_pad(IMAGES, 9, 9), tf.image.resize_image_with_pad(IMAGES[0], 3, 8)]


@case
def crop_or_pad(tf):
    sizes = [(3, 3), (8, 9), (3, 9), (7, 2), (5, 4), (2, 2)]
    return [tf.image.resize_image_with_crop_or_pad(IMAGES[0], *size) for size in sizes]


@case
def boxes(tf):
    return [
        tf.image.crop_to_bounding_box(IMAGES, 1, 2, 3, 2), tf.image.pad_to_bounding_box(BYTES, 1, 2, 7, 8),
        tf.image.central_crop(LARGE, 0.5), tf.image.central_crop(IMAGES[0], 0.7), tf.image.central_crop(IMAGES, 1.0),
    ]  # fmt: skip


def _crop(method, size, value):
    def run(tf):
        images, where = tf.constant(IMAGES), tf.constant(BOXES)
        y = tf.image.crop_and_resize(images, where, [0, 1, 1, 0], size, method, value)
        return _with_gradient(tf, [images, where] if method == "bilinear" else [images], y)

    return run


CASES["crop_and_resize"] = _crop("bilinear", [3, 4], 0)
CASES["crop_and_resize_value"] = _crop("bilinear", [2, 5], 0.5)
CASES["crop_and_resize_one"] = _crop("bilinear", [1, 3], 0)
CASES["crop_and_resize_nearest"] = _crop("nearest", [3, 4], 0)


@case
def turns(tf):
    return [
        tf.image.flip_left_right(IMAGES), tf.image.flip_up_down(IMAGES[0]), tf.image.transpose_image(IMAGES),
        *[tf.image.rot90(IMAGES[0], k) for k in range(5)], tf.image.rot90(IMAGES, 3),
    ]  # fmt: skip


@case
def conversion(tf):
    image = tf.image
    return [
        image.convert_image_dtype(BYTES, tf.float32), image.convert_image_dtype(IMAGES, tf.uint8),
        image.convert_image_dtype(IMAGES * 3 - 1, tf.uint8, saturate=True), image.convert_image_dtype(BYTES, tf.int32),
        image.convert_image_dtype((BYTES.astype(np.int16) * 100), tf.uint8), image.convert_image_dtype(IMAGES, tf.float64),
        image.convert_image_dtype(BYTES, tf.int8, saturate=True),
    ]  # fmt: skip


@case
def colors(tf):
    image = tf.image
    found = [image.rgb_to_grayscale(IMAGES), image.rgb_to_grayscale(BYTES), image.grayscale_to_rgb(tf.constant(GREY))]
    found += [image.rgb_to_hsv(IMAGES), image.hsv_to_rgb(IMAGES), image.rgb_to_hsv(BYTES.astype(np.float64) / 255)]
    found += [image.rgb_to_hsv(np.array([[[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]], np.float32))]
    found += [image.rgb_to_yiq(IMAGES), image.yiq_to_rgb(IMAGES), image.rgb_to_yuv(IMAGES), image.yuv_to_rgb(IMAGES)]
    return found


@case
def adjustments(tf):
    image = tf.image
    found = []
    for images in (IMAGES, BYTES, IMAGES[0]):
        found += [image.adjust_brightness(images, 0.2), image.adjust_brightness(images, -0.3)]
        found += [image.adjust_contrast(images, 1.7), image.adjust_hue(images, 0.3), image.adjust_hue(images, -0.4)]
        found += [image.adjust_saturation(images, 0.4), image.adjust_saturation(images, 2.5)]
        found += [image.adjust_gamma(images, 1.5, 0.9)]
    return found


@case
def standardization(tf):
    flat = np.full((3, 3, 1), 4.0, np.float32)
    return [tf.image.per_image_standardization(x) for x in (IMAGES, BYTES[0], flat)]


@case
def drawing(tf):
    where = np.stack([BOXES[:3], BOXES[1:]])
    return [
        tf.image.draw_bounding_boxes(LARGE[..., :1], where),
        tf.image.draw_bounding_boxes(np.concatenate([LARGE, LARGE[..., :1]], 3), where),
        tf.image.draw_bounding_boxes(
            np.concatenate([LARGE, LARGE], 3), where, colors=[[0.1, 0.2, 0.3, 0.4], [0.9, 0.8, 0.7, 0.6]]
        ),
    ]


@case
def suppression(tf):
    image = tf.image
    found = [image.non_max_suppression(CORNERS, SCORES, 4), image.non_max_suppression(CORNERS, SCORES, 2)]
    found += [
        image.non_max_suppression(CORNERS, SCORES, 6, 0.9),
        image.non_max_suppression(CORNERS, SCORES, 6, 0.5, 0.7),
    ]
    found += list(image.non_max_suppression_padded(CORNERS[:4], SCORES[:4], 5, pad_to_max_output_size=True))
    found += list(image.non_max_suppression_with_scores(CORNERS, SCORES, 6, 1.0, 0.0, 0.5))
    overlaps = np.abs(np.sin(np.add.outer(np.arange(6.0), np.arange(6.0)))).astype(np.float32)
    return [*found, image.non_max_suppression_overlaps(overlaps, SCORES, 6, 0.6)]


@case
def quality(tf):
    other = (LARGE * 0.8 + 0.1).astype(np.float32)
    large = np.tile(LARGE, (1, 8, 8, 1))
    return [
        tf.image.psnr(LARGE, other, 1.0), tf.image.psnr(BYTES, BYTES[::-1].copy(), 255), tf.image.ssim(LARGE, other, 1.0),
        tf.image.ssim(LARGE, other, 1.0, filter_size=5), tf.image.ssim_multiscale(large, large * 0.7, 1.0),
        *[tf.image.total_variation(tf.constant(x)) for x in (IMAGES, IMAGES[0])], *tf.image.image_gradients(tf.constant(IMAGES)),
        tf.image.sobel_edges(tf.constant(IMAGES)),
    ]  # fmt: skip


@case
def png(tf):
    rgba = np.concatenate([BYTES[0], BYTES[1, ..., :1]], 2)
    wide = (GREY.astype(np.uint16) * 200) + 7
    found = []
    for pixels in (GREY, BYTES[0], rgba):
        contents = tf.image.encode_png(pixels)
        found += [tf.image.decode_png(contents), tf.image.decode_png(contents, 3), tf.image.decode_image(contents)]
    found += [
        tf.image.decode_png(tf.image.encode_png(wide), dtype=tf.uint16),
        tf.image.decode_png(tf.image.encode_png(GREY), 4),
    ]
    found += [
        tf.image.decode_png(tf.image.encode_png(GREY), dtype=tf.uint16),
        tf.image.decode_png(tf.image.encode_png(wide)),
    ]
    return found
