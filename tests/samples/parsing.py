"""Samples of the ops that parse encoded examples."""

import numpy as np
from sample_forms import word, words

from headrace.core import dtypes
from headrace.core.errors import InvalidArgumentError
from headrace.core.example import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from headrace.library.testing.opcheck import Sample


def ints(*values):
    return Feature(int64_list=Int64List(value=values))


def floats(*values):
    return Feature(float_list=FloatList(value=values))


def texts(*values):
    return Feature(bytes_list=BytesList(value=values))


def example(**features):
    return Example(features=Features(feature=features)).SerializeToString(deterministic=True)


FULL = example(label=ints(3), pixels=floats(1.5, -2.0), words=texts(b"a", b"bc"), many=ints(*range(-20, 30)))
BARE = example(pixels=floats(0.25, 4.0), empty=Feature())
BATCH = words(FULL, BARE)
NOTHING = words()
SPARSE = ([word(b"many"), word(b"words")], [dtypes.int64, dtypes.string])
DENSE = ([word(b"label"), word(b"pixels")], [np.int64(7), np.zeros(0, np.float32)], [[], [2]])
TF, TI, TS = dtypes.float32, dtypes.int64, dtypes.string
SPARSE_V2 = [(b"many", TI), (b"words", TS)]
DENSE_V2 = [(b"label", np.int64(7), []), (b"pixels", np.zeros(0, np.float32), [2])]
RAGGED = [(b"many", TI, TI), (b"words", TS, dtypes.int32)]


def parse(batch, sparse, types, dense, defaults, shapes, names=NOTHING, **options):
    attrs = {"sparse_types": types, "dense_shapes": shapes}
    return Sample((batch, names, sparse, dense, defaults), attrs, gradient=False, **options)


def parse_v2(batch, sparse=(), dense=(), ragged=(), names=NOTHING, **options):
    """Keys with types; dense ones with defaults and shapes; ragged ones with types of values and of splits."""
    keys = [words(*(k[0] for k in group)) for group in (sparse, dense, ragged)]
    attrs = {
        "num_sparse": len(sparse), "sparse_types": [t for _, t in sparse],
        "ragged_value_types": [t for _, t, _ in ragged], "ragged_split_types": [t for _, _, t in ragged],
        "dense_shapes": [s for _, _, s in dense],
    }  # fmt: skip
    return Sample((batch, names, *keys, [d for _, d, _ in dense]), attrs, gradient=False, **options)


def single(data, sparse, types, dense, defaults, shapes, **options):
    attrs = {"num_sparse": len(sparse), "sparse_keys": sparse, "dense_keys": dense, "sparse_types": types}
    return Sample((word(data), defaults), {**attrs, "dense_shapes": shapes}, gradient=False, **options)


STEPS = SequenceExample(
    context=Features(feature={"label": ints(3), "words": texts(b"x", b"y")}),
    feature_lists=FeatureLists(
        feature_list={
            "pairs": FeatureList(feature=[floats(1, 2), floats(3, 4), floats(5, 6)]),
            "ids": FeatureList(feature=[ints(1), ints(), ints(2, 3)]),
        }
    ),
).SerializeToString(deterministic=True)


def sequence(data=STEPS, missing=NOTHING, cs=(), cd=(), ls=(), ld=(), defaults=(), name=b"", **options):
    """Keys with types; dense ones with types and shapes."""
    attrs = {
        "context_sparse_types": [t for _, t in cs], "context_dense_shapes": [s for _, s in cd],
        "feature_list_sparse_types": [t for _, t in ls], "feature_list_dense_types": [t for _, t, _ in ld],
        "feature_list_dense_shapes": [s for _, _, s in ld],
    }  # fmt: skip
    keys = [[word(k[0]) for k in group] for group in (cs, cd, ls, ld)]
    return Sample((word(data), missing, *keys, list(defaults), word(name)), attrs, gradient=False, **options)


SAMPLES: dict[str, list[Sample]] = {
    "ParseExample": [
        parse(BATCH, *SPARSE, *DENSE),
        parse(BATCH, [], [], *DENSE, names=words(b"one", b"two")),
        parse(BATCH, *SPARSE, [], [], []),
        parse(words(FULL), [], [], [word(b"words")], [words(b"-", b"-")], [[2]]),
        parse(BATCH, [], [], [word(b"many"), word(b"words")], [np.int64(-1), word(b"?")], [[None], [None, 1]]),
        parse(words(FULL), [], [], [word(b"many")], [np.int64(-1)], [[None, 5, 2]]),
        parse(words(), *SPARSE, *DENSE),
        parse(BATCH, [], [], [word(b"label")], [np.zeros(0, np.int64)], [[]], error=InvalidArgumentError),
        parse(BATCH, [], [], [word(b"pixels")], [np.zeros(0, np.float32)], [[3]], error=InvalidArgumentError),
        parse(BATCH, [word(b"pixels")], [TI], [], [], [], error=InvalidArgumentError),
        parse(words(b"\xff\xff"), *SPARSE, *DENSE, error=InvalidArgumentError),
        parse(BATCH, [], [], [word(b"many")], [np.int64(-1)], [[None, 3]], error=InvalidArgumentError),
    ],
    "ParseExampleV2": [
        parse_v2(BATCH, SPARSE_V2, DENSE_V2),
        parse_v2(BATCH, (), DENSE_V2, RAGGED, names=words(b"one", b"two")),
        parse_v2(word(FULL), SPARSE_V2, DENSE_V2),
        parse_v2(word(BARE), SPARSE_V2, [(b"many", np.int64(0), [None])]),
        parse_v2(words(), SPARSE_V2, DENSE_V2, RAGGED),
        parse_v2(BATCH, [(b"pixels", TI)], error=InvalidArgumentError),
        parse_v2(words(b"\xff\xff"), SPARSE_V2, error=InvalidArgumentError),
    ],
    "ParseSingleExample": [
        single(FULL, ["many", "words"], [TI, TS], ["label", "pixels"], *DENSE[1:]),
        single(BARE, ["many", "words"], [TI, TS], ["label", "pixels"], *DENSE[1:]),
        single(FULL, [], [], ["many", "words"], [np.int64(0), word(b"")], [[None, 25], [None]]),
        single(BARE, [], [], ["many"], [np.int64(0)], [[None]]),
        single(FULL, [], [], ["other"], [np.float32([[1, 2]])], [[1, 2]]),
        single(BARE, [], [], ["label"], [np.zeros(0, np.int64)], [[]], error=InvalidArgumentError),
        single(FULL, [], [], ["label"], [np.zeros(0, np.float32)], [[]], error=InvalidArgumentError),
    ],
    "ParseSingleSequenceExample": [
        sequence(
            cs=[(b"words", TS), (b"absent", TF)], cd=[(b"label", [])], defaults=[np.int64(1)],
            ls=[(b"ids", TI), (b"absent", TS)], ld=[(b"pairs", TF, [2])],
        ),
        sequence(missing=words(b"other"), ld=[(b"other", TS, [3])], name=b"named"),
        sequence(cd=[(b"absent", [2])], defaults=[np.float32([1, 2])]),
        sequence(ld=[(b"other", TS, [3])], error=InvalidArgumentError),
        sequence(ld=[(b"pairs", TF, [3])], error=InvalidArgumentError),
        sequence(ld=[(b"pairs", TI, [2])], error=InvalidArgumentError),
        sequence(data=b"\xff", ls=[(b"ids", TI)], error=InvalidArgumentError),
    ],
}  # fmt: skip
