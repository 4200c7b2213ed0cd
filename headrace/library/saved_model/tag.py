"""The usual tags of the graphs of a SavedModel."""

from __future__ import annotations

from typing import Final

GPU: Final = "gpu"
SERVING: Final = "serve"
TPU: Final = "tpu"
TRAINING: Final = "train"
