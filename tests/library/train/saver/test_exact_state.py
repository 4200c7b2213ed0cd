"""tf.train.exact_state: a job that was stopped goes on bit by bit as one that was not."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headrace as tf
from headrace.core import errors
from headrace.eager.context import eager_mode

Build = Callable[[], tuple[Any, list[Any]]]  # what to fetch in each step, and further state to save


def losses(
    build: Build, folder: Path, steps: int, restore: str | None = None, mode: str = "off"
) -> tuple[list[bytes], str]:
    """The results of some steps in a session of its own, and the checkpoint after them."""
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(compile=mode)) as sess:
        fetch, state = build()
        saver = tf.train.Saver(tf.global_variables() + state, allow_empty=True)
        if restore:
            saver.restore(sess, restore)
        else:
            sess.run(tf.global_variables_initializer())
        results = [b"".join(np.asarray(part).tobytes() for part in sess.run(fetch)) for _ in range(steps)]
        return results, saver.save(sess, f"{folder}/model-{len(os.listdir(folder))}", write_meta_graph=False)


def check_resumes(build: Build, folder: Path, mode: str = "off") -> None:
    """Three steps and four more in another session are the same as seven."""
    whole, _ = losses(build, folder, 7, mode=mode)
    first, path = losses(build, folder, 3, mode=mode)
    second, _ = losses(build, folder, 4, path, mode)
    assert first + second == whole
    assert len(set(whole)) == 7  # it does draw numbers


def train(optimizer: Any = None) -> tuple[Any, list[Any]]:
    tf.set_random_seed(7)
    x = tf.random_normal([16, 8])
    hidden = tf.nn.dropout(tf.layers.dense(x, 32, activation=tf.nn.relu), rate=0.5)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1) - tf.reduce_sum(x, 1, keepdims=True)))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.1, step, 2, 0.9)
    optimizer = optimizer or tf.train.AdamOptimizer
    update = optimizer(rate).minimize(loss, step)
    with tf.control_dependencies([update]):
        return [tf.identity(loss)], tf.train.exact_state()


@pytest.fixture
def deterministic(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HEADRACE_DETERMINISTIC", "1")
    yield
    torch.use_deterministic_algorithms(False)


# ---- generators


@pytest.mark.parametrize("mode", ["off", "always"])
def test_dropout_adam_and_decay(tmp_path: Path, deterministic: None, mode: str) -> None:
    check_resumes(train, tmp_path, mode)


def test_momentum(tmp_path: Path) -> None:
    check_resumes(lambda: train(lambda rate: tf.train.MomentumOptimizer(rate, 0.9)), tmp_path)


def test_without_exact_state_the_numbers_differ(tmp_path: Path) -> None:
    whole, _ = losses(train, tmp_path, 4)
    _, path = losses(lambda: (train()[0], []), tmp_path, 2)
    second, _ = losses(lambda: (train()[0], []), tmp_path, 2, path)
    assert second != whole[2:]


@pytest.mark.parametrize("control_flow", ["auto", "lowered"])
def test_inside_loops_conditionals_and_functions(tmp_path: Path, control_flow: str) -> None:
    @tf.function
    def noisy(x: Any) -> Any:
        return x * tf.random_uniform([])

    def build() -> tuple[Any, list[Any]]:
        tf.set_random_seed(1)
        _, looped = tf.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.random_normal([2])), [0, tf.zeros([2])]
        )
        chosen = tf.cond(tf.random_uniform([]) < 0.5, lambda: tf.random_normal([]), lambda: tf.random_uniform([]))
        mapped = tf.map_fn(lambda x: tf.nn.dropout(x, 0.5), tf.ones([3, 4]))
        return [looped, chosen, mapped, noisy(tf.constant(1.0))], tf.train.exact_state()

    def run(steps: int, restore: str | None = None) -> tuple[list[bytes], str]:
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(control_flow=control_flow)) as sess:
            fetch, state = build()
            saver = tf.train.Saver(state)
            if restore:
                saver.restore(sess, restore)
            results = [b"".join(part.tobytes() for part in sess.run(fetch)) for _ in range(steps)]
            return results, saver.save(sess, f"{tmp_path}/model", write_meta_graph=False)

    whole, _ = run(6)
    first, path = run(2)
    assert first + run(4, path)[0] == whole


def test_nodes_without_seeds_and_seeds_of_single_ops(tmp_path: Path) -> None:
    """A generator without a seed starts anywhere, and goes on where it was."""
    with tf.Graph().as_default(), tf.Session() as sess:
        fetch = [tf.random_normal([4]), tf.random_uniform([4], seed=3)]
        saver = tf.train.Saver(tf.train.exact_state())
        sess.run(fetch)
        path = saver.save(sess, f"{tmp_path}/model")
        expected = sess.run(fetch)
    with tf.Graph().as_default(), tf.Session() as sess:
        fetch = [tf.random_normal([4]), tf.random_uniform([4], seed=3)]
        saver = tf.train.Saver(tf.train.exact_state())
        sess.run(fetch)  # what is there is set back, too
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(fetch), expected)


def test_other_states_of_nodes(tmp_path: Path) -> None:
    """Samplers with what they have learned, boxes, fractional pools, shuffling, dropping: whatever keeps a generator."""

    def build() -> tuple[Any, list[Any]]:
        tf.set_random_seed(2)
        classes = tf.constant([[1], [2]], tf.int64)
        image = tf.reshape(tf.range(7 * 7.0), [1, 7, 7, 1])
        fetch = [
            tf.nn.learned_unigram_candidate_sampler(classes, 1, 3, False, 20).sampled_candidates,
            tf.nn.log_uniform_candidate_sampler(classes, 1, 3, True, 1000).sampled_candidates,
            tf.image.sample_distorted_bounding_box([50, 60, 3], tf.constant([[[0.1, 0.2, 0.5, 0.9]]]))[0],
            tf.nn.fractional_max_pool(image, [1.0, 1.5, 1.5, 1.0], seed=1, seed2=2)[0],
            tf.random_shuffle(tf.range(20)), tf.multinomial([[0.1, 0.2, 0.3]], 9), tf.random_gamma([3], 2.0),
            tf.random_poisson(3.0, [4]), tf.truncated_normal([3]),
        ]  # fmt: skip
        return fetch, tf.train.exact_state()

    check_resumes(build, tmp_path)


def test_regions_drawn_once_stay(tmp_path: Path) -> None:
    def build() -> tuple[Any, list[Any]]:
        image = tf.random_normal([1, 7, 7, 1], seed=1)
        pooled = tf.nn.fractional_avg_pool(image, [1.0, 1.5, 1.5, 1.0], deterministic=True, seed=1, seed2=2)
        return [*pooled], tf.train.exact_state()

    check_resumes(build, tmp_path)


def test_a_state_of_another_device_is_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        drawn = tf.random_normal([2], name="drawn")
        sess.run(drawn)
        restore = tf.raw_ops._RestoreNodeStates(names=[b"drawn/RandomStandardNormal"], states=[b"torch cuda:1234"])
        with pytest.raises(
            errors.InvalidArgumentError, match=r"state of drawn/\S+ .* one of 'torch cuda', and .* 'torch cpu'"
        ):
            sess.run(restore)
        later = tf.random_normal([2], name="later")
        sess.run(tf.raw_ops._RestoreNodeStates(names=[b"later/RandomStandardNormal"], states=[b"numpy:{}"]))
        with pytest.raises(
            errors.InvalidArgumentError, match=r"state of later/\S+ .*(\n.*)*made at \S+test_exact_state.py:"
        ):
            sess.run(later)


def test_in_the_collection_of_saveable_objects(tmp_path: Path) -> None:
    """Savers that save everything save it too; a default saver without it is TensorFlow's."""
    tf.Variable(1.0, name="v")
    assert [name for name, _ in saved_names(tf.train.Saver(), tmp_path / "a")] == ["v"]
    for one in tf.train.exact_state():
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, one)
    names = [name for name, _ in saved_names(tf.train.Saver(), tmp_path / "b")]
    assert names == ["exact_state/nodes/names", "exact_state/nodes/states", "v"]


