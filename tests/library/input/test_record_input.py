"""RecordInput: every record once an epoch, in random order, by threads that end with the session."""

import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from library.queue.background import Background, run_that_waits, wait_until

import headrace as tf
from headrace.library.input.record_input import RecordInput
from headrace.tensorflow import names

OFF = tf.ConfigProto(compile="off")
GENEROUS = tf.RunOptions(timeout_in_ms=30_000)


def readers() -> int:
    return sum(thread.name == "RecordInput" for thread in threading.enumerate())


@pytest.fixture
def files(tmp_path: Path) -> str:
    """Four files of six records: a0 ... a5, b0 ..."""
    for letter in "abcd":
        _write(tmp_path / f"{letter}.tfrecord", [f"{letter}{i}".encode() for i in range(6)])
    return str(tmp_path / "*.tfrecord")


def _write(path: Path, records: list[bytes], compression: str = "") -> None:
    with tf.python_io.TFRecordWriter(str(path), tf.python_io.TFRecordOptions(compression or None)) as writer:
        for record in records:
            writer.write(record)


ALL = sorted(f"{letter}{i}".encode() for letter in "abcd" for i in range(6))


def test_old_imports_find_it() -> None:
    assert "library.input.record_input" in (names.places("python.ops.data_flow_ops") or ())


@pytest.mark.parametrize("settings", [{}, {"buffer_size": 7, "parallelism": 3}, {"buffer_size": 100, "parallelism": 9}])
def test_every_epoch_gives_every_record_once(interpreted: tf.Session, files: str, settings: dict[str, Any]) -> None:
    records = RecordInput(files, batch_size=4, shift_ratio=0.5, seed=3, **settings).get_yield_op()
    assert records.shape.as_list() == [4] and records.dtype == tf.string
    epochs = [[r for _ in range(6) for r in interpreted.run(records, options=GENEROUS)] for _ in range(3)]
    assert [sorted(epoch) for epoch in epochs] == [ALL] * 3
    assert epochs[0] != epochs[1] != epochs[2]  # from the files in another order


def test_a_batch_may_hold_the_end_of_an_epoch(interpreted: tf.Session, files: str) -> None:
    records = RecordInput(files, batch_size=36, buffer_size=5).get_yield_op()
    counts = Counter(interpreted.run(records, options=GENEROUS).tolist())
    assert sorted(counts) == ALL and Counter(counts.values()) == {1: 12, 2: 12}


def test_several_batches(interpreted: tf.Session, files: str) -> None:
    batches = RecordInput(files, batch_size=2, batches=3).get_yield_op()
    assert [[r.shape.as_list() for r in batch] for batch in batches] == [[[], []]] * 3
    taken = interpreted.run(batches, options=GENEROUS)
    assert len({r for batch in taken for r in batch}) == 6


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_compressed_files(interpreted: tf.Session, tmp_path: Path, compression: str) -> None:
    _write(tmp_path / "one", [b"x", b""], compression)
    kind = getattr(tf.python_io.TFRecordCompressionType, compression)
    records = RecordInput(str(tmp_path / "one"), batch_size=2, compression_type=kind).get_yield_op()
    assert sorted(interpreted.run(records, options=GENEROUS)) == [b"", b"x"]


def test_threads_begin_with_the_first_run_and_end_with_the_session(files: str) -> None:
    records = RecordInput(files, parallelism=2, buffer_size=3).get_yield_op()
    sess = tf.Session(config=OFF)
    assert readers() == 0
    sess.run(records, options=GENEROUS)
    assert readers() == 2
    sess.close()
    wait_until(lambda: readers() == 0)


def test_a_step_that_waits_when_the_session_is_closed(tmp_path: Path) -> None:
    """A reader that waits for its file, a pipe, cannot be stopped; the step can."""
    os.mkfifo(tmp_path / "pipe")
    sess = tf.Session(config=OFF)
    run = run_that_waits(sess, RecordInput(str(tmp_path / "pipe"), name="input").get_yield_op())
    assert "RecordInput 'input' has 0 of 1 records, 1 of 1 are still to come (made at " in sess.waiting()
    sess.close()
    with pytest.raises(tf.errors.CancelledError, match="the session was closed"):
        run.result()
    with open(tmp_path / "pipe", "wb"):
        pass  # lets the reader go on, and find that it is over
    wait_until(lambda: readers() == 0)


class TestErrors:
    def test_no_files(self, interpreted: tf.Session, tmp_path: Path) -> None:
        records = RecordInput(str(tmp_path / "none*")).get_yield_op()
        for _ in range(2):  # and again
            with pytest.raises(tf.errors.NotFoundError, match="Found no files at .*none") as caught:
                interpreted.run(records, options=GENEROUS)
            assert "test_record_input.py" in str(caught.value)

    def test_no_records(self, tmp_path: Path) -> None:
        _write(tmp_path / "empty", [])
        with tf.Session(config=OFF) as sess, pytest.raises(tf.errors.NotFoundError, match="Found no records"):
            sess.run(RecordInput(str(tmp_path / "empty")).get_yield_op(), options=GENEROUS)

    @pytest.mark.parametrize("parallelism", [1, 3])
    def test_a_damaged_file(self, files: str, parallelism: int) -> None:
        damaged = Path(files).parent / "b.tfrecord"
        damaged.write_bytes(damaged.read_bytes()[:-3])
        records = RecordInput(files, batch_size=24, buffer_size=5, parallelism=parallelism).get_yield_op()
        with tf.Session(config=OFF) as sess, pytest.raises(tf.errors.DataLossError, match="truncated record"):
            sess.run(records, options=GENEROUS)
        wait_until(lambda: readers() == 0)

    def test_a_folder(self, tmp_path: Path) -> None:
        with tf.Session(config=OFF) as sess, pytest.raises(tf.errors.FailedPreconditionError, match="directory"):
            sess.run(RecordInput(str(tmp_path)).get_yield_op(), options=GENEROUS)

    @pytest.mark.parametrize(
        "settings", [{"batch_size": 0}, {"buffer_size": 0}, {"parallelism": 0}, {"shift_ratio": 1.5}]
    )
    def test_settings(self, files: str, settings: dict[str, Any]) -> None:
        records = RecordInput(files, **settings).get_yield_op()
        with tf.Session(config=OFF) as sess, pytest.raises(tf.errors.InvalidArgumentError, match="must be"):
            sess.run(records)

    def test_a_compression_that_there_is_not(self, files: str) -> None:
        with pytest.raises(ValueError, match="Not a valid compression_type"):
            RecordInput(files, compression_type="LZ4")


def test_eight_threads_lose_and_double_nothing(interpreted: tf.Session, files: str) -> None:
    records = RecordInput(files, batch_size=3, buffer_size=8, parallelism=2).get_yield_op()

    def take() -> list[bytes]:
        return [r for _ in range(5) for r in interpreted.run(records, options=GENEROUS)]

    taken = Counter(r for run in [Background(take) for _ in range(8)] for r in run.result())
    assert sorted(taken) == ALL and set(taken.values()) == {5}  # 8 * 5 * 3 records are five epochs
