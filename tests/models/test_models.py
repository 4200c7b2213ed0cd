"""Every model, small: it trains, starts from the seeded values, and reads a resident batch as it reads a fed one."""

import importlib

import numpy as np
import pytest

import headrace as tf
from headrace.models import layer, lstm_lm, seeded

SEQUENCE = {"steps": 3, "vocabulary": 30}
SMALL = {
    "logistic": (1, {}, {}),
    "mlp": (4, {"hidden": 16}, {}),
    "lenet": (4, {"filters": (4, 8), "hidden": 16}, {}),
    "alexnet": (2, {"divide": 32}, {"size": 64}),
    "overfeat": (2, {"divide": 32}, {"size": 71}),
    "vgg": (2, {"divide": 32}, {"size": 32}),
    "googlenet": (2, {"divide": 8}, {"size": 32}),
    "inception_v3": (2, {"divide": 16}, {"size": 75}),
    "lstm_lm": (2, {"hidden": 8}, SEQUENCE),
    "transformer": (2, {"width": 8, "layers": 2, "heads": 2}, SEQUENCE),
    "gpt2": (2, {"width": 8, "layers": 2, "heads": 2}, SEQUENCE),
    "bert": (4, {"width": 8, "layers": 2, "heads": 2, "dropout": 0.0}, SEQUENCE),
    "embedding": (10, {}, {"rows": 100}),
}
LEARNING_RATES = {"gpt2": 0.01, "bert": 0.01, "alexnet": 0.01, "overfeat": 0.01, "vgg": 0.01, "googlenet": 0.002}


def build(name, resident=False):
    """The small model, its module and a batch."""
    batch, own, shared = SMALL[name]
    module = importlib.import_module(f"headrace.models.{name}")
    rate = {"learning_rate": LEARNING_RATES[name]} if name in LEARNING_RATES else {}
    return module.build(batch, resident=resident, **own, **shared, **rate), module.example(batch, **shared)


def session():
    return tf.Session(config=tf.ConfigProto(compile="off"))


@pytest.mark.parametrize("name", SMALL)
def test_the_loss_falls(name):
    with tf.Graph().as_default(), session() as running:
        model, batch = build(name)
        running.run(tf.global_variables_initializer())  # what optimizers keep
        model.initialize(running)
        losses = [model.step(running, *batch) for _ in range(5)]
    assert np.isfinite(losses).all()
    assert min(losses[1:]) < losses[0]


@pytest.mark.parametrize("name", ["mlp", "lenet", "lstm_lm", "embedding"])
def test_a_resident_batch_gives_the_same_losses(name):
    losses = {}
    for resident in (False, True):
        with tf.Graph().as_default(), session() as running:
            model, batch = build(name, resident)
            model.initialize(running)
            if resident:
                model.hold(running, *batch)
                losses[True] = [float(running.run([model.loss, model.train_op])[0]) for _ in range(3)]
            else:
                losses[False] = [model.step(running, *batch) for _ in range(3)]
    assert losses[True] == pytest.approx(losses[False], rel=1e-6)


def test_dynamic_layers_compute_what_unrolled_ones_do():
    losses = []
    for dynamic in (False, True):
        with tf.Graph().as_default(), session() as running:
            model = lstm_lm.build(2, hidden=8, dynamic=dynamic, **SEQUENCE)
            model.initialize(running)
            losses.append([model.step(running, *lstm_lm.example(2, **SEQUENCE)) for _ in range(3)])
            assert any("while" in node.name for node in running.graph.get_operations()) == dynamic
    assert losses[1] == pytest.approx(losses[0], rel=1e-6)


def test_the_graphs_own_initializers_train_too():
    with tf.Graph().as_default(), session() as running:
        tf.set_random_seed(1)
        model, batch = build("mlp")
        running.run(tf.global_variables_initializer())
        losses = [model.step(running, *batch) for _ in range(5)]
    assert losses[-1] < losses[0]


def test_initial_values_depend_on_the_name_and_the_seed_only():
    first, again = (seeded.initial_value("a/kernel", (3, 4)) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, seeded.initial_value("b/kernel", (3, 4)))
    assert not np.array_equal(first, seeded.initial_value("a/kernel", (3, 4), seed=1))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("x/bias", 0.0, 0.0),
        ("x/beta", 0.0, 0.0),
        ("x/gamma", 1.0, 1.0),
        ("x/moving_variance", 1.0, 1.0),
        ("x/table", -0.05, 0.05),
    ],
)
def test_initial_values_by_kind(name, low, high):
    value = seeded.initial_value(name, (50,))
    assert value.dtype == np.float32
    assert low <= value.min() <= value.max() <= high


def test_kernels_keep_the_variance_of_what_they_multiply():
    kernel = seeded.initial_value("x/kernel", (3, 3, 64, 64))
    assert kernel.std() == pytest.approx(np.sqrt(2 / (3 * 3 * 64)), rel=0.02)


def test_the_networks_have_the_published_numbers_of_parameters():
    """In millions, from the literature; Inception-v3 without its side classifier and without scales."""
    published = {"alexnet": 61.1, "vgg": 132.9, "googlenet": 7.0, "inception_v3": 23.8}
    for name, millions in published.items():
        with tf.Graph().as_default():
            module = importlib.import_module(f"headrace.models.{name}")
            module.network(layer, tf.zeros([1, module.SIZE, module.SIZE, 3]))
            count = sum(np.prod(variable.shape.as_list()) for variable in tf.trainable_variables())
        assert count / 1e6 == pytest.approx(millions, rel=0.01), name


def test_the_lstm_has_one_kernel_and_one_bias_for_a_layer():
    with tf.Graph().as_default():
        model, _ = build("lstm_lm")
    shapes = {variable.op.name: variable.shape.as_list() for variable in model.variables}
    assert shapes["lstm1/kernel"] == [16, 32]
    assert shapes["lstm2/bias"] == [32]
