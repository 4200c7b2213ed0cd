"""The power fails at any moment of a save: the file ``checkpoint`` names a whole checkpoint, the old one or the new one.

All saves go through the door to files, which a recorder watches.  Then every prefix of what was recorded is replayed to a folder,
with what no sync had confirmed lost in any combination.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from library.train.saver.lossy_disk import Mark, Operation, Recorder, Write, left, unconfirmed
from resources.file.bundle.arrays import read

import headrace as tf
from headrace.library.train.saver import incremental
from headrace.resources.file.bundle.base import bases_of

STEPS = 4
WAYS = ("numbered", "same name", "two shards", "increments")
TOUCHED = 20  # rows of each variable that every step writes


@pytest.fixture(scope="module", params=WAYS)
def operations(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    """What four saves do; a mark has the step of each save that returned."""
    root = tmp_path_factory.mktemp("saves")
    recorder = Recorder(root)
    with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
        step = tf.train.get_or_create_global_step()
        count = step.assign_add(1)
        for i in range(2):
            with tf.device(f"/cpu:{i}"), tf.control_dependencies([count]):
                big = tf.Variable(np.zeros(50, np.float32), name=f"v{i}", use_resource=i == 0)
                new = tf.fill([TOUCHED], tf.cast(count, tf.float32))
                tf.add_to_collection("changes", tf.scatter_update(big, list(range(TOUCHED)), new))
        tf.Variable("text", name="text")
        patch.setattr(incremental, "SMALL", 1)
        saver = tf.train.Saver(
            max_to_keep=2, sharded=request.param == "two shards", save_relative_paths=True,
            incremental=2 if request.param == "increments" else None,
        )  # fmt: skip
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(tf.global_variables_initializer())
            with recorder.recording(patch):
                for number in range(1, STEPS + 1):
                    session.run(tf.get_collection("changes"))
                    saver.save(session, f"{root}/model", None if request.param == "same name" else number)
                    recorder.mark(number)
            assert bool(bases_of(saver.last_checkpoints[-1])) == (request.param == "increments")
    return recorder.operations


def problem(operations: Sequence[Operation], lost: set[int], zeros: bool) -> str:
    """What is wrong with what is left after a crash; empty if nothing is."""
    done = [operation.note for operation in operations if isinstance(operation, Mark)]
    metas = {operation.data for operation in operations if isinstance(operation, Write) and b"save/" in operation.data}
    files = {name: data for name, data in left(operations, lost, zeros).items() if "_temp/" not in name}
    key = (done[-1:], sorted(files.items()))
    if (known := _known.get(repr(key))) is not None:
        return known
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        found = _known[repr(key)] = _problem(Path(folder), done[-1] if done else 0, metas)
    return found


_known: dict[str, str] = {}  # many crashes leave the same files


def _problem(folder: Path, done: int, metas: set[bytes]) -> str:
    for index in folder.glob("*.index"):
        try:
            _values(index)
        except tf.errors.OpError as error:
            return f"{index.name} is there, but it is not whole: {error}"
    latest = tf.train.latest_checkpoint(folder)
    if latest is None:
        return f"there is no latest checkpoint after step {done}" if done else ""
    step, values = _values(Path(f"{latest}.index"))
    if not done <= step <= done + 1:
        return f"the latest checkpoint is of step {step}, that of step {done} had been saved"
    if values != {float(step)}:
        return f"the checkpoint of step {step} has values of steps {values}"
    meta = Path(f"{latest}.meta")
    return (
        "" if meta.exists() and meta.read_bytes() in metas else "the meta graph of the latest checkpoint is not whole"
    )


def _values(index: Path) -> tuple[int, set[float]]:
    arrays = read(str(index).removesuffix(".index"))
    assert arrays["text"] == b"text"
    return int(arrays["global_step"]), set(np.concatenate([arrays["v0"][:TOUCHED], arrays["v1"][:TOUCHED]]).tolist())


def _told(operations: Sequence[Operation], lost: set[int]) -> str:
    lines = [f"{'LOST ' if place in lost else ''}{operation!r:.100}" for place, operation in enumerate(operations)]
    return "\n".join(lines[-25:])


def simple_losses(places: list[int]) -> Iterator[set[int]]:
    """Nothing, everything, one thing, everything but one thing."""
    yield set()
    yield set(places)
    if len(places) > 1:
        for place in places:
            yield {place}
            yield set(places) - {place}


def test_every_moment(operations: list[Operation]) -> None:
    seen = 0
    for end in range(len(operations) + 1):
        for lost in simple_losses(unconfirmed(operations[:end])):
            wrong = problem(operations[:end], lost, zeros=end % 2 == 0)
            assert not wrong, f"{wrong}\n{_told(operations[:end], lost)}"
            seen += 1
    assert seen > 2 * len(operations)


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_any_combination(operations: list[Operation], data: Any) -> None:
    end = data.draw(st.integers(1, len(operations)), "operations that happened")
    places = unconfirmed(operations[:end])
    flags = data.draw(st.lists(st.booleans(), min_size=len(places), max_size=len(places)), "which of them were lost")
    lost = {place for place, flag in zip(places, flags, strict=True) if flag}
    wrong = problem(operations[:end], lost, data.draw(st.booleans(), "whether files keep their lengths"))
    assert not wrong, f"{wrong}\n{_told(operations[:end], lost)}"


def test_the_disk_finds_what_is_not_synced(operations: list[Operation]) -> None:
    """Without the syncs of files, or those of folders, there are states that are wrong."""
    for left_out in ("Sync", "SyncFolder"):
        fewer = [operation for operation in operations if type(operation).__name__ != left_out]
        assert any(
            problem(fewer[:end], lost, zeros=True)
            for end in range(0, len(fewer) + 1, 3)
            for lost in simple_losses(unconfirmed(fewer[:end])[:20])
        ), left_out
