"""Readers in graphs.  What they read is compared with TensorFlow in tests/tensorflow/programs/input_pipeline.py."""

import threading
import time
from pathlib import Path

import pytest
from library.input.pipeline import OFF
from resources.calls import run_threads

import headrace as tf
from headrace.library.input.reader import ReaderBase


def names(*paths: Path, close: bool = True) -> tuple[tf.QueueBase, list[tf.Operation]]:
    queue = tf.FIFOQueue(100, tf.string, shapes=[()], name="names")
    fill = [queue.enqueue_many([[str(p) for p in paths]])] if paths else []
    return queue, [*fill, *([queue.close()] if close else [])]


def run_all(sess: tf.Session, ops: list[tf.Operation]) -> None:
    for op in ops:
        sess.run(op)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text("".join(f"line {i}\n" for i in range(100)))
    return path


def test_steps_that_wait_for_a_file_name_can_be_ended(interpreted: tf.Session, text: Path) -> None:
    queue, _ = names()
    key, _ = tf.TextLineReader(name="lines").read(queue, name="read")
    with pytest.raises(tf.errors.DeadlineExceededError, match="read .ReaderReadV2 made at .*test_reader.py") as caught:
        interpreted.run(key, options=tf.RunOptions(timeout_in_ms=50))
    assert "TextLineReader 'lines' (made at" in str(caught.value)
    assert "needs its next file: FIFOQueue 'names' has 0 of 100 elements, 1 is asked for" in str(caught.value)
    interpreted.run(queue.enqueue(str(text)))  # the read that was ended has not taken it
    assert interpreted.run(key) == f"{text}:1".encode()


def test_a_session_that_closes_ends_reads(text: Path) -> None:
    queue, _ = names()
    read = tf.TextLineReader().read_up_to(queue, 3)
    sess = tf.Session(config=OFF)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            sess.run(read)
        except tf.errors.CancelledError as e:
            ended.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 10
    while (waiting := sess.waiting()).count("needs its next file") < 3 and time.monotonic() < end:
        pass
    sess.close()
    for thread in threads:
        thread.join(5)
    assert len(ended) == 3 and waiting.count("serves other reads first") == 2


def test_one_step_may_enqueue_the_name_that_it_reads(interpreted: tf.Session, text: Path) -> None:
    queue, _ = names()
    _, value = tf.TextLineReader().read(queue)
    assert interpreted.run([value, queue.enqueue(str(text))])[0] == b"line 0"


def test_concurrent_reads_give_each_record_once(interpreted: tf.Session, text: Path) -> None:
    queue, fill = names(text, text)
    reader = tf.TextLineReader()
    reads = [reader.read(queue).value for _ in range(4)]
    seen: list[bytes] = []
    run_all(interpreted, fill)

    def work() -> None:
        try:
            while True:
                seen.extend(interpreted.run(reads))
        except tf.errors.OutOfRangeError:
            pass

    run_threads(*[work] * 3)
    assert interpreted.run(reader.num_records_produced()) == 200
    assert len(seen) > 180 and max(map(seen.count, seen)) == 2  # a step that fails drops what its other reads got


def test_the_end_names_reader_queue_and_line(text: Path) -> None:
    queue, fill = names(text)
    key, _ = tf.WholeFileReader(name="files").read(queue)
    with tf.Session(config=OFF) as sess:
        run_all(sess, fill)
        assert sess.run(key) == str(text).encode()
        with pytest.raises(tf.errors.OutOfRangeError) as caught:
            sess.run(key)
    message = str(caught.value)
    assert "FIFOQueue 'names' is closed and has insufficient elements (requested 1, current size 0)" in message
    assert "WholeFileReader 'files' asked it for the next file" in message and "test_reader.py" in message


def test_a_reader_belongs_to_its_session_unless_it_is_shared(text: Path) -> None:
    queue, fill = names(text)
    key, _ = tf.TextLineReader().read(queue)
    for _ in range(2):
        with tf.Session(config=OFF) as sess:
            run_all(sess, fill)
            assert sess.run(key) == f"{text}:1".encode()
    first, second = (ReaderBase(tf.raw_ops.IdentityReaderV2(shared_name="one")) for _ in range(2))
    with tf.Session(config=OFF) as sess:
        run_all(sess, fill)
        sess.run(first.read(queue))
        assert sess.run(second.num_records_produced()) == 1


def test_a_handle_serves_as_a_queue(interpreted: tf.Session, text: Path) -> None:
    queue, fill = names(text)
    record = tf.IdentityReader().read(queue.queue_ref, name="pair")
    run_all(interpreted, fill)
    assert interpreted.run(record) == (str(text).encode(), str(text).encode())
    assert record.key.op.name == "pair" and record.value.name == "pair:1"


def test_a_session_with_a_file_half_read_leaves_nothing_open(interpreted: tf.Session, text: Path) -> None:
    queue, fill = names(text)
    run_all(interpreted, fill)
    interpreted.run(tf.TextLineReader().read(queue))  # the fixture of all tests looks for open files


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.FixedLengthRecordReader(0), "record_bytes must be > 0, got 0"),
        (lambda: tf.FixedLengthRecordReader(3, hop_bytes=-2), "hop_bytes must be >= 0, got -2"),
        (
            lambda: tf.FixedLengthRecordReader(3, encoding="ZIP"),
            "encoding must be one of '', 'ZLIB', 'GZIP', got 'ZIP'",
        ),
        (lambda: tf.TextLineReader(-1), "skip_header_lines must be >= 0, got -1"),
    ],
)
def test_wrong_settings(make: object, message: str) -> None:
    queue, _ = names()
    key, _ = make().read(queue)  # type: ignore[operator]
    with (
        tf.Session(config=OFF) as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match=f"(?s){message}.*test_reader.py"),
    ):
        sess.run(key)


def test_wrong_calls() -> None:
    queue, _ = names()
    with pytest.raises(ValueError, match="must be rank 0"):
        tf.TextLineReader().read_up_to(queue, [1, 2])
    with pytest.raises(ValueError, match="Not a valid compression_type: 'ZIP'"):
        tf.TFRecordReader(options="ZIP")
    with pytest.raises(NotImplementedError, match="LMDB databases are not supported.*TFRecordReader.*test_reader.py"):
        tf.LMDBReader()
    with tf.eager_mode(), pytest.raises(RuntimeError, match="Readers are not supported when eager execution"):
        tf.TextLineReader()
    keys, _ = tf.TextLineReader().read_up_to(queue, -1)
    with (
        tf.Session(config=OFF) as sess,
        pytest.raises(tf.errors.InvalidArgumentError, match="num_records must not be negative, got -1"),
    ):
        sess.run(keys)


def test_names_must_come_from_a_queue() -> None:
    with pytest.raises(TypeError, match=r"queue must be a queue of file names.*got \['a.txt'\].*test_reader.py"):
        tf.TextLineReader().read(["a.txt"])
