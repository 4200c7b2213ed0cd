"""Samples of dilation, fractional pools, glimpses, projective maps, boxes by class, volumes."""

import numpy as np

from headrace.library.testing.opcheck import Sample

IMAGE = (np.random.RandomState(1).permutation(40).reshape(1, 4, 5, 2) / 7 - 3).astype(np.float32)
FILTER = np.float32([[[0.1, 0.7], [0.33, -0.2]], [[-0.45, 0.05], [0.29, 0.6]]])
_PLAIN = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
_APART = {"strides": [1, 2, 1, 1], "rates": [1, 1, 2, 1], "padding": "VALID"}
_BACK = {"SAME": IMAGE * 0.5, "VALID": IMAGE[:, :2, :3] * 0.5}
_PLACES = np.float32([[[0.3, 0.6], [3.7, 2.2], [-0.4, 1.5], [4.3, 3.2], [9.5, 1.1]]])
_BOXES = np.float32([[0, 0, 0.5, 0.5], [0, 0.1, 0.5, 0.6], [0.6, 0.6, 0.9, 1.2]])
_SCORES = np.float32([0.9, 0.8, 0.7])

SAMPLES: dict[str, list[Sample]] = {
    "Dilation2D": [
        Sample([IMAGE, FILTER], _PLAIN),
        Sample([IMAGE.astype(np.float64), FILTER.astype(np.float64)], _APART),
        Sample([(IMAGE * 9).astype(np.int32), (FILTER * 9).astype(np.int32)], _PLAIN, gradient=False),
        Sample([IMAGE[:0], FILTER], _PLAIN, gradient=False),
        Sample([IMAGE, FILTER[..., :1]], _PLAIN, error=ValueError),
        Sample([IMAGE, FILTER], {**_PLAIN, "rates": [2, 1, 1, 1]}, error=ValueError),
    ],
    "Dilation2DBackpropInput": [Sample([IMAGE, FILTER, _BACK["SAME"]], _PLAIN, wrt=["out_backprop"], second=False)],
    "Dilation2DBackpropFilter": [Sample([IMAGE, FILTER, _BACK["SAME"]], _PLAIN, wrt=["out_backprop"], second=False)],
    "FractionalMaxPool": [
        Sample([IMAGE], {"pooling_ratio": [1.0, 2.0, 1.0, 1.0]}),
        Sample([IMAGE], {"pooling_ratio": [1.0, 1.4, 1.5, 1.0], "seed": 3}, gradient=False, random=True),
        Sample(
            [IMAGE], {"pooling_ratio": [1.0, 1.4, 1.5, 1.0], "pseudo_random": True, "overlapping": True},
            gradient=False, random=True,
        ),
        Sample([(IMAGE * 9).astype(np.int32)], {"pooling_ratio": [1.0, 2.0, 1.0, 1.0]}, gradient=False),
        Sample([IMAGE], {"pooling_ratio": [1.0, 0.5, 1.0, 1.0]}, error=ValueError),
    ],
    "FractionalAvgPool": [
        Sample([IMAGE], {"pooling_ratio": [1.0, 2.0, 1.0, 1.0], "overlapping": True}),
        Sample([IMAGE], {"pooling_ratio": [1.0, 1.4, 1.5, 1.0], "deterministic": True}, gradient=False, random=True),
        Sample([(IMAGE * 9).astype(np.int64)], {"pooling_ratio": [1.0, 2.0, 1.0, 1.0]}, gradient=False),
    ],
    "FractionalMaxPoolGrad": [
        Sample(
            [IMAGE, np.maximum(IMAGE[:, ::2], IMAGE[:, 1::2]), IMAGE[:, :2], np.int64([0, 2, 4]), np.int64(range(6))],
            wrt=["out_backprop"],
        )
    ],
    "FractionalAvgPoolGrad": [
        Sample([np.int64(IMAGE.shape), IMAGE[:, :2], np.int64([0, 2, 4]), np.int64(range(6))], {"overlapping": o})
        for o in (False, True)
    ],
    "ExtractGlimpse": [
        Sample([IMAGE, np.int32([2, 2]), np.float32([[0.1, 0.0]])], {"noise": "zero"}, gradient=False),
        Sample([IMAGE, np.int32([2, 3]), np.float32([[1.0, 0.0]])], gradient=False, random=True),
        Sample([IMAGE, np.int32([2, 3]), np.float32([[1.0, 0.0]])], {"noise": "gaussian"}, gradient=False, random=True),
        Sample([IMAGE, np.int32([2, 3]), np.float32([[1.0, 0.0]])], {"noise": "pink"}, error=ValueError),
    ],
    "ImageProjectiveTransformV2": [
        Sample(
            [IMAGE, np.float32([[1, 0, 1, 0, 1, -1, 0, 0]]), np.int32([4, 5])], {"interpolation": "NEAREST"},
            gradient=False,
        ),
        Sample(
            [IMAGE, np.float32([[0.9, 0.1, 0.3, 0, 1.1, -0.4, 0.01, 0]]), np.int32([3, 6])],
            {"interpolation": "BILINEAR"}, gradient=False,
        ),
        Sample(
            [(IMAGE * 9).astype(np.uint8), np.float32([[1, 0, 1, 0, 1, -1, 0, 0]]), np.int32([4, 5])],
            {"interpolation": "BILINEAR"},
        ),
        Sample([IMAGE, np.float32([[1, 0, 1]]), np.int32([4, 5])], {"interpolation": "BILINEAR"}, error=ValueError),
    ],
    "Resampler": [
        Sample([IMAGE, _PLACES]),
        Sample([IMAGE.astype(np.float64), _PLACES.astype(np.float64)]),
        Sample([IMAGE[:0], _PLACES[:0]], gradient=False),
        Sample([IMAGE, _PLACES[..., :1]], error=ValueError),
        Sample([IMAGE, _PLACES[:0]], error=ValueError),
    ],
    "ResamplerGrad": [
        Sample([IMAGE.astype(np.float64), _PLACES.astype(np.float64), _PLACES.astype(np.float64) + 1]),
        Sample([IMAGE, _PLACES, _PLACES[:, :1]], error=ValueError),
    ],
    "NonMaxSuppression": [Sample([_BOXES, _SCORES, np.int32(2)], {"iou_threshold": 0.4}, gradient=False)],
    "NonMaxSuppressionV2": [Sample([_BOXES, _SCORES, np.int32(3), np.float32(0.4)], gradient=False)],
    "CombinedNonMaxSuppression": [
        Sample(
            [_BOXES[None, :, None], _SCORES[None, :, None] * np.float32([1, 0.5]), np.int32(2), np.int32(5),
             np.float32(0.4), np.float32(0.1)],
            {"pad_per_class": pad}, gradient=False,
        )
        for pad in (False, True)
    ],
    "ExtractVolumePatches": [
        Sample([IMAGE.reshape(1, 2, 2, 5, 2)], {"ksizes": [1, 2, 1, 3, 1], "strides": [1, 1, 1, 2, 1], "padding": p})
        for p in ("SAME", "VALID")
    ],
}  # fmt: skip
