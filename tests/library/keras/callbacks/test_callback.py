"""tf.keras.callbacks: what they hear, stop, change and write."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import headrace as tf

keras = tf.keras
X, Y = np.ones([8, 1], np.float32), np.full([8, 1], 2.0, np.float32)


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    keras.backend.clear_session()
    yield
    keras.backend.clear_session()


def model():
    made = keras.Sequential([keras.layers.Dense(1, input_shape=(1,), kernel_initializer="zeros", use_bias=False)])
    made.compile(keras.optimizers.SGD(0.25), "mse")
    return made


def test_what_a_callback_hears() -> None:
    heard = []

    class Hears(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            heard.append(("begin", self.params["samples"], self.params["epochs"]))

        def on_batch_end(self, batch, logs=None):
            heard.append(("batch", batch, logs["size"], logs["loss"]))

        def on_test_batch_end(self, batch, logs=None):
            heard.append(("test", batch, logs["size"]))

        def on_epoch_end(self, epoch, logs=None):
            heard.append(("epoch", epoch, sorted(logs)))

    model().fit(X, Y, batch_size=5, verbose=0, callbacks=[Hears()], validation_data=(X, Y))
    assert heard[0] == ("begin", 8, 1)
    assert [h[:3] for h in heard[1:]] == [
        ("batch", 0, 5), ("batch", 1, 3), ("test", 0, 5), ("test", 1, 3), ("epoch", 0, ["loss", "val_loss"])
    ]  # fmt: skip
    assert heard[1][3] == 4.0


def test_early_stopping_restores_the_best() -> None:
    values = iter([3.0, 1.0, 2.0, 2.0, 0.0])
    say = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: logs.update(watched=next(values)))
    weights = []
    note = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: weights.append(trained.get_weights()[0]))
    stop = keras.callbacks.EarlyStopping("watched", patience=2, restore_best_weights=True)
    trained = model()
    history = trained.fit(X, Y, epochs=9, verbose=0, callbacks=[say, note, stop])
    assert history.epoch == [0, 1, 2, 3]
    assert trained.get_weights()[0] == weights[1]


def test_a_figure_that_is_missing_is_named(caplog) -> None:
    stop = keras.callbacks.EarlyStopping("val_loss")
    history = model().fit(X, Y, epochs=2, verbose=0, callbacks=[stop])
    assert history.epoch == [0, 1]
    assert "`val_loss` which is not available. Available metrics are: loss" in caplog.text


def test_no_number_ends_training() -> None:
    history = model().fit(X, Y * np.inf, epochs=3, verbose=0, callbacks=[keras.callbacks.TerminateOnNaN()])
    assert history.epoch == [0]


def test_rates() -> None:
    trained = model()
    scheduler = keras.callbacks.LearningRateScheduler(lambda epoch: 0.5 / (epoch + 1))
    assert trained.fit(X, Y, epochs=2, verbose=0, callbacks=[scheduler]).history["lr"] == [0.5, 0.25]
    with pytest.raises(ValueError, match="The output of 'schedule' should be float"):
        trained.fit(X, Y, verbose=0, callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: None)])
    with pytest.raises(ValueError, match="does not support a factor >= 1.0"):
        keras.callbacks.ReduceLROnPlateau(factor=1.0)


def test_progress(capsys) -> None:
    model().fit(X, Y, batch_size=4, epochs=2)
    lines = [line for line in capsys.readouterr().out.split("\n") if line]
    assert lines[:2] == ["Train on 8 samples", "Epoch 1/2"]
    assert lines[2].startswith("8/8 [====")
    assert lines[2].endswith("loss: 2.5000")
    assert len(lines) == 5
    model().fit(X, Y, verbose=2, steps_per_epoch=2)
    assert capsys.readouterr().out.startswith("Train for 2 steps\n2/2 - ")


def test_tables(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    trained = model()
    trained.fit(X, Y, epochs=2, verbose=0, callbacks=[keras.callbacks.CSVLogger(path)])
    trained.fit(X, Y, verbose=0, callbacks=[keras.callbacks.CSVLogger(path, append=True)])
    rows = path.read_text().split()
    assert rows[:2] == ["epoch,loss", "0,4.0"]
    assert [row.split(",")[0] for row in rows] == ["epoch", "0", "1", "0"]


def test_checkpoints_of_the_best(tmp_path: Path) -> None:
    saved = []

    class Kept(keras.Sequential):
        def save_weights(self, filepath, overwrite=True, save_format=None):
            saved.append(filepath)

    trained = Kept([keras.layers.Dense(1, input_shape=(1,), kernel_initializer="zeros")])
    trained.compile(keras.optimizers.SGD(0.1), "mse")
    path = str(tmp_path / "w-{epoch:02d}-{loss:.1f}")
    keep = keras.callbacks.ModelCheckpoint(path, "loss", save_best_only=True, save_weights_only=True)
    trained.fit(X, Y, epochs=2, verbose=0, callbacks=[keep])
    assert [name[-8:] for name in saved] == ["w-01-4.0", saved[1][-8:]]
    assert len(saved) == 2
    bad = keras.callbacks.ModelCheckpoint(str(tmp_path / "{val_loss}"), save_weights_only=True)
    with pytest.raises(KeyError, match="Failed to format this callback filepath"):
        trained.fit(X, Y, verbose=0, callbacks=[bad])
    with pytest.raises(ValueError, match="Unrecognized save_freq"):
        keras.callbacks.ModelCheckpoint("x", save_freq="week")


def test_tensorboard(tmp_path: Path) -> None:
    write = keras.callbacks.TensorBoard(tmp_path, histogram_freq=1, update_freq="batch")
    model().fit(X, Y, epochs=2, verbose=0, callbacks=[write])
    (path,) = tmp_path.glob("events*")
    tags = [value.tag for event in tf.train.summary_iterator(str(path)) for value in event.summary.value]
    assert {"batch_loss", "epoch_loss"} <= set(tags)
    assert any("kernel" in tag for tag in tags)
    with pytest.raises(NotImplementedError, match="write_grads=True"):
        keras.callbacks.TensorBoard(tmp_path, write_grads=True)


def test_remote(monkeypatch) -> None:
    sent = []

    class Answer:
        def close(self):
            pass

    def urlopen(request, timeout):
        sent.append((request.full_url, json.loads(request.data)))
        return Answer()

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    tell = keras.callbacks.RemoteMonitor("http://example.org", send_as_json=True)
    model().fit(X, Y, verbose=0, callbacks=[tell])
    assert sent == [("http://example.org/publish/epoch/end/", {"epoch": 0, "loss": 4.0})]
    with pytest.raises(ValueError, match="root must begin with http"):
        keras.callbacks.RemoteMonitor("file:///etc/passwd")
