"""Samples of the ops that leave the graph, and of the checks."""

import numpy as np

from headrace.core import dtypes, errors
from headrace.library.testing.opcheck import Sample

FLOATS = np.array([[1.5, -2.0, 3.0], [0.25, 4.0, -5.0]], np.float32)
STRINGS = np.array([[b"one", b""], [b"three\n", b"\xff"]], dtype=object)
EMPTY = np.zeros((0, 3), np.float32)


def _fail(x: object) -> object:
    raise KeyError("no")


def _function(function: object, *kinds: dtypes.DType, inputs: object = (FLOATS,), **options: object) -> Sample:
    attrs = {"token": "pyfunc", "Tout": list(kinds), "func": function}
    return Sample([list(inputs)], attrs, gradient=False, **options)


FUNCTIONS = [
    _function(lambda x: 2 * x, dtypes.float32),
    _function(lambda x: (x.sum(dtype=np.float64), x.astype(np.int32)), dtypes.float64, dtypes.int32),
    _function(lambda s: np.array([s[0, 0], "text"], object), dtypes.string, inputs=(STRINGS,)),
    _function(lambda x: x, dtypes.float32, inputs=(EMPTY,)),
    _function(lambda: np.int64(3), dtypes.int64, inputs=()),
    _function(lambda x: x, dtypes.int32, error=errors.InvalidArgumentError),
    _function(lambda x: (x, x), dtypes.float32, error=errors.InvalidArgumentError),
    _function(_fail, dtypes.float32, error=errors.UnknownError),
]

SAMPLES: dict[str, list[Sample]] = {
    "PyFunc": FUNCTIONS,
    "PyFuncStateless": FUNCTIONS,
    "EagerPyFunc": FUNCTIONS,
    "Print": [
        Sample([FLOATS, [FLOATS, STRINGS]], {"message": "x ", "summarize": 2}),
        Sample([STRINGS, [np.array(True)]], {"first_n": 1}),
        Sample([EMPTY, [EMPTY]], {"first_n": 0}),
    ],
    "PrintV2": [
        Sample([np.array(b"text", object)], {"output_stream": "stdout", "end": ""}),
        Sample([np.array(b"text", object)]),
        Sample([STRINGS], error=errors.InvalidArgumentError),
        Sample([np.array(b"text", object)], {"output_stream": "nowhere"}, error=ValueError),
    ],
    "StringFormat": [
        Sample([[FLOATS, STRINGS]], {"template": "a %s b %s", "summarize": 1}, gradient=False),
        Sample([[np.int64(3)]], {"template": "{}", "placeholder": "{}"}),
        Sample([[EMPTY]], {"template": "none"}, error=ValueError),
    ],
    "Timestamp": [Sample(random=True)],
    "AsString": [
        Sample([FLOATS], {"precision": 2}, gradient=False),
        Sample([FLOATS.astype(np.float64)], {"scientific": True, "width": 12}, gradient=False),
        Sample([FLOATS.astype(np.float16)], {"shortest": True, "width": 8, "fill": "0"}, gradient=False),
        Sample([FLOATS.astype(np.complex64)], gradient=False),
        Sample([np.float32([np.inf, -np.inf, np.nan])], {"width": 6, "fill": "0"}, gradient=False),
        Sample([np.array([1, -2], np.int64)], {"width": 4, "fill": "-"}),
        Sample([np.array([True, False])]),
        Sample([EMPTY], gradient=False),
        Sample([np.array([1], np.int32)], {"precision": 1}, error=errors.InvalidArgumentError),
        Sample([FLOATS], {"fill": "ab"}, error=errors.InvalidArgumentError),
    ],
    "EncodeBase64": [Sample([STRINGS]), Sample([STRINGS], {"pad": True}), Sample([np.array(b"x", object)])],
    "DecodeBase64": [
        Sample([np.array([b"b25l", b"", b"_w", b"_w=="], object)]),
        Sample([np.array([b"!"], object)], error=errors.InvalidArgumentError),
    ],
    "Assert": [
        Sample([np.array(True), [FLOATS, STRINGS]], gradient=False),
        Sample([np.array(False), [FLOATS, STRINGS]], gradient=False, error=errors.InvalidArgumentError),
        Sample([np.array([True]), [FLOATS]], gradient=False, error=ValueError),
    ],
    "CheckNumerics": [
        Sample([FLOATS], {"message": "x"}),
        Sample([FLOATS.astype(np.float16)], {"message": "x"}, gradient=False),
        Sample([EMPTY], {"message": "x"}),
        Sample([np.array([1.0, np.nan])], {"message": "x"}, error=errors.InvalidArgumentError),
        Sample([np.array(np.inf, np.float32)], {"message": "x"}, error=errors.InvalidArgumentError),
    ],
    "EnsureShape": [
        Sample([FLOATS], {"shape": [2, 3]}),
        Sample([FLOATS], {"shape": [None, 3]}),
        Sample([STRINGS], {"shape": None}),
        Sample([FLOATS], {"shape": [3, 2]}, error=ValueError),
    ],
}
