"""Samples for images: resizing, boxes, colours and files."""

import base64

import numpy as np
from sample_forms import plain

from headrace.core import dtypes
from headrace.library.testing.opcheck import Sample

A = ((np.arange(24) * 11 % 23 + 4) / 32).reshape(1, 4, 3, 2).astype(np.float32)
B = ((np.arange(24) * 7 % 29 + 2) / 32).reshape(2, 2, 2, 3)
I = np.arange(12, dtype=np.uint8).reshape(1, 3, 4, 1)  # noqa: E741
RGB = np.array(
    [[[0.1, 0.5, 0.9], [0.7, 0.2, 0.4], [0.3, 0.8, 0.6]], [[0.9, 0.1, 0.3], [0.2, 0.6, 0.5], [0.4, 0.3, 0.8]]],
    np.float32,
)
BOXES = np.array([[0.11, 0.13, 0.83, 0.81], [-0.3, 0.2, 0.62, 1.4]], np.float32)
CORNERS = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11], [1, 1, 0, 0]], np.float32)
SCORES = np.array([0.9, 0.75, 0.6, 0.95], np.float32)
CORNERS_ALIGNED = {"align_corners": True}
HALF = {"half_pixel_centers": True}
FLOAT32 = {"rtol": 1e-2, "atol": 1e-2}  # the arithmetic is float32 whatever the input, so differences are coarse

# A red and a blue pixel: 2 x 1, as each kind of file.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR4nGP4z8DAwPAfAAcAAf9+CLHQAAAAAElFTkSuQmCC"
)
GIF = base64.b64decode("R0lGODdhAgABAIEAAP8AAAAA/wAAAAAAACwAAAAAAgABAAAIBQABBAgIADs=")
BMP = (
    b"BM"
    + b"".join(n.to_bytes(4, "little") for n in (62, 0, 54, 40, 2, 1))
    + bytes([1, 0, 24, 0])
    + bytes(24)
    + bytes([0, 0, 255, 255, 0, 0, 0, 0])
)


def _jpeg() -> bytes:
    text = (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAKBueIx4ZKCMgoy0qqC+8P//8Nzc8P//////////////////////////////////////////////"
        "////////////2wBDAaq0tPDS8P//////////////////////////////////////////////////////////////////////////////wAAR"
        "CAABAAIDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAP/xAAWEAEBAQAAAAAAAAAAAAAAAAAAATH/xAAVAQEBAAAAAAAAAAAAAAAA"
        "AAABA//EABURAQEAAAAAAAAAAAAAAAAAAAAB/9oADAMBAAIRAxEAPwCV0BWCv//Z"
    )
    return base64.b64decode(text)


def _resizes(area: bool = False):
    attrs = ({}, CORNERS_ALIGNED) if area else ({}, CORNERS_ALIGNED, HALF)
    found = [Sample((A, [5, 2]), a, gradient=not area, **FLOAT32) for a in attrs]
    found += [Sample((A, [1, 1]), {}, gradient=False), plain(I, [2, 5]), plain(B, [3, 3])]
    found += [plain(np.zeros((0, 2, 3, 1), np.float32), [4, 4]), plain(I.astype(np.uint16), [2, 2])]
    return [*found, Sample((A[0], [2, 2]), error=ValueError), Sample((A, [0, 2]), error=ValueError)]


def _grads(dtype=np.float32):
    grads = ((np.arange(20) * 9 % 31 - 15) / 32).reshape(1, 5, 2, 2).astype(np.float32)
    return [Sample((grads, A.astype(dtype)), attrs, wrt=["grads"]) for attrs in ({}, CORNERS_ALIGNED, HALF)]


LIMITS = (np.int32(3), np.float32(0.5), np.float32(-1.0))

