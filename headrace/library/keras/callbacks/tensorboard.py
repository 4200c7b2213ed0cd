"""A callback that writes what TensorBoard shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.core.proto import protos
from headrace.core.source import at
from headrace.graph import context
from headrace.graph.graph import Graph
from headrace.library.backend.session import get_session
from headrace.library.keras.callbacks.callback import Callback, Logs
from headrace.library.summary import summary as summaries
from headrace.library.summary.file_writer import FileWriter

_NOT_FIGURES = ("batch", "size", "num_steps")


class TensorBoard(Callback):
    """Writes the figures of each epoch, the graph and histograms of the weights for TensorBoard.

    Figures are named ``epoch_loss``, ``epoch_val_loss`` ..., those of batches ``batch_loss`` ....

    Args:
      log_dir: The folder.
      histogram_freq: After how many epochs to write histograms of the weights; 0 for never.
      batch_size: Accepted for TensorFlow's sake; it has no effect.
      write_graph: Whether to write the graph.
      write_grads: Must be False: histograms of gradients are not written.
      write_images: Whether to write the weights as images too, with the histograms.
      embeddings_freq: Must be 0: embeddings are not written.
      embeddings_layer_names, embeddings_metadata, embeddings_data: Of embeddings.
      update_freq: "epoch", "batch", or after how many samples to write the figures of a batch.
      profile_batch: Accepted for TensorFlow's sake; no profile is written.

    >>> write = tf.keras.callbacks.TensorBoard('/tmp/logs', histogram_freq=1)
    """

    def __init__(
        self, log_dir: Any = "./logs", histogram_freq: int = 0, batch_size: int = 32, write_graph: bool = True,
        write_grads: bool = False, write_images: bool = False, embeddings_freq: int = 0,
        embeddings_layer_names: Any = None, embeddings_metadata: Any = None, embeddings_data: Any = None,
        update_freq: Any = "epoch", profile_batch: Any = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        for name, value in (("write_grads", write_grads), ("embeddings_freq", embeddings_freq)):
            if value:
                raise NotImplementedError(
                    f"{name}={value!r}: the callback writes figures, the graph and the weights; write others with tf.summary in "
                    f"a LambdaCallback {at()}"
                )
        self.log_dir = str(log_dir)
        self.histogram_freq, self.write_graph, self.write_images = histogram_freq, write_graph, write_images
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._samples = self._written_at = 0
        self.writer: FileWriter | None = None
        self._merged: Any = None

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        Path(self.log_dir).mkdir(parents=True, exist_ok=True)
        if context.executing_eagerly():
            if self.histogram_freq:
                raise NotImplementedError(
                    f"histogram_freq: histograms of weights are written in graph mode only; use histogram_freq=0 {at()}"
                )
            with Graph().as_default():
                self.writer = FileWriter(self.log_dir)
            return
        graph = model.outputs[0].graph if model.outputs else None
        self.writer = FileWriter(self.log_dir, graph if self.write_graph else None)
        if self.histogram_freq and graph is not None and self._merged is None:
            with graph.as_default():
                self._merged = summaries.merge(self._summaries_of(model))

    def _summaries_of(self, model: Any) -> list[Any]:
        made = []
        for layer in model.layers:
            for weight in layer.weights:
                name = weight.name.replace(":", "_")
                made.append(summaries.histogram(name, weight.read_value(), collections=[]))
                if self.write_images and weight.shape.ndims == 2:
                    picture = weight.read_value()[None, :, :, None]
                    made.append(summaries.image(name, picture, collections=[]))
        return made

    def _write(self, logs: dict[str, Any], prefix: str, step: int) -> None:
        if self.writer is None:
            return
        summary = protos().Summary()
        for name, value in logs.items():
            if name not in _NOT_FIGURES:
                summary.value.add(tag=prefix + name, simple_value=float(value))
        self.writer.add_summary(summary, step)

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        if self.update_freq == "epoch":
            return
        logs = logs or {}
        self._samples += logs.get("size", 1)
        if self._samples - self._written_at >= self.update_freq:
            self._write(logs, "batch_", self._samples)
            self._written_at = self._samples

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self._write(logs or {}, "epoch_", epoch if self.update_freq == "epoch" else self._samples)
        if self._merged is not None and epoch % self.histogram_freq == 0 and self.writer is not None:
            self.writer.add_summary(get_session((self._merged,)).run(self._merged), epoch)
        if self.writer is not None:
            self.writer.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        if self.writer is not None:
            self.writer.close()
