"""What the progress bar writes, with a clock that stands still or runs."""

import pytest

import headrace as tf
from headrace.library.keras.utils import progress_bar


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

        def time(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(progress_bar, "time", made)
    return made


def test_a_bar(clock, capsys):
    bar = tf.keras.utils.Progbar(20, width=10)
    clock.now += 4
    bar.update(5, [("loss", 2.0)])
    clock.now += 4
    bar.add(5, [("loss", 1.0), ("tiny", 1e-5)])
    clock.now += 1
    bar.add(10)
    first, second, last = capsys.readouterr().out.strip("\n").split("\n")
    assert first == " 5/20 [=>........] - ETA: 12s - loss: 2.0000"
    assert second.rstrip() == "10/20 [====>.....] - ETA: 8s - loss: 1.5000 - tiny: 1.0000e-05"
    assert last.rstrip() == "20/20 [==========] - 9s 450ms/step - loss: 1.5000 - tiny: 1.0000e-05"


def test_updates_are_not_too_frequent(clock, capsys):
    bar = tf.keras.utils.Progbar(100, interval=1.0)
    for i in range(1, 50):
        bar.update(i)
    assert capsys.readouterr().out.count("ETA") == 1


def test_one_line(clock, capsys):
    bar = tf.keras.utils.Progbar(2, verbose=2, stateful_metrics=["accuracy"])
    for accuracy in (0.5, 0.75):
        bar.add(1, [("accuracy", accuracy)])
    assert capsys.readouterr().out == "2/2 - 0s - accuracy: 0.7500\n"


def test_no_target(clock, capsys):
    bar = tf.keras.utils.Progbar(None, unit_name="sample")
    clock.now += 0.001
    bar.update(10)
    assert capsys.readouterr().out == "\n     10/Unknown - 0s 100us/sample"


def test_nothing(capsys):
    tf.keras.utils.Progbar(3, verbose=0).update(3)
    assert capsys.readouterr().out == ""


def test_times():
    assert [progress_bar._clock(s) for s in (5, 65, 3700)] == ["5s", "1:05", "1:01:40"]
