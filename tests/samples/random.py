"""Samples of the random ops, with state and without."""

import numpy as np

from headrace.core import dtypes, errors
from headrace.library.testing.opcheck import Sample

SCALAR = np.array([], np.int32)
SIZES = [[2, 3], SCALAR, [0, 4], np.array([5], np.int64)]
SEEDS = np.array([3, -7], np.int32)
LOGITS = np.array([[0.5, -1.0, 2.0], [-np.inf, 0.0, 1.0]], np.float32)


def _plain() -> list[Sample]:
    kinds = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
    samples = [Sample([[2, 3]], {"dtype": k}, random=True, gradient=False) for k in kinds]
    samples += [Sample([s], {"dtype": dtypes.float32}, random=True, gradient=False) for s in SIZES]
    samples.append(Sample([[2, -1]], {"dtype": dtypes.float32}, error=ValueError))
    samples.append(Sample([3], {"dtype": dtypes.float32}, error=ValueError))
    return samples


def _stateless() -> list[Sample]:
    kinds = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
    samples = [Sample([[2, 3], SEEDS], {"dtype": k}, gradient=False) for k in kinds]
    samples += [Sample([s, SEEDS.astype(np.int64)], {}, gradient=False) for s in SIZES]
    samples.append(Sample([[2], np.array([1, 2, 3], np.int32)], {}, error=ValueError))
    return samples


def _int(low: int, high: int, dtype: type, shape: object = (2, 3)) -> Sample:
    return Sample([np.array(shape, np.int32), dtype(low), dtype(high)], random=True, gradient=False)


SAMPLES: dict[str, list[Sample]] = {
    "RandomUniform": _plain(),
    "RandomStandardNormal": _plain(),
    "TruncatedNormal": _plain(),
    "RandomUniformInt": [
        _int(0, 10, np.int32),
        _int(-5, 5, np.int64),
        _int(0, 1, np.int32, ()),
        _int(-(2**31), 2**31 - 1, np.int32, (0,)),
        Sample([[2], np.int32(3), np.int32(3)], error=errors.InvalidArgumentError),
    ],
    "RandomShuffle": [
        Sample([np.arange(6, dtype=np.float32).reshape(3, 2)], random=True, gradient=False),
        Sample([np.array(4, np.int32)], random=True),
        Sample([np.zeros((0, 2), np.int64)], random=True),
        Sample([np.array([True, False, True])], random=True),
        Sample([np.array([b"a", b"b", b"c"], object)], random=True),
    ],
    "Multinomial": [
        Sample([LOGITS, 4], random=True, gradient=False),
        Sample([LOGITS.astype(np.float64), 1], {"output_dtype": dtypes.int32}, random=True, gradient=False),
        Sample([LOGITS, 0], random=True, gradient=False),
        Sample([LOGITS[0], 4], error=ValueError),
        Sample([LOGITS, -1], error=ValueError),
    ],
    "RandomGamma": [
        Sample([[4], np.array([0.5, 2.0], np.float32)], random=True, gradient=False),
        Sample([SCALAR, np.array([[0.5, 2.0]])], random=True, gradient=False),
        Sample([[3, 0], np.float16(1.0)], random=True, gradient=False),
    ],
    "RandomGammaGrad": [
        Sample([np.array([0.5, 2.0], np.float32), np.array([[0.3, 1.5], [1.2, 0.7]], np.float32)], gradient=False),
        Sample([np.array(2.0), np.array([0.3, 1.5, 4.0])], gradient=False),
    ],
    "RandomPoissonV2": [
        Sample([[4], np.array([0.5, 20.0], np.float32)], random=True, gradient=False),
        Sample([[2], np.array(3.0)], {"dtype": dtypes.int32}, random=True, gradient=False),
        Sample([SCALAR, np.array([1, 2], np.int32)], {"dtype": dtypes.float32}, random=True, gradient=False),
        Sample([[0], np.float16(2.0)], {"dtype": dtypes.float16}, random=True, gradient=False),
    ],
    "ParameterizedTruncatedNormal": [
        Sample([[2, 3], *(np.float32(v) for v in (0.0, 1.0, -1.0, 2.0))], random=True, gradient=False),
        Sample(
            [[2, 3], np.array([0.0, 5.0]), np.array(1.0), np.array([10.0, -1.0]), np.array([np.inf, 1.0])],
            random=True,
            gradient=False,
        ),
    ],
    "StatelessRandomUniform": _stateless(),
    "StatelessRandomNormal": _stateless(),
    "StatelessTruncatedNormal": _stateless(),
    "StatelessRandomUniformInt": [
        Sample([[2, 3], SEEDS, np.int32(-3), np.int32(9)]),
        Sample([[7], SEEDS, np.int64(-3), np.int64(10**15)]),
        Sample([SCALAR, SEEDS, np.int32(-3), np.int32(9)]),
    ],
    "StatelessRandomUniformFullInt": [
        Sample([[5], SEEDS], {"dtype": k}) for k in (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)
    ],
    "StatelessMultinomial": [
        Sample([LOGITS, 5, SEEDS], gradient=False),
        Sample([LOGITS.astype(np.float64), 0, SEEDS], {"output_dtype": dtypes.int32}, gradient=False),
    ],
}
