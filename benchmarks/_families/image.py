"""Pictures: resizing, cropping, colours, boxes, files."""

import numpy as np

from benchmarks._families.case import add, integers, read

R = "image resize and crop"
PICTURES = ((1, 32, 32, 3), (4, 64, 64, 3), (8, 224, 224, 3))


def _picture(shape, r):
    return (r.rand(*shape).astype(np.float32),)


def _resized(kind, **options):
    def build(tf, x):
        size = [x.shape[1].value * 3 // 2, x.shape[2].value * 3 // 2]
        return getattr(tf.image, f"resize_{kind}")(x, size, **options)

    return build


add(R, "ResizeBilinear", _resized("bilinear"), _picture, PICTURES, gradient=True)
add(R, "ResizeNearestNeighbor", _resized("nearest_neighbor"), _picture, PICTURES, gradient=True)
add(R, "ResizeBicubic", _resized("bicubic"), _picture, PICTURES)
add(R, "ResizeArea", _resized("area"), _picture, PICTURES)
add(R, "CropAndResize", lambda tf, x, b, i: tf.image.crop_and_resize(x, b, i, [14, 14]),
    lambda s, r: (*_picture(s, r), np.sort(r.rand(4 * s[0], 2, 2), 1).reshape(-1, 4).astype(np.float32),
                  integers(r, s[0], 4 * s[0])), PICTURES, gradient=True)  # fmt: skip
add(R, "central_crop, Neg", read(lambda tf, x: tf.image.central_crop(x, 0.5)), _picture, PICTURES)
add(R, "flip_left_right", lambda tf, x: tf.image.flip_left_right(x), _picture, PICTURES)

C = "image colour"
add(C, "RGBToHSV", lambda tf, x: tf.image.rgb_to_hsv(x), _picture, PICTURES)
add(C, "HSVToRGB", lambda tf, x: tf.image.hsv_to_rgb(x), _picture, PICTURES)
add(C, "AdjustContrastv2", lambda tf, x: tf.image.adjust_contrast(x, 1.5), _picture, PICTURES)
add(C, "AdjustHue", lambda tf, x: tf.image.adjust_hue(x, 0.1), _picture, PICTURES, tolerance=1e-3)
add(C, "AdjustSaturation", lambda tf, x: tf.image.adjust_saturation(x, 1.5), _picture, PICTURES, tolerance=1e-3)
add(C, "per_image_standardization", lambda tf, x: tf.image.per_image_standardization(x),
    lambda s, r: (_picture(s, r)[0][0],), PICTURES)  # fmt: skip

B = "image boxes and files"


def _boxes(n, r):
    corner, side = r.rand(n, 2), r.rand(n, 2) * 0.2
    return np.concatenate([corner, corner + side], 1).astype(np.float32), r.rand(n).astype(np.float32)


add(B, "NonMaxSuppressionV3", lambda tf, b, s: tf.image.non_max_suppression(b, s, 20, 0.5), _boxes, (32, 256, 4096))
add(B, "DrawBoundingBoxes", lambda tf, x, b: tf.image.draw_bounding_boxes(x, b),
    lambda s, r: (*_picture(s, r), np.sort(r.rand(s[0], 5, 2, 2), 2).reshape(s[0], 5, 4).astype(np.float32)), PICTURES,
    tolerance=1e-3)  # fmt: skip
