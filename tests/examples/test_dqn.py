"""The deep Q-learning example: it learns, and its parts do what they say."""

import numpy as np


def test_it_learns_to_balance(example, capsys):
    tries = example("dqn")["main"]([])
    assert tries[0] < 40  # no better than chance
    assert tries[-1] >= 150 and len(tries) <= 20  # before step 2000, and mostly long before
    assert f"mean length {tries[-1]:5.1f}" in capsys.readouterr().out


def test_the_target_follows_only_when_told(example):
    names = example("dqn")
    tf = names["tf"]
    with tf.Graph().as_default(), tf.Session() as session:
        agent = names["Agent"](np.random.RandomState(0))
        network, target = tf.trainable_variables("network"), tf.trainable_variables("target")
        session.run(tf.global_variables_initializer())
        before = session.run(target)
        batch = np.ones((2, 4), np.float32), [0, 1], np.ones((2, 4), np.float32), [0.0, 1.0]
        session.run(agent.train, agent.feeds(batch))
        assert all(np.array_equal(a, b) for a, b in zip(before, session.run(target), strict=True))
        assert not np.array_equal(before[0], session.run(network[0]))
        session.run(agent.copy)
        assert all(np.array_equal(*session.run(pair)) for pair in zip(network, target, strict=True))


def test_the_memory_forgets_the_oldest(example):
    memory = example("dqn")["Memory"](4)
    for i in range(3):
        memory.add(np.full((2, 4), i), [i, i], np.full((2, 4), i), [False, True])
    states, actions, reached, fell = memory.sample(100, np.random.RandomState(0))
    assert set(actions.tolist()) == {1, 2} and set(fell.tolist()) == {0.0, 1.0}
    assert np.array_equal(states, reached) and np.array_equal(states[:, 0], actions)


def test_bad_flags(refuses):
    assert "--explore is a probability, not 2" in refuses("dqn", "--explore", "2")
    assert "invalid int value: 'many'" in refuses("dqn", "--steps", "many")
