"""The configuration of TensorBoard's embedding projector: its messages, and the file that TensorBoard looks for."""

from __future__ import annotations

import importlib
import os
from typing import Any

NAMES = frozenset({"EmbeddingInfo", "ProjectorConfig", "SpriteMetadata"})  # of the message classes


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module("tensorboard.plugins.projector.projector_config_pb2")
    except ImportError as error:
        raise ImportError(f"{name} needs TensorBoard, which defines it: pip install tensorboard") from error
    return getattr(module, name)


def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Writes a ProjectorConfig into the folder of the writer, for TensorBoard to find.

    Args:
      summary_writer: A `tf.summary.FileWriter`, whose folder is used.
      config: A ProjectorConfig, which names the embeddings and their metadata files.

    Example: ``projector.visualize_embeddings(tf.summary.FileWriter("/tmp/model"), config)``
    """
    logdir = summary_writer.get_logdir()
    if logdir is None:
        raise ValueError("Summary writer must have a logdir")
    from google.protobuf import text_format

    with open(os.path.join(logdir, "projector_config.pbtxt"), "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(config))
