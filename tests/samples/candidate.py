"""Samples of the candidate samplers."""

import numpy as np

from headrace.core.errors import InvalidArgumentError
from headrace.library.testing.opcheck import Sample

TRUE = np.array([[1, 4], [0, 2], [4, 4]], np.int64)


def drawn(**attrs):
    return Sample((TRUE,), {"num_true": 2, "num_sampled": 4, "unique": True, "range_max": 5, **attrs}, random=True)


_PLAIN = [
    drawn(),
    drawn(unique=False, seed=3, seed2=4),
    drawn(num_sampled=5),
    Sample((TRUE[:0],), {"num_true": 2, "num_sampled": 3, "unique": False, "range_max": 2}, random=True),
    Sample((TRUE,), {"num_true": 1, "num_sampled": 4, "unique": True, "range_max": 5}, error=ValueError),
    Sample((TRUE,), {"num_true": 2, "num_sampled": 6, "unique": True, "range_max": 5}, error=ValueError),
]
WEIGHTS = [1.0, 3.0, 0.5, 2.0, 2.0]

SAMPLES: dict[str, list[Sample]] = {
    "LogUniformCandidateSampler": _PLAIN,
    "UniformCandidateSampler": _PLAIN,
    "LearnedUnigramCandidateSampler": _PLAIN,
    "ThreadUnsafeUnigramCandidateSampler": _PLAIN,
    "FixedUnigramCandidateSampler": [
        drawn(unigrams=WEIGHTS),
        drawn(unigrams=WEIGHTS[:3], num_reserved_ids=2, distortion=0.5, unique=False),
        drawn(unigrams=WEIGHTS * 2, num_shards=2, shard=1),
        Sample(
            (TRUE,), {"num_true": 2, "num_sampled": 4, "unique": True, "range_max": 5, "unigrams": WEIGHTS[:2]},
            error=InvalidArgumentError,
        ),
    ],
    "AllCandidateSampler": [Sample((TRUE,), {"num_true": 2, "num_sampled": 5, "unique": True})],
    "ComputeAccidentalHits": [
        Sample((TRUE, np.array([4, 7, 1], np.int64)), {"num_true": 2}),
        Sample((TRUE, np.array([4, 4, 9], np.int64)), {"num_true": 2}, note="the last of equal candidates"),
        Sample((TRUE, np.array([8], np.int64)), {"num_true": 2}, note="none"),
        Sample((TRUE, np.zeros(0, np.int64)), {"num_true": 2}),
        Sample((TRUE, np.array([4], np.int64)), {"num_true": 1}, error=ValueError),
    ],
}  # fmt: skip