def saved_names(saver: Any, prefix: Path) -> list[Any]:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return tf.train.list_variables(saver.save(sess, str(prefix), write_meta_graph=False))


def test_eagerly_there_is_no_graph() -> None:
    with eager_mode(), pytest.raises(RuntimeError, match="exact_state is about the nodes of a graph"):
        tf.train.exact_state()


# ---- queues and readers


def queue_kinds() -> dict[str, Callable[[], Any]]:
    return {
        "fifo": lambda: tf.FIFOQueue(50, [tf.float32, tf.string], [[2], []]),
        "shuffle": lambda: tf.RandomShuffleQueue(50, 3, [tf.float32, tf.string], [[2], []], seed=4),
        "shuffle without a seed": lambda: tf.RandomShuffleQueue(50, 3, [tf.float32, tf.string], [[2], []]),
        "padding": lambda: tf.PaddingFIFOQueue(50, [tf.float32, tf.string], [[None], []]),
    }


@pytest.mark.parametrize("kind", queue_kinds())
def test_queues_go_on(tmp_path: Path, kind: str) -> None:
    rows, words = np.arange(40, dtype=np.float32).reshape(20, 2), [b"%d" % i for i in range(20)]

    def build() -> tuple[Any, Any, Any]:
        queue = queue_kinds()[kind]()
        return queue, queue.enqueue_many([rows, words]), tf.train.Saver(tf.train.exact_state(queues=[queue]))

    with tf.Graph().as_default(), tf.Session() as sess:
        queue, fill, saver = build()
        taken = queue.dequeue()
        sess.run(fill)
        for _ in range(5):
            sess.run(taken)
        path = saver.save(sess, f"{tmp_path}/model")
        expected = [sess.run(taken) for _ in range(12)]
    with tf.Graph().as_default(), tf.Session() as sess:
        queue, fill, saver = build()
        sess.run(fill)  # replaced
        saver.restore(sess, path)
        assert sess.run(queue.size()) == 15
        taken = queue.dequeue()
        for row, word in expected:
            again, again_word = sess.run(taken)
            assert (again.tolist(), again_word) == (row.tolist(), word)


