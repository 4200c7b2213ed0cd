"""The training pipeline of the paper's Fig. 2: its steps run at the same time, it learns, and it leaves no thread."""

import threading

import numpy as np
import pytest


class Watch:
    """How many steps run at the same time, and which ones beside a training step, by what they run or fetch first."""

    def __init__(self, run):
        self._run = run
        self._lock = threading.Lock()
        self._running = []
        self.most = 0
        self.beside_training = set()

    def __call__(self, session, call, values):
        request = call.plan.request
        name = (*request.targets, *request.fetches)[0].name
        with self._lock:
            self._running.append(name)
            self.most = max(self.most, len(self._running))
            if "Momentum" in self._running:
                self.beside_training.update(set(self._running) - {"Momentum"})
        try:
            return self._run(session, call, values)
        finally:
            with self._lock:
                self._running.remove(name)


def test_subgraphs_run_concurrently(example, monkeypatch, capsys):
    names = example("input_pipeline")
    session_class = names["tf"].Session
    watch = Watch(session_class._execute)  # also of queue runners, which make callables
    monkeypatch.setattr(session_class, "_execute", lambda *arguments: watch(*arguments))
    before = threading.active_count()
    losses, seen, accuracy = names["main"](["--steps", "150"])
    assert threading.active_count() == before
    assert len(losses) == 150 and np.mean(losses[-20:]) < 0.5 * np.mean(losses[:5])
    assert accuracy > 0.85
    # Four queue runners, of which one has two threads, wait or work while the main thread trains and another evaluates.
    assert watch.most >= 4
    for part in ("global_step", "training_input/input_producer", "training_input/shuffle_batch", "test_input/batch"):
        assert any(name.startswith(part) for name in watch.beside_training), watch.beside_training
    steps = [step for step, _ in seen]
    assert steps == sorted(steps) and any(0 < step < 150 for step in steps)
    assert "step  149  loss" in capsys.readouterr().out


def test_an_error_of_the_evaluation_ends_everything(example):
    names = example("input_pipeline")
    tf = names["tf"]
    names["accuracy_of"].__globals__["accuracy_of"] = lambda logits, labels: tf.check_numerics(
        tf.reduce_sum(logits) * np.float32("nan"), "no accuracy"
    )
    before = threading.active_count()
    with pytest.raises(tf.errors.InvalidArgumentError, match="no accuracy"):
        names["main"](["--steps", "100000"])
    assert threading.active_count() == before


def test_no_steps_are_refused(refuses):
    assert "--steps must be at least 1, not 0" in refuses("input_pipeline", "--steps", "0")
