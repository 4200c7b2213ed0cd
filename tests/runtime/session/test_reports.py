"""Every op that waits says at what: the kind and name of the resource, how full it is, and the lines that made both."""

import os
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from library.queue.background import Background, wait_until

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.graph import raw_ops
from headrace.library.input.record_input import RecordInput
from headrace.library.queue.barrier import Barrier
from headrace.library.queue.staging import MapStagingArea
from headrace.resources.state.replicas.box import Stop, encoded
from headrace.resources.state.replicas.machine import Rule

SHORT = tf.RunOptions(timeout_in_ms=100)
FLOAT = tf.float32

NEVER_WAIT = {"BarrierInsertMany", "BarrierClose", "QueueCloseV2"}  # the queue's only for enqueues that wait
ELSEWHERE = {"_RecvMany"}  # tests/runtime/session/test_partitioned.py

Case = Callable[[tf.Session], tuple[Any, str]]  # -> what to fetch, and what the report says of the resource
CASES: dict[str, Case] = {}


def case(*ops: str) -> Callable[[Callable[..., tuple[Any, str]]], Callable[..., tuple[Any, str]]]:
    """A step that waits at each of the ops: the function takes the session and the op's name."""

    def register(build: Callable[..., tuple[Any, str]]) -> Callable[..., tuple[Any, str]]:
        CASES.update({op: lambda sess, op=op: build(sess, op) for op in ops})
        return build

    return register


