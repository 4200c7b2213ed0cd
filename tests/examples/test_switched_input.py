"""One network, two inputs: it learns with both kinds of iterators, and validates on the same images each time."""

import numpy as np
import pytest


@pytest.mark.parametrize("iterator", ["structure", "handle"])
def test_it_learns(example, iterator, capsys):
    losses, accuracies = example("switched_input")["main"](["--steps", "150", "--iterator", iterator])
    assert len(losses) == 150 and np.mean(losses[-20:]) < 0.6 * np.mean(losses[:5])
    assert len(accuracies) == 3 and accuracies[-1] > 0.75
    assert "step  149  loss" in capsys.readouterr().out


def test_training_goes_on_where_it_was(example):
    names = example("switched_input")
    tf = names["tf"]
    training, validation = tf.data.Dataset.range(10).repeat(), tf.data.Dataset.range(100, 103)
    inputs = names["Fed"](training, validation)
    with tf.Session() as session:
        inputs.start(session)
        taken = []
        for _ in range(3):
            taken += [session.run(inputs.element, inputs.training) for _ in range(2)]
            assert inputs.validate(session, tf.reshape(inputs.element, [1])) == 101
    assert taken == [0, 1, 2, 3, 4, 5]
