"""Random chains that are cut at a random element, or whose process is killed: they go on exactly."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from golden.dataset_cases import LIMIT, Chain, taken

import headrace as tf

GROUPS, EACH = 10, 20
SOME = 4  # groups of each run; the ring `full` has the others too
FIRST = 5000  # of the seeds: other chains than those that are compared with TensorFlow


def grown(seed, folder):
    """A chain, every second one with calls that are under way when it is cut; None if it is refused."""
    folder.mkdir(exist_ok=True)
    chain = Chain(tf, seed, str(folder), resumable=True)
    try:
        dataset = chain.grown()
        if seed % 2:
            dataset = dataset.map(chain.mapped("same"), num_parallel_calls=3).prefetch(2)
    except (TypeError, ValueError):
        return None
    return None if chain.unordered and chain.stuck else (dataset, chain.unordered)


def iterator_of(dataset):
    iterator = dataset.make_initializable_iterator()
    saver = tf.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    return iterator, iterator.get_next(), saver


def drained(sess, element, limit):
    """So many elements, or all there are."""
    return taken(tf, sess, element, limit=limit)[0]


@pytest.mark.parametrize("group", range(SOME))
def test_cut_anywhere(group, tmp_path):
    cut_and_compare(group, tmp_path)


@pytest.mark.parametrize("group", range(SOME, GROUPS))
def test_more_are_cut_anywhere(group, tmp_path, full_length):
    cut_and_compare(group, tmp_path)


def cut_and_compare(group, tmp_path):
    compared = 0
    for seed in range(FIRST + 100 * group, FIRST + 100 * (group + 1)):
        with tf.Graph().as_default():
            made = grown(seed, tmp_path / f"whole{seed}")
            if made is None:
                continue
            iterator, element, _ = iterator_of(made[0])
            with tf.Session() as sess:
                sess.run(tf.tables_initializer())
                if not begins(sess, iterator):
                    continue
                whole = drained(sess, element, LIMIT)
        at = random.Random(seed).randint(0, len(whole))
        first, path = first_part(seed, at, tmp_path / f"cut{seed}")
        rest = second_part(seed, LIMIT - at, tmp_path / f"cut{seed}", path)
        if made[1]:
            first, rest, whole = [], sorted(first + rest, key=str), sorted(whole, key=str)
        assert first + rest == whole, f"chain {seed}, cut at {at}"
        compared += 1
        if compared == EACH:
            return
    pytest.fail(f"only {compared} chains of group {group} were compared")


def begins(sess, iterator):
    try:
        sess.run(iterator.initializer)
    except tf.errors.OpError:
        return False
    return True


def first_part(seed, count, folder):
    with tf.Graph().as_default():
        iterator, element, saver = iterator_of(grown(seed, folder)[0])
        with tf.Session() as sess:
            sess.run([tf.tables_initializer(), iterator.initializer])
            return drained(sess, element, count), saver.save(sess, str(folder / "at"))


def second_part(seed, count, folder, path):
    with tf.Graph().as_default():
        iterator, element, saver = iterator_of(grown(seed, folder)[0])
        with tf.Session() as sess:
            sess.run(tf.tables_initializer())
            saver.restore(sess, path)
            sess.run(iterator.initializer)
            return drained(sess, element, count)


# ---- a process that is killed

STEPS, CHAINS, KILLS = 60, 40, 25
UNORDERED, SAVES = -1, -2  # what a line is about that is not about a step


def train(folder):
    """Takes elements of many chains, says each step what they were, and saves every third step."""
    chains = []
    for seed in range(FIRST, FIRST + 400):
        made = grown(seed, folder / f"files{seed}")
        if made is not None:
            dataset, unordered = made
            iterator = (dataset if unordered else dataset.repeat()).make_initializable_iterator()
            with tf.Session() as sess:
                sess.run(tf.tables_initializer())
                if begins(sess, iterator):
                    chains.append((iterator, iterator.get_next(), unordered))
        if len(chains) == CHAINS:
            break
    step = tf.train.get_or_create_global_step()
    forward = tf.assign_add(step, 1)
    begin = [tf.tables_initializer(), *(iterator.initializer for iterator, *_ in chains)]
    saver = tf.train.Saver([*tf.global_variables(), *tf.train.exact_state(iterators=True)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        last = tf.train.latest_checkpoint(str(folder))
        if last is not None:
            saver.restore(sess, last)
        sess.run(begin)
        print(json.dumps([UNORDERED, [unordered for *_, unordered in chains]]), flush=True)
        for number in range(int(sess.run(step)), STEPS):
            elements = [taken(tf, sess, element, limit=1)[0] for _, element, _ in chains]
            print(json.dumps([number, elements]), flush=True)
            if sess.run(forward) % 3 == 0:
                print(json.dumps([SAVES, number]), flush=True)
                saver.save(sess, str(folder / "model"), global_step=number + 1)


def lines_of(folder):
    """A process that trains, and the lines that it writes."""
    folder.mkdir(exist_ok=True)
    program = (
        f"from library.data.test_checkpoint_resume import train; from pathlib import Path; train(Path({str(folder)!r}))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )


def test_killed_anywhere(full_length, tmp_path):
    with lines_of(tmp_path / "whole") as process:
        whole = dict(map(json.loads, process.stdout))
    draw = random.Random(1)
    got = {}
    for kill in range(KILLS + 1):
        with lines_of(tmp_path / "killed") as process:
            left, at_saving = draw.randint(1, 12), draw.random() < 0.5
            for number, content in map(json.loads, process.stdout):
                got[number] = content
                left -= 1
                if kill < KILLS and left <= 0 and (number == SAVES or not at_saving):
                    process.kill()
        if process.returncode == 0:
            break
    assert kill > 5, "it was done before it was killed often enough"
    assert sorted(got) == sorted(whole) == [SAVES, UNORDERED, *range(STEPS)]
    for chain, unordered in enumerate(whole[UNORDERED]):
        ours, theirs = ([steps[i][chain] for i in range(STEPS)] for steps in (got, whole))
        if unordered:
            ours, theirs = sorted(ours, key=str), sorted(theirs, key=str)
        assert ours == theirs, f"chain {chain}"