def test_a_priority_queue_and_a_closed_one(tmp_path: Path) -> None:
    def build() -> tuple[Any, Any]:
        queue = tf.PriorityQueue(20, [tf.string], [[]])
        return queue, tf.train.Saver(tf.train.exact_state(queues=True))

    with tf.Graph().as_default(), tf.Session() as sess:
        queue, saver = build()
        sess.run(queue.enqueue_many([np.array([3, 1, 3, 2], np.int64), [b"a", b"b", b"c", b"d"]]))
        sess.run(queue.close())
        path = saver.save(sess, f"{tmp_path}/model")
    with tf.Graph().as_default(), tf.Session() as sess:
        queue, saver = build()
        saver.restore(sess, path)
        taken = queue.dequeue()
        assert [sess.run(taken)[1] for _ in range(4)] == [b"b", b"d", b"a", b"c"]
        with pytest.raises(errors.OutOfRangeError):
            sess.run(taken)


def test_another_queue_is_refused(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(5, [tf.float32], [[]], name="q")
        v = tf.Variable(1.0, name="v")
        sess.run([queue.enqueue(1.0), v.initializer])
        path = tf.train.Saver([v, *tf.train.exact_state(queues=[queue])]).save(sess, f"{tmp_path}/model")
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(5, [tf.int32], [[]], name="q")
        v = tf.Variable(2.0, name="v")
        saver = tf.train.Saver([v, *tf.train.exact_state(queues=[queue])])
        sess.run(v.initializer)
        with pytest.raises(errors.InvalidArgumentError, match="a saved element is not of FIFOQueue 'q'"):
            saver.restore(sess, path)
        assert sess.run(v) == 2.0  # nothing is half restored
        with pytest.raises(TypeError, match="queues must be a list of queues, or True"):
            tf.train.exact_state(queues=queue)
        with pytest.raises(TypeError, match="readers must be a list of readers"):
            tf.train.exact_state(readers=[queue])


@pytest.mark.parametrize("kind", ["lines", "records"])
def test_readers_go_on_within_a_file(tmp_path: Path, kind: str) -> None:
    files = []
    for number in range(2):
        files.append(str(tmp_path / f"{number}.data"))
        lines = [b"%d-%d" % (number, i) for i in range(6)]
        if kind == "lines":
            Path(files[-1]).write_bytes(b"\n".join(lines))
        else:
            with tf.python_io.TFRecordWriter(files[-1]) as writer:
                for line in lines:
                    writer.write(line)

    def build() -> tuple[Any, Any, Any]:
        names = tf.FIFOQueue(10, [tf.string], [[]], name="names")
        reader = tf.TextLineReader() if kind == "lines" else tf.TFRecordReader()
        state = tf.train.exact_state(queues=[names], readers=[reader])
        return names.enqueue_many([files]), reader.read(names), tf.train.Saver(state)

    with tf.Graph().as_default(), tf.Session() as sess:
        fill, record, saver = build()
        sess.run(fill)
        for _ in range(4):
            sess.run(record)
        path = saver.save(sess, f"{tmp_path}/model")
        expected = [sess.run(record) for _ in range(8)]
    with tf.Graph().as_default(), tf.Session() as sess:
        _, record, saver = build()
        saver.restore(sess, path)
        assert [sess.run(record) for _ in range(8)] == expected
    Path(files[0]).write_bytes(b"one\n" if kind == "lines" else b"")
    with tf.Graph().as_default(), tf.Session() as sess:
        _, record, saver = build()
        with pytest.raises(errors.DataLossError, match="had read 4 records of .*0.data, which has only"):
            saver.restore(sess, path)


def test_a_queue_runner_that_waits(tmp_path: Path) -> None:
    """What a producer waits to add is not in the queue, and what a consumer has gathered is."""
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(3, [tf.int32], [[]])
        runner = tf.train.QueueRunner(queue, [queue.enqueue_many([[1, 2, 3, 4, 5]])])
        saver = tf.train.Saver(tf.train.exact_state(queues=[queue]))
        size = queue.size()
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(sess, coordinator, daemon=True, start=True)
        while not (sess.run(size) == 3 and "wait to be added" in sess.waiting()):
            pass
        path = saver.save(sess, f"{tmp_path}/model")
        coordinator.request_stop()
        sess.run(queue.close(cancel_pending_enqueues=True))
        coordinator.join(threads)
    reader = tf.train.load_checkpoint(path)
    assert reader.get_tensor("exact_state/queue/fifo_queue/elements").shape == (3, 1)
    assert reader.get_tensor("exact_state/queue/fifo_queue/position").tolist() == [0]


# ---- a job that is killed


def test_a_killed_job_resumes_bit_by_bit(tmp_path: Path) -> None:
    environment = {**os.environ, "HEADRACE_DETERMINISTIC": "1", "HEADRACE_COMPILE": "off", "OMP_NUM_THREADS": "1"}

    def run(folder: str, *arguments: int) -> tuple[int, dict[str, str]]:
        (tmp_path / folder).mkdir(exist_ok=True)
        command = [sys.executable, str(Path(__file__).with_name("exact_job.py")), str(tmp_path / folder)]
        ended = subprocess.run(
            [*command, *map(str, arguments)], capture_output=True, text=True, timeout=100, env=environment
        )
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        return ended.returncode, dict(line.split() for line in ended.stdout.splitlines())

    _, whole = run("whole", 14, 100)
    code, before = run("killed", 14, 3, 8)  # saved after steps 3 and 6
    assert code == -signal.SIGKILL
    code, after = run("killed", 14, 3)
    assert code == 0
    assert min(map(int, after)) == 6
    assert {**before, **after} == whole
