"""Samples of searching, sets, Unicode, crossed features, fingerprints, batches of sequences."""

import numpy as np

from headrace.library.testing.opcheck import Sample

ROWS = np.array([[1.0, 3.0, 3.0], [-2.0, 0.5, 9.0]], np.float32)
VALUES = np.array([[0.0, 3.0], [9.0, -2.5]], np.float32)
_SETS = [
    (np.int32([[1, 2, 2], [5, 6, 7]]), np.int32([[2, 3], [7, 7]])),
    (np.array([["a", "b"]], object), np.array([["b", "c"]], object)),
    (np.uint8([[[4], [2]]]), np.uint8([[[4], [3]]])),
]
_INDICES, _VALUES, _SHAPE = np.int64([[0, 0], [0, 1], [1, 0]]), np.int32([3, 1, 3]), np.int64([2, 2])
_TEXT = np.array(["caf\u00e9", "\U0001f600 x", ""], object)

SAMPLES: dict[str, list[Sample]] = {}
for _name in ("LowerBound", "UpperBound"):
    SAMPLES[_name] = [
        Sample([ROWS, VALUES]),
        Sample([ROWS.astype(np.int64), VALUES.astype(np.int64)], {"out_type": np.int64}),
        Sample([ROWS[:, :0], VALUES]),
        Sample([ROWS[:0], VALUES[:0]]),
        Sample([ROWS, VALUES[:1]], error=ValueError),
    ]