@case("QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    queue = tf.RandomShuffleQueue(9, 0, FLOAT, [[]], name="q")
    if op == "QueueDequeueV2":
        return queue.dequeue(), "RandomShuffleQueue 'q' has 0 of 9 elements, of which 0 must stay, 1 is asked for"
    sess.run(queue.enqueue(1.0))
    take = queue.dequeue_many if op == "QueueDequeueManyV2" else queue.dequeue_up_to
    return take(3), "RandomShuffleQueue 'q' has 0 of 9 elements, .* 3 are asked for and 1 of them gathered"


@case("QueueEnqueueV2", "QueueEnqueueManyV2")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    queue = tf.FIFOQueue(2, FLOAT, [[]], name="q")
    sess.run(queue.enqueue_many([[1.0, 2.0]]))
    put = queue.enqueue(3.0) if op == "QueueEnqueueV2" else queue.enqueue_many([[3.0, 4.0]])
    return put, "FIFOQueue 'q' has 2 of 2 elements"


@case("AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    handle = raw_ops.ConditionalAccumulator(dtype=FLOAT, shape=[], name="a")
    sess.run(raw_ops.AccumulatorApplyGradient(handle, 0, 1.0))
    take = getattr(raw_ops, op)(handle, 2, dtype=FLOAT)
    return take, "ConditionalAccumulator 'a' has 1 gradient at step 0, 2 are asked for"


@case("SparseAccumulatorTakeGradient")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    rows = tf.SparseConditionalAccumulator(FLOAT, name="a")
    return rows.take_grad(1), "SparseConditionalAccumulator 'a' has 0 gradients at step 0, 1 is asked for"


@case("BarrierTakeMany")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    barrier = Barrier((FLOAT, FLOAT), ((), ()), name="b")
    sess.run(barrier.insert_many(0, ["k"], [1.0]))
    return barrier.take_many(2), "Barrier 'b' has 0 complete and 1 incomplete elements, 2 are asked for"


@case("Stage", "Unstage", "StagePeek")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    area = tf.contrib.staging.StagingArea([FLOAT], shared_name="s", capacity=1)
    if op == "Unstage":
        return area.get(), "StagingArea 's' has 0 of 1 elements and 0 bytes, one is asked for"
    if op == "StagePeek":
        return area.peek(4), "StagingArea 's' has 0 of 1 elements and 0 bytes, number 4 is asked for"
    sess.run(area.put(1.0))
    return area.put(2.0), "StagingArea 's' has 1 of 1 elements and 4 bytes, 4 bytes wait to be put"


@case(*(f"{prefix}Map{op}" for prefix in ("", "Ordered") for op in ("Stage", "Unstage", "Peek", "UnstageNoKey")))
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    area = MapStagingArea([FLOAT], shared_name="m", capacity=1, ordered=op.startswith("Ordered"))
    empty = "MapStagingArea 'm' has 0 of 1 elements and 0 bytes"
    if op.endswith("MapUnstage"):
        return area.get(7)[1], f"{empty}, number 7 is asked for"
    if op.endswith("Peek"):
        return area.peek(7), f"{empty}, number 7 is asked for"
    if op.endswith("NoKey"):
        return area.get(), f"{empty}, one is asked for"
    sess.run(area.put(1, [1.0], [0]))
    return area.put(2, [2.0], [0]), "MapStagingArea 'm' has 1 of 1 elements and 4 bytes, 4 bytes wait to be put"


@case("MutexLock")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    mutex = raw_ops.MutexV2(name="m")
    sess.run(mutex).acquire("somebody else", lambda held, error: HELD.append(held))
    return raw_ops.MutexLock(mutex), "Mutex 'm' is held by somebody else"


HELD: list[Any] = []


@case("_ReplicaArrives", "_LeadReplicas", "_NextUpdate")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    rule = asdict(Rule(2, gathers=True))
    first, second = (
        raw_ops._Replica(shared_name="r", container="", worker=f"w{i}", name=f"w{i}", **rule) for i in range(2)
    )
    sess.run(raw_ops._JoinReplicas(first, 0, "", []))
    if op == "_NextUpdate":
        update = raw_ops._NextUpdate(first, finishes=False)
        return update.ticket, "replicas 'r', for an update to make: 1 of 2 workers have joined"
    if op == "_LeadReplicas":
        sess.run(raw_ops._LeadReplicas(first))
        sess.run(raw_ops._JoinReplicas(second, 0, "", []))
        return raw_ops._LeadReplicas(second), "replicas 'r', to lead: update 0 needs 2 gradients; computing: w0, w1"
    return raw_ops._ReplicaArrives(first, [0, 0]).next, "replicas 'r', to go on: 1 of 2 workers have joined"


@case("_SumGradients", "_TakeValues")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    """Another worker's task has been asked, and does not answer."""
    like = {"T": [tf.float32], "shapes": [[2]]}
    box = raw_ops._Box(names=["v"], worker="w0", container="", **like)
    sess.run(raw_ops._OpenBox(box))
    sess._master.registered.worker.boxes.elsewhere = lambda stop, query, given: None
    route = [encoded(Stop("w1", "/job:worker/replica:0/task:1", "host:1", 1))]
    if op == "_SumGradients":
        return raw_ops._SumGradients(box, 0, route, **like), "0 of 1 chunks of the sum of the gradients of w1 are here"
    chunks = "0 of 1 chunks of the variables are here, the others come by w1"
    return raw_ops._TakeValues(box, 0, route, **like).here, chunks


@case("_LeaseChange")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    seat = raw_ops._LeaseSeat(shared_name="l", container="", who="me")
    sess.run(raw_ops._JoinLease(seat, True, True).number)
    return raw_ops._LeaseChange(seat, 1)[0], "Lease 'l' is held by me, 0 stand in line"


@case("ReaderReadV2", "ReaderReadUpToV2")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    queue, reader = tf.FIFOQueue(3, tf.string, [[]], name="q"), tf.IdentityReader(name="r")
    read = reader.read(queue) if op == "ReaderReadV2" else reader.read_up_to(queue, 2)
    return read, r"IdentityReader 'r' \(made at .*\) needs its next file: FIFOQueue 'q' has 0 of 3 elements"


@case("RecordInput")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    return RecordInput(os.environ["HEADRACE_TEST_PIPE"], name="r").get_yield_op(), "RecordInput 'r' has 0 of 1 records"


@case("IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional", "_IteratorGetNextOnDevice")
def _(sess: tf.Session, op: str) -> tuple[Any, str]:
    dataset = tf.data.TextLineDataset(os.environ["HEADRACE_TEST_PIPE"]).prefetch(1)
    iterator = dataset.make_initializable_iterator("i")
    sess.run(iterator.initializer)
    line = getattr(raw_ops, op)(iterator._iterator_resource, output_types=[tf.string], output_shapes=[[]])
    if op == "IteratorGetNextAsOptional":
        line = [raw_ops.OptionalHasValue(line)]
    return line[0], r"iterator 'i' \(made at .*\) computes the next element of PrefetchDataset"


ITERATORS = {"IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional", "_IteratorGetNextOnDevice"}
READ_THE_PIPE = {"RecordInput", *ITERATORS}


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A file from which nothing comes until the test is over."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    monkeypatch.setenv("HEADRACE_TEST_PIPE", str(path))
    return path


def test_every_op_that_waits_has_a_case() -> None:
    assert {op.name for op in REGISTRY if op.traits.asynchronous and op.built_in} == set(CASES) | NEVER_WAIT | ELSEWHERE


@pytest.mark.parametrize("op", sorted(CASES))
def test_a_step_that_runs_out_of_time_says_what_it_waits_for(interpreted: tf.Session, op: str, pipe: Path) -> None:
    fetch, expected = CASES[op](interpreted)
    with pytest.raises(tf.errors.DeadlineExceededError) as caught:
        interpreted.run(fetch, options=SHORT)
    HELD.clear()
    if op in READ_THE_PIPE:
        pipe.write_bytes(b"")  # lets the reader go on, and end
    message = caught.value.message
    assert re.search(expected, message), message
    node, resource = re.search(r"\((\w+) made at (\S+)\) waits: (.*)", message).group(1, 3)  # type: ignore[union-attr]
    assert node == op
    assert re.search(r"\((made|first used) at \S*test_reports.py:\d+\)", resource), resource


def test_a_producer_that_is_ahead_is_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("headrace.resources.stepping.step.REPORT_AFTER", 0.05)
    queue = tf.FIFOQueue(1, tf.float32, [[]])
    ahead, behind = queue.enqueue_many([[1.0, 2.0]]), queue.dequeue_many(5)
    take, close = queue.dequeue(), queue.close()
    with tf.Session(config=tf.ConfigProto(compile="off")) as sess, caplog.at_level("INFO", "headrace.step"):
        run = Background(sess.run, ahead)
        wait_until(lambda: len(caplog.records) == 1)
        sess.run(take)
        run.result()
        run = Background(sess.run, behind)
        wait_until(lambda: len(caplog.records) == 2)
        sess.run(close)
        with pytest.raises(tf.errors.OutOfRangeError):
            run.result()
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
