"""Programs over the tasks of a cluster as people write them: a strategy given to an estimator, or around a Keras model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster.local_cluster import LocalCluster, local_cluster

import headrace as tf
from headrace.library.distribute.cluster import MultiWorkerMirroredStrategy

X = np.random.RandomState(0).randn(64, 3).astype(np.float32)
Y = X @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.25


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(ps=1, workers=2) as made:
        yield made