SAMPLES["Bucketize"] = [
    Sample([VALUES], {"boundaries": [0.0, 3.0]}, gradient=False),
    Sample([np.int64([-1, 0, 4])], {"boundaries": [0.0, 3.0]}),
    Sample([VALUES], {"boundaries": []}, gradient=False),
    Sample([VALUES], {"boundaries": [1.0, 0.0]}, error=ValueError),
]
SAMPLES["NthElement"] = [
    Sample([np.float32([[4.0, 1.5, 3.0], [0.2, -2.0, 8.0]]), np.int32(1)]),
    Sample([np.float64([4.0, 1.5, 3.0]), np.int32(0)], {"reverse": True}),
    Sample([np.int32([[3, 1], [2, 9]]), np.int32(1)], gradient=False),
    Sample([VALUES, np.int32(2)], error=ValueError),
]
SAMPLES["UnravelIndex"] = [
    Sample([np.int32([7, 2]), np.int32([3, 4])]),
    Sample([np.int64(5), np.int64([2, 3])]),
    Sample([np.int32([12]), np.int32([3, 4])], error=Exception),
]
SAMPLES["SetSize"] = [
    Sample([_INDICES, _VALUES, _SHAPE]),
    Sample([_INDICES, np.array(["a", "a", "b"], object), _SHAPE]),
    Sample([_INDICES[::-1].copy(), _VALUES, _SHAPE], error=Exception),
]
SAMPLES["DenseToDenseSetOperation"] = [
    *(Sample([a, b], {"set_operation": way}) for a, b in _SETS for way in ("a-b", "b-a", "union", "intersection")),
    Sample([*_SETS[0]], {"set_operation": "xor"}, error=ValueError),
    Sample([_SETS[0][0], _SETS[0][1][:1]], {"set_operation": "union"}, error=Exception),
]
SAMPLES["DenseToSparseSetOperation"] = [
    Sample([_SETS[0][0], _INDICES, _VALUES, _SHAPE], {"set_operation": way}) for way in ("union", "b-a")
]
SAMPLES["SparseToSparseSetOperation"] = [
    Sample([_INDICES, _VALUES, _SHAPE, _INDICES[1:], _VALUES[1:], _SHAPE], {"set_operation": way})
    for way in ("intersection", "a-b")
]
SAMPLES["UnicodeTranscode"] = [
    Sample([_TEXT], {"input_encoding": "UTF-8", "output_encoding": "UTF-16-BE"}),
    Sample([np.array(b"a\xff", object)], {"input_encoding": "UTF-8", "output_encoding": "UTF-8", "errors": "ignore"}),
    Sample(
        [np.array([b"a\xff"], object)], {"input_encoding": "UTF-8", "output_encoding": "UTF-8", "errors": "strict"},
        error=Exception,
    ),
    Sample([_TEXT], {"input_encoding": "UTF-8", "output_encoding": "KOI8"}, error=ValueError),
    Sample([_TEXT], {"input_encoding": "Martian", "output_encoding": "UTF-8"}, error=Exception),
]  # fmt: skip
SAMPLES["UnicodeDecode"] = [
    Sample([_TEXT], {"input_encoding": "UTF-8"}),
    Sample([np.array("x\ty", object)], {"input_encoding": "UTF-8", "replace_control_characters": True}),
    Sample([_TEXT], {"input_encoding": "UTF-8", "Tsplits": np.int32}),
]
SAMPLES["UnicodeDecodeWithOffsets"] = list(SAMPLES["UnicodeDecode"])
SAMPLES["UnicodeEncode"] = [
    Sample([np.int32([72, 228, 0x1F600]), np.int64([0, 1, 3])]),
    Sample([np.int32([72, 228]), np.int32([0, 0, 2])], {"output_encoding": "UTF-32-BE"}),
    Sample([np.int32([0xD800]), np.int64([0, 1])], {"errors": "strict"}, error=Exception),
    Sample([np.int32([72, 228]), np.int64([0, 5])], error=Exception),
]
SAMPLES["SparseCross"] = [
    Sample(
        [[_INDICES], [np.int64([3, 1, 3])], [_SHAPE], [np.array([["a"], ["b"]], object)]],
        {"hashed_output": True, "num_buckets": 9, "hash_key": 7, "out_type": np.int64, "internal_type": object},
    ),
    Sample(
        [[_INDICES], [np.array(["x", "y", "z"], object)], [_SHAPE], [np.int64([[1, 2], [3, 4]])]],
        {"hashed_output": False, "num_buckets": 0, "hash_key": 7, "out_type": object, "internal_type": object},
    ),
    Sample(
        [[_INDICES], [np.int64([3, 1, 3])], [_SHAPE], []],
        {"hashed_output": True, "num_buckets": -1, "hash_key": 7, "out_type": np.int64, "internal_type": np.int64},
        error=ValueError,
    ),
]
SAMPLES["Fingerprint"] = [
    Sample([_TEXT, np.array("farmhash64", object)]),
    Sample([ROWS, np.array("farmhash64", object)], gradient=False),
    Sample([ROWS, np.array("md5", object)], error=Exception),
]
# A context with i = [5], and one step of t = [7, 8].
_SEQUENCE = (
    b"\x0a\x0c\x0a\x0a\x0a\x01i\x12\x05\x1a\x03\x0a\x01\x05"
    b"\x12\x0f\x0a\x0d\x0a\x01t\x12\x08\x0a\x06\x1a\x04\x0a\x02\x07\x08"
)
SAMPLES["ParseSequenceExample"] = [
    Sample(
        [np.array([_SEQUENCE, b""], object), np.array([], object), [np.int64([9])]],
        {
            "feature_list_dense_missing_assumed_empty": ["t"], "context_sparse_keys": [], "context_dense_keys": ["i"],
            "feature_list_sparse_keys": [], "feature_list_dense_keys": ["t"], "Ncontext_dense": 1,
            "Nfeature_list_dense": 1, "context_dense_shapes": [(1,)], "feature_list_dense_types": [np.int64],
            "feature_list_dense_shapes": [(2,)],
        },
    ),
    Sample(
        [np.array([_SEQUENCE, b""], object), np.array(["one", "two"], object), []],
        {
            "feature_list_dense_missing_assumed_empty": [], "context_sparse_keys": ["i"], "context_dense_keys": [],
            "feature_list_sparse_keys": ["t"], "feature_list_dense_keys": [], "Ncontext_sparse": 1,
            "Nfeature_list_sparse": 1, "context_sparse_types": [np.int64], "feature_list_sparse_types": [np.int64],
        },
    ),
]  # fmt: skip
SAMPLES["DecodeJSONExample"] = [
    Sample([np.array(['{"features": {"feature": {"a": {"int64List": {"value": [1]}}}}}', "{}"], object)]),
    Sample([np.array("[1", object)], error=Exception),
]
