"""Samples of the names of shards; the ops that touch files are run by tests/ops/test_checkpoint.py."""

import numpy as np

from headrace.library.testing.opcheck import Sample

NAME = np.array(b"folder/model", object)

SAMPLES: dict[str, list[Sample]] = {
    "ShardedFilename": [Sample((NAME, np.int32(3), np.int32(12))), Sample((NAME, np.int32(0), np.int32(123456)))],
    "ShardedFilespec": [Sample((NAME, np.int32(12)))],
}
