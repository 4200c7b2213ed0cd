"""The examples for several devices use them all, and give what one device gives."""

import threading

import numpy as np
import pytest

from headrace.resources.stepping.rendezvous import Rendezvous

ONE_DEVICE = {
    "towers": ["--towers", "1"],
    "model_parallel": ["--devices", "1"],
    "concurrent_steps": ["--devices", "1", "--threads", "1"],
}


@pytest.fixture
def routes(monkeypatch):
    """From which device to which something was sent: (0, 1) stands for CPU:0 and CPU:1."""
    taken = set()
    send = Rendezvous.send

    def noted(table, step, key, message):
        taken.add(tuple(int(name.split("CPU:")[1][0]) for name in key.split(">")))
        send(table, step, key, message)

    monkeypatch.setattr(Rendezvous, "send", noted)
    return taken


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("towers", {(0, 1), (1, 0)}),
        ("model_parallel", {(0, 1), (1, 2), (2, 1), (1, 0), (0, 2), (2, 0)}),
        ("concurrent_steps", {(0, 1), (1, 0)}),
    ],
)
def test_as_on_one_device(example, routes, name, expected):
    main = example(name)["main"]
    alone = main(["--steps", "25", *ONE_DEVICE[name]])
    assert not routes
    losses = main(["--steps", "25"])
    assert routes == expected
    np.testing.assert_allclose(losses, alone, rtol=1e-4)
    assert losses[-1] < 0.9 * losses[0]


def test_six_towers(example):
    """Twice as many as this machine may have cores."""
    main = example("towers")["main"]
    np.testing.assert_allclose(main(["--steps", "5", "--towers", "6"]), main(["--steps", "5"]), rtol=1e-4)


def test_layers_send_each_other_only_their_outputs_and_the_gradients_of_these(example, monkeypatch):
    """Also the sums of gradients are with their layer: nothing goes back and forth."""
    names = example("model_parallel")
    sizes = {}
    send = Rendezvous.send

    def counted(table, step, key, message):
        sizes.setdefault(step, []).append((key, [tuple(np.shape(v)) for v in message]))
        send(table, step, key, message)

    monkeypatch.setattr(Rendezvous, "send", counted)
    names["main"](["--steps", "3"])
    last = sizes[max(sizes)]
    matrices = [shape for _, shapes in last for shape in shapes if shape]
    # 8 time steps, over 2 borders, there and back
    assert matrices == [(names["BATCH"], names["UNITS"])] * (8 * 2 * 2)


@pytest.mark.parametrize(("gather", "messages"), [(True, 1), (False, 8)])
def test_time_steps_of_a_layer_are_sent_together_or_apart(example, monkeypatch, gather, messages):
    """Apart they are a pipeline: a layer begins when the one below has computed its first time step."""
    names = example("model_parallel")
    tf = names["tf"]
    config = tf.ConfigProto(device_count={"CPU": 3}, gather_transfers=gather)
    names["main"].__globals__["config"] = lambda options: config
    outputs = {}
    send = Rendezvous.send

    def counted(table, step, key, message):
        if "CPU:0>" in key and any(np.shape(v) == (names["BATCH"], names["UNITS"]) for v in message):
            outputs[step] = outputs.get(step, 0) + 1
        send(table, step, key, message)

    monkeypatch.setattr(Rendezvous, "send", counted)
    names["main"](["--steps", "2"])
    assert set(outputs.values()) == {messages}


def test_steps_run_at_the_same_time(example, monkeypatch):
    names = example("concurrent_steps")
    session_class = names["tf"].Session
    run, running, most = session_class.run, [], []
    lock = threading.Lock()
    together = threading.Barrier(4)

    def watched(session, fetches, feed_dict=None):
        if feed_dict is None:
            return run(session, fetches)
        with lock:
            running.append(fetches)
            most.append(len(running))
        together.wait(30)  # eight parts of a batch are two rounds of four threads
        try:
            return run(session, fetches, feed_dict)
        finally:
            with lock:
                running.remove(fetches)

    monkeypatch.setattr(session_class, "run", watched)
    losses = names["main"](["--steps", "6"])
    assert max(most) == 4 and len(losses) == 6


def test_flags_that_are_refused(refuses):
    assert "--towers must divide the batch of 48, 5 does not" in refuses("towers", "--towers", "5")
    assert "--devices must be from 1 to 3, not 4" in refuses("model_parallel", "--devices", "4")
    assert "--threads must be at least 1, not 0" in refuses("concurrent_steps", "--threads", "0")
