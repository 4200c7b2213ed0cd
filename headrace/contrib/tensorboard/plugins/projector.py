"""tf.contrib.tensorboard.plugins.projector: which embeddings TensorBoard shows, with which labels and pictures."""

from typing import Any as _Any

from headrace.library.summary import projector as _projector
from headrace.library.summary.projector import visualize_embeddings as visualize_embeddings


def __getattr__(name: str) -> _Any:
    if name in _projector.NAMES:  # TensorBoard is imported when one of these is first asked for
        return getattr(_projector, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_projector.NAMES})