SAMPLES = {
    "ResizeBilinear": _resizes(),
    "ResizeBilinearGrad": [*_grads(), *_grads(np.float64)],
    "ResizeNearestNeighbor": _resizes(),
    "ResizeNearestNeighborGrad": [
        Sample((A, [2, 2]), {}),
        Sample((A, [3, 5]), CORNERS_ALIGNED),
        Sample((A, [3, 5]), HALF),
        plain(I.astype(np.int32), [2, 2]),
    ],
    "ResizeBicubic": _resizes(),
    "ResizeBicubicGrad": _grads(),
    "ResizeArea": [
        *_resizes(area=True),
        Sample((A[:, :1], [2, 5]), {"align_corners": True}, gradient=False, note="one row"),
    ],
    "CropAndResize": [
        Sample((A, BOXES, np.array([0, 0], np.int32), [3, 2]), {}, **FLOAT32),
        Sample((A, BOXES, np.array([0, 0], np.int32), [2, 3]), {"extrapolation_value": 0.5}, wrt=["image"], **FLOAT32),
        Sample((A, BOXES, np.array([0, 0], np.int32), [2, 2]), {"method": "nearest"}, wrt=["image"], **FLOAT32),
        Sample((A, BOXES, np.array([0, 0], np.int32), [1, 1]), {}, **FLOAT32),
        plain(I, BOXES[:0], np.array([], np.int32), [2, 2]),
        Sample((A, BOXES, np.array([0], np.int32), [2, 2]), error=ValueError),
        Sample((A, BOXES, np.array([0, 0], np.int32), [2, 2]), {"method": "cubic"}, error=ValueError),
    ],
    "CropAndResizeGradImage": [
        Sample(
            (B.astype(np.float32), BOXES, np.array([0, 1], np.int32), [2, 3, 4, 3]),
            {"T": dtypes.float32},
            wrt=["grads"],
        ),
        Sample(
            (B.astype(np.float32), BOXES, np.array([0, 1], np.int32), [2, 3, 4, 3]),
            {"T": dtypes.float64, "method": "nearest"},
            wrt=["grads"],
        ),
    ],
    "CropAndResizeGradBoxes": [
        Sample((B.astype(np.float32)[..., :2], A, BOXES, np.array([0, 0], np.int32)), {}, wrt=["grads"]),
        plain(B.astype(np.float32)[:, :1, :, :2], A, BOXES, np.array([0, 0], np.int32)),
    ],
    "DrawBoundingBoxes": [
        plain(A[..., :1], BOXES[None]),
        plain(np.zeros((1, 4, 5, 3), np.float32), BOXES[None]),
        plain(A[..., :1], BOXES[None, :0]),
        Sample((A, BOXES[None]), error=ValueError),
    ],
    "DrawBoundingBoxesV2": [
        plain(np.zeros((1, 4, 5, 3), np.float32), BOXES[None], np.array([[0.1, 0.2, 0.3]], np.float32)),
        plain(np.zeros((1, 4, 5, 4), np.float32), BOXES[None], np.eye(4, dtype=np.float32)),
    ],
    "SampleDistortedBoundingBoxV2": [
        Sample(
            ([20, 30, 3], np.array([[[0.1, 0.2, 0.9, 0.8]]], np.float32), np.float32(0.3)),
            {"seed": 3},
            random=True,
            gradient=False,
        ),
        Sample(
            (np.array([20, 30, 3], np.int64), np.zeros((1, 0, 4), np.float32), np.float32(0.1)),
            {"use_image_if_no_bounding_boxes": True},
            random=True,
            gradient=False,
        ),
    ],
    "NonMaxSuppressionV3": [
        plain(CORNERS, SCORES, *LIMITS),
        plain(CORNERS, SCORES, np.int32(1), *LIMITS[1:]),
        plain(CORNERS[:0], SCORES[:0], *LIMITS),
        Sample((CORNERS, SCORES[:2], *LIMITS), error=ValueError),
    ],
    "NonMaxSuppressionV4": [plain(CORNERS, SCORES, *LIMITS, pad_to_max_output_size=pad) for pad in (False, True)],
    "NonMaxSuppressionV5": [
        plain(CORNERS, SCORES, *LIMITS, np.float32(sigma), pad_to_max_output_size=pad)
        for sigma, pad in ((0.0, True), (0.5, False))
    ],
    "NonMaxSuppressionWithOverlaps": [plain(np.eye(4, dtype=np.float32) * 0.4 + 0.2, SCORES, *LIMITS)],
    "RGBToHSV": [
        Sample((RGB,), second=False),
        plain(RGB[0, 0]),
        plain(RGB.astype(np.float64)[0]),
        Sample((A,), error=ValueError),
    ],
    "HSVToRGB": [plain(RGB), plain(RGB[0, 0]), plain(RGB.astype(np.float16)), plain(RGB[:0])],
    "AdjustContrastv2": [
        Sample((RGB, np.float32(1.7))),
        plain(A, np.float32(0.3)),
        Sample((RGB[0], np.float32(1)), error=ValueError),
    ],
    "AdjustHue": [Sample((RGB, np.float32(0.23)), wrt=["images"], second=False), plain(RGB[None], np.float32(-0.4))],
    "AdjustSaturation": [
        Sample((RGB, np.float32(0.7)), wrt=["images"], second=False),
        plain(RGB[None], np.float32(2.5)),
    ],
    "DecodePng": [
        plain(PNG),
        plain(PNG, channels=1),
        plain(PNG, channels=4),
        plain(PNG, dtype=dtypes.uint16),
        Sample((PNG,), {"channels": 2}, error=ValueError),
    ],
    "DecodeJpeg": [plain(_jpeg()), plain(_jpeg(), channels=1), Sample((_jpeg(),), {"ratio": 3}, error=ValueError)],
    "DecodeAndCropJpeg": [plain(_jpeg(), [0, 1, 1, 1])],
    "ExtractJpegShape": [plain(_jpeg()), plain(_jpeg(), output_type=dtypes.int64)],
    "DecodeGif": [plain(GIF), plain(PNG)],
    "DecodeBmp": [plain(BMP), plain(BMP, channels=3)],
    "DecodeImage": [
        plain(PNG),
        plain(GIF),
        plain(BMP),
        plain(_jpeg(), channels=3),
        plain(GIF, expand_animations=False),
        plain(PNG, dtype=dtypes.float32),
        plain(PNG, dtype=dtypes.uint16),
    ],
    "EncodePng": [
        plain(I[0]),
        plain(np.zeros((2, 2, 4), np.uint8), compression=3),
        plain(I[0].astype(np.uint16)),
        Sample((I,), error=ValueError),
        Sample((np.zeros((2, 2, 5), np.uint8),), error=ValueError),
    ],
    "EncodeJpeg": [
        plain(I[0]),
        plain(np.zeros((2, 2, 3), np.uint8), quality=50, progressive=True),
        plain(I[0], format="grayscale", density_unit="cm"),
        Sample((np.zeros((2, 2, 4), np.uint8),), error=ValueError),
    ],
    "EncodeJpegVariableQuality": [plain(I[0], np.int32(60))],
}
