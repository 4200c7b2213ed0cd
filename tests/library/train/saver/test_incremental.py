"""Savers that write touched rows only: what is read is what was saved, what is kept, and which saves are whole."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from cluster.local_cluster import local_cluster

import headrace as tf
from headrace.library.train.saver.incremental import SMALL
from headrace.resources.file.bundle.base import bases_of
from headrace.resources.file.bundle.writer import BundleWriter

PYTHON = os.environ.get("HEADRACE_TF_PYTHON")
ROWS, WIDTH = 1600, 64
assert ROWS * WIDTH * 4 / 3 > SMALL  # of a third, too


class Job:
    """A graph with a large table, a small vector and other things, a session and a saver."""

    def __init__(self, folder, use_resource=False, partitions=None, device=None, target="", **options):
        self.folder = str(folder)
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.device(device):
            partitioner = tf.fixed_size_partitioner(partitions) if partitions else None
            initial = tf.random_uniform_initializer(seed=1)
            with tf.variable_scope("", use_resource=use_resource, partitioner=partitioner):
                self.table = tf.get_variable("table", [ROWS, WIDTH], initializer=initial)
            self.dense = tf.get_variable(
                "dense", initializer=np.zeros((300, 64), np.float32), use_resource=use_resource
            )
            self.small = tf.get_variable("small", initializer=np.zeros(3, np.float32), use_resource=use_resource)
            self.words = tf.get_variable("words", initializer=np.array([b"a"] * 9, object), dtype=tf.string)
            self.step = tf.train.get_or_create_global_step()
            self.ids = tf.placeholder(tf.int64, [None])
            loss = tf.reduce_sum(tf.nn.embedding_lookup(self.table, self.ids, partition_strategy="div") * 3.0)
            self.touch = tf.train.AdagradOptimizer(0.5).minimize(loss)
            self.rewrite = tf.group(
                self.dense.assign_add(tf.ones([300, 64])),
                self.small.assign_add([1.0, 2.0, 3.0]),
                self.step.assign_add(1),
            )
            self.saver = tf.train.Saver(**{"incremental": 4, **options})
            self.initializer = tf.global_variables_initializer()
        self.session = tf.Session(target, graph=self.graph)
        self.session.run(self.initializer)
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.session.close()

    def train(self, *ids):
        self.session.run(self.touch, {self.ids: ids or [self.count % ROWS, (7 * self.count) % ROWS]})
        self.session.run(self.rewrite)

    def values(self):
        with self.graph.as_default():
            table = tf.convert_to_tensor(self.table).name
        named = {
            "table": table,
            "dense": "dense:0",
            "small": "small:0",
            "words": "words:0",
            "global_step": "global_step:0",
        }
        return self.session.run(named)

    def save(self, folder=None):
        self.count += 1
        with self.graph.as_default():
            return self.saver.save(
                self.session, f"{folder or self.folder}/model", global_step=self.count, write_meta_graph=False
            )


def check(path, values):
    reader = tf.train.load_checkpoint(path)
    for name, value in values.items():
        np.testing.assert_array_equal(reader.get_tensor(name), value, f"{path} {name}")


def is_whole(path):
    return not bases_of(path)


def checkpoints(folder):
    return sorted(path.name.removesuffix(".index") for path in Path(folder).glob("*.index"))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("use_resource", [False, True])
def test_every_save_can_be_read_and_restored(tmp_path, use_resource, asynchronous):
    with Job(tmp_path, use_resource, max_to_keep=None, asynchronous=asynchronous) as job:
        saved = []
        for _ in range(9):
            job.train()
            saved.append((job.values(), job.save()))
        job.saver.wait()
        assert [is_whole(path) for _, path in saved] == [i % 4 == 0 for i in range(9)]
        for values, path in saved:
            check(path, values)
        sizes = [os.path.getsize(f"{path}.data-00000-of-00001") for _, path in saved]
        assert sizes[1] < sizes[0] / 2  # `dense` is in all of them
        for values, path in (saved[7], saved[3]):
            job.saver.restore(job.session, path)
            for name, value in job.values().items():
                np.testing.assert_array_equal(value, values[name])
        assert ("table", [ROWS, WIDTH]) in tf.train.list_variables(saved[7][1])
        assert ("table/Adagrad", [ROWS, WIDTH]) in tf.train.list_variables(saved[7][1])


def test_what_is_half_touched_is_written_as_rows_and_more_as_a_whole(tmp_path):
    with Job(tmp_path) as job:
        base = job.save()
        job.session.run(job.touch, {job.ids: range(ROWS // 2)})
        half = job.save()
        job.session.run(job.touch, {job.ids: range(ROWS // 2 + 1)})
        more = job.save()
        assert [is_whole(path) for path in (base, half, more)] == [True, False, False]  # `dense` was not written
        sizes = [os.path.getsize(f"{path}.data-00000-of-00001") for path in (base, half, more)]
        table = ROWS * WIDTH * 4
        assert sizes[1] < 2 * (table / 2 + ROWS * 4) + 1000
        assert 2 * table < sizes[2] < sizes[0]
        check(more, job.values())


def test_a_save_without_a_step_between(tmp_path):
    with Job(tmp_path) as job:
        job.save()
        path = job.save()
        assert os.path.getsize(f"{path}.data-00000-of-00001") < 1000
        check(path, job.values())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_failed_save_loses_no_rows(tmp_path, monkeypatch, asynchronous):
    with Job(tmp_path, asynchronous=asynchronous) as job:
        job.save()
        job.saver.wait()
        for numbers in ((1, 2), (3,)):
            job.train(*numbers)
            with monkeypatch.context() as patch:
                patch.setattr(
                    BundleWriter, "finish", lambda writer: (_ for _ in ()).throw(OSError(28, "No space left"))
                )
                with pytest.raises(tf.errors.ResourceExhaustedError):
                    job.save()
                    job.saver.wait()
        job.train(4)
        path = job.save()
        job.saver.wait()
        assert [os.path.basename(base) for base in bases_of(path)] == ["model-1"]
        check(path, job.values())


def test_the_first_save_after_a_restore_is_whole(tmp_path):
    with Job(tmp_path) as job:
        paths = [job.save(), job.save()]
        job.saver.restore(job.session, paths[1])
        assert [is_whole(path) for path in (*paths, job.save(), job.save())] == [True, False, True, False]
    with Job(tmp_path) as job:
        assert is_whole(job.save())


def test_another_session_is_saved_right(tmp_path):
    """Its variables do not know the moment that the saver names."""
    with Job(tmp_path) as job:
        job.save()
        with tf.Session(graph=job.graph) as other:
            other.run(job.initializer)
            other.run(job.touch, {job.ids: [5]})
            first, job.session = job.session, other
            check(job.save(), job.values())
            job.session = first
        job.train()
        check(job.save(), job.values())


def test_a_base_that_cannot_be_used_makes_the_next_save_whole(tmp_path):
    with Job(tmp_path) as job:
        first = job.save()
        job.train()
        assert not is_whole(job.save())
        for path in tmp_path.glob(os.path.basename(first) + ".*"):
            path.unlink()
        job.train()
        path = job.save()
        assert is_whole(path)
        check(path, job.values())
        (tmp_path / "other").mkdir()
        with Job(tmp_path / "other") as second:
            replacement = second.save()
        for name in (".index", ".data-00000-of-00001"):
            shutil.copy(replacement + name, path + name)
        job.train()
        assert is_whole(job.save())


def test_other_folders_and_equal_names_are_whole(tmp_path):
    (tmp_path / "other").mkdir()
    with Job(tmp_path) as job:
        job.save()
        job.train()
        assert is_whole(job.save(tmp_path / "other"))
        assert not is_whole(job.save(tmp_path / "other"))
        with job.graph.as_default():
            for _ in range(3):
                job.train()
                path = job.saver.save(job.session, f"{tmp_path}/same", write_meta_graph=False)
                assert is_whole(path)
                check(path, job.values())


def test_bases_are_kept_as_long_as_they_are_needed(tmp_path):
    with Job(tmp_path, max_to_keep=2) as job:
        seen = []
        for _ in range(7):
            job.train()
            path = job.save()
            seen.append("".join(name[-1] for name in checkpoints(tmp_path)))
            assert [os.path.basename(p) for p in job.saver.last_checkpoints] == checkpoints(tmp_path)
            check(path, job.values())
        assert seen == ["1", "12", "123", "1234", "12345", "56", "567"]
        state = tf.train.get_checkpoint_state(str(tmp_path))
        assert [os.path.basename(p) for p in state.all_model_checkpoint_paths] == checkpoints(tmp_path)
    with Job(tmp_path, max_to_keep=2) as job:  # after a restart, also by a saver that is not incremental
        with job.graph.as_default():
            job.saver = tf.train.Saver(max_to_keep=2)
        job.saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        job.count = 7
        job.save()
        assert checkpoints(tmp_path) == ["model-5", "model-6", "model-7", "model-8"]
        job.save()
        assert checkpoints(tmp_path) == ["model-8", "model-9"]


def test_a_checkpoint_that_is_kept_for_good_keeps_its_bases(tmp_path):
    with Job(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=1.0) as job:
        for number in range(1, 6):
            job.train()
            job.save()
            if number == 3:
                job.saver._next_checkpoint_time = sum(when for _, when in job.saver._last_checkpoints[1:]) / 2
        # 3 is the first that was saved after the time: it stays, with 1 and 2, when 5 is whole and the others go
        assert checkpoints(tmp_path) == ["model-1", "model-2", "model-3", "model-5"]
        assert tf.train.load_variable(f"{tmp_path}/model-3", "global_step") == 3


def test_partitioned_tables(tmp_path):
    with Job(tmp_path, partitions=3) as job:
        for _ in range(3):
            job.train()
            path = job.save()
            values = job.values()
            check(path, values)
        assert not is_whole(path)
    for other in (2, None):
        with Job(tmp_path, partitions=other) as job:
            job.saver.restore(job.session, path)
            np.testing.assert_array_equal(job.values()["table"], values["table"])


def test_shards_of_several_devices_and_a_folder_that_is_moved(tmp_path):
    (tmp_path / "a").mkdir()
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as sess:
        tables = []
        for i in range(2):
            with tf.device(f"/cpu:{i}"):
                tables.append(tf.get_variable(f"t{i}", initializer=np.zeros((ROWS, WIDTH), np.float32)))
        ids = tf.placeholder(tf.int64, [None])
        touch = [tf.scatter_add(t, ids, tf.ones([tf.size(ids), WIDTH])).op for t in tables]
        saver = tf.train.Saver(sharded=True, incremental=5, save_relative_paths=True)
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            sess.run(touch[step % 2], {ids: [step, step + 9]})
            path = saver.save(sess, f"{tmp_path}/a/model", global_step=step)
        values = sess.run(tables)
        assert len(bases_of(path)) == 3
        shutil.move(tmp_path / "a", tmp_path / "b")
        latest = tf.train.latest_checkpoint(str(tmp_path / "b"))
        assert latest == f"{tmp_path}/b/model-3"
        check(latest, {"t0": values[0], "t1": values[1]})
        sess.run(tf.global_variables_initializer())
        saver.restore(sess, latest)
        np.testing.assert_array_equal(sess.run(tables), values)


def test_shards_of_several_tasks(tmp_path):
    with local_cluster(ps=2, workers=1) as cluster, tf.Graph().as_default():
        tables = []
        for i in range(2):
            with tf.device(f"/job:ps/task:{i}"):
                tables.append(tf.get_variable(f"t{i}", initializer=np.zeros((ROWS, WIDTH), np.float32)))
        ids = tf.placeholder(tf.int64, [None])
        touch = [tf.scatter_add(t, ids, tf.ones([tf.size(ids), WIDTH])).op for t in tables]
        savers = [tf.train.Saver(sharded=sharded, incremental=5) for sharded in (True, False)]
        with tf.Session(cluster.target("worker", 0)) as sess:
            sess.run(tf.global_variables_initializer())
            for step in range(3):
                sess.run(touch, {ids: [step, step + 9]})
                for name, saver in zip(("sharded", "plain"), savers, strict=True):
                    path = saver.save(sess, f"{tmp_path}/{name}", global_step=step)
                    assert len(bases_of(path)) == step
                    check(path, dict(zip(("t0", "t1"), sess.run(tables), strict=True)))


def test_steps_beside_saves_are_not_lost(tmp_path):
    """The last of many checkpoints, saved while three threads train, after which one more is saved."""
    with Job(tmp_path, incremental=50, max_to_keep=None) as job:

        def train(seed):
            draw = random.Random(seed)
            for _ in range(60):
                job.train(draw.randrange(ROWS), draw.randrange(ROWS))

        threads = [threading.Thread(target=train, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            job.save()
        path = job.save()
        assert not is_whole(path)
        check(path, job.values())


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_steps_saves_failures_and_restores(tmp_path, monkeypatch, seed):
    draw = random.Random(seed)
    with Job(tmp_path, incremental=3, max_to_keep=3, partitions=draw.choice([None, 2])) as job:
        saved = {}
        for _ in range(40):
            action = draw.choice(["touch", "touch", "touch", "dense", "save", "save", "fail", "restore", "initialize"])
            if action == "touch":
                job.session.run(job.touch, {job.ids: [draw.randrange(ROWS) for _ in range(3)]})
            elif action == "dense":
                job.session.run(job.rewrite)
            elif action == "save":
                path = job.save()
                saved[path] = job.values()
            elif action == "fail":
                with monkeypatch.context() as patch:
                    patch.setattr(BundleWriter, "finish", lambda writer: (_ for _ in ()).throw(OSError(5, "broken")))
                    with pytest.raises(tf.errors.OpError):
                        job.save()
            elif action == "restore" and job.saver.last_checkpoints:
                job.saver.restore(job.session, draw.choice(job.saver.last_checkpoints))
            elif action == "initialize":
                job.session.run(job.initializer)
            for path in job.saver.last_checkpoints:
                if action in ("save", "fail"):
                    check(path, saved[path])


def test_an_imported_saver_saves_whole_checkpoints(tmp_path):
    with Job(tmp_path) as job:
        job.save()
        job.train()
        with job.graph.as_default():
            path = job.saver.save(job.session, f"{tmp_path}/with_graph")
        values = job.values()
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{path}.meta")
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run("table:0"), values["table"])
        again = [saver.save(sess, f"{tmp_path}/again", global_step=i) for i in range(2)]
        assert all(is_whole(path) for path in again)
        check(again[1], values)


def test_one_whole_checkpoint_of_a_chain(tmp_path):
    with Job(tmp_path) as job:
        for _ in range(3):
            job.train()
            path = job.save()
        values = job.values()
        merged = tf.train.merge_checkpoint(path, f"{tmp_path}/merged")
        assert merged == f"{tmp_path}/merged"
        assert is_whole(merged)
        assert tf.train.list_variables(merged) == tf.train.list_variables(path)
        for used in (path, *bases_of(path)):
            with pytest.raises(ValueError, match="needs another name"):
                tf.train.merge_checkpoint(path, used)
        for name in checkpoints(tmp_path):
            if name != "merged":
                tf.train.remove_checkpoint(f"{tmp_path}/{name}")
        check(merged, values)
        job.saver.restore(job.session, merged)


def test_monitored_sessions_save_increments(tmp_path):
    with tf.Graph().as_default():
        table = tf.get_variable("table", initializer=np.zeros((ROWS, WIDTH), np.float32))
        step = tf.train.get_or_create_global_step()
        touch = tf.group(tf.scatter_add(table, [step], tf.ones([1, WIDTH])), step.assign_add(1))
        scaffold = tf.train.Scaffold(saver=tf.train.Saver(sharded=True, incremental=10))
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), scaffold=scaffold, save_checkpoint_steps=2, save_summaries_steps=None,
            log_step_count_steps=None,
        ) as sess:  # fmt: skip
            for _ in range(8):
                sess.run(touch)
    tf.summary.FileWriterCache.clear()
    latest = tf.train.latest_checkpoint(str(tmp_path))
    assert len(bases_of(latest)) == 4
    found = tf.train.load_variable(latest, "table")
    assert found.sum() == 8 * WIDTH


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"incremental": 2.5}, TypeError, r"incremental must be a number of saves or None, got 2.5 \("),
        ({"incremental": True}, TypeError, "incremental must be a number of saves or None, got True"),
        ({"incremental": 0}, ValueError, "incremental must be at least 1 and at most 100, got 0"),
        ({"incremental": 101}, ValueError, "at most 100, got 101"),
        ({"incremental": 3, "builder": tf.train.BaseSaverBuilder()}, ValueError, "incremental=3 .* it has builder"),
    ],
)
def test_refused_options(options, error, message):
    tf.Variable(1.0)
    with pytest.raises(error, match=message):
        tf.train.Saver(**options)


def test_it_is_not_for_eager_execution():
    with tf.eager_mode(), pytest.raises(ValueError, match="eager execution"):
        tf.train.Saver([tf.Variable(1.0)], incremental=3)


TENSORFLOW = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
whole, delta, merged = sys.argv[1:]
assert tf.train.load_variable(whole, "table").sum() > 0
print(repr(float(tf.train.load_variable(merged, "table").sum())), tf.train.load_variable(merged, "global_step"))
try:
    tf.train.load_variable(delta, "table")
except Exception as error:
    print(error)
"""


@pytest.mark.skipif(not PYTHON, reason="HEADRACE_TF_PYTHON is not set")
@pytest.mark.timeout(300)
def test_tensorflow_reads_whole_and_merged_ones_and_refuses_others(tmp_path):
    with Job(tmp_path) as job:
        whole = job.save()
        job.train()
        delta = job.save()
        merged = tf.train.merge_checkpoint(delta, f"{tmp_path}/merged")
        expected = float(tf.train.load_variable(delta, "table").sum())
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONWARNINGS")}
    done = subprocess.run(
        [str(PYTHON), "-c", TENSORFLOW, whole, delta, merged],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) >= 2, done.stderr[-3000:]
    assert lines[0] == f"{expected!r} 1"
    assert "version" in lines[1]
