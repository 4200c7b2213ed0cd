"""The file that TensorBoard's embedding projector looks for."""

import sys

import pytest
from google.protobuf import text_format

import headrace as tf
from headrace.contrib.tensorboard.plugins import projector


def test_the_configuration_is_written_beside_the_events(tmp_path):
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "words:0"
    embedding.metadata_path = "labels.tsv"
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.Graph().as_default(), tf.summary.FileWriter(tmp_path) as writer:
        tf.contrib.tensorboard.plugins.projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text_format.Parse(text, projector.ProjectorConfig()) == config


def test_without_tensorboard(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ImportError, match=r"pip install tensorboard"):
        _ = projector.ProjectorConfig
