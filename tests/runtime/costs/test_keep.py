"""What was measured of the machine, on disk: found again, and measured anew where the file cannot be trusted."""

import json
import logging
import os
from dataclasses import replace

import pytest

from headrace.core.file_lock import FileLock
from headrace.passes.cost.rates import BUS, HOST, NEAR, NETWORK, USUAL, Link, Machine, Rates
from headrace.runtime.costs import calibrate, keep

MACHINE = Machine(
    {
        "CPU": Rates(
            {"float32": 2e11, "float32 convolution": 1e11}, 2e10, 3e-6, 1 << 34, {"pooling": 5e9}, {"pooling": 2e-6}, 5e-7,
            {"product": 1e-6},
        ),
        "GPU": Rates({"float32": 3e14}, 3e12, 8e-6, queued=2e-6),
    },
    {NEAR: Link(1e-6, 1e10), BUS: Link(1e-5, 2e10), HOST: Link(5e-5, 3e9), NETWORK: Link(2e-4, 1e9)}, step=1e-5,
)  # fmt: skip


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    folder = tmp_path / "code"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
    monkeypatch.setattr(calibrate, "_known", {})
    return folder


def test_what_is_kept_is_found(place):
    assert keep.find("a") is None
    keep.keep("a", MACHINE, {"host": "here"})
    assert keep.find("a") == MACHINE
    (path,) = place.rglob("*.json")
    assert path.stat().st_mode & 0o077 == 0 or not path.parent.stat().st_mode & 0o077
    assert json.loads(path.read_text())["about"] == {"host": "here"}


def test_the_name_tells_threads_and_devices_apart(monkeypatch):
    assert keep.name_of(1) == keep.name_of(1) != keep.name_of(2)
    before = keep.name_of(1)
    monkeypatch.setattr(keep, "_devices", lambda: ["CPU cpu", "GPU of another make"])
    assert keep.name_of(1) != before


def wrong():
    """Texts that are no machine."""
    whole = keep.to_json(MACHINE)
    yield "not JSON"
    yield "[]"
    yield "[" * 100_000
    yield json.dumps({**whole, "rates": {}})
    yield json.dumps({**whole, "links": {}})
    yield json.dumps({**whole, "step": -1})
    yield json.dumps({**whole, "step": float("nan")})
    yield json.dumps({**whole, "step": "1"})
    yield json.dumps({**whole, "step": 10**400})
    for field, value in (("bandwidth", 0), ("launch", None), ("flops", {}), ("bandwidths", {"pooling": True})):
        yield json.dumps({**whole, "rates": {"CPU": {**whole["rates"]["CPU"], field: value}}})


@pytest.mark.parametrize("text", list(wrong()), ids=lambda text: text[:12])
def test_a_file_that_cannot_be_used_is_measured_again_with_one_line(text, place, monkeypatch, caplog):
    keep.keep(keep.name_of(3), USUAL)
    (path,) = place.rglob("*.json")
    path.write_text(text)
    monkeypatch.setattr(calibrate, "measure", lambda threads: MACHINE)
    with caplog.at_level(logging.WARNING, "headrace.costs"):
        assert calibrate.machine(3) is MACHINE
    assert len(caplog.records) == 1
    assert str(path) in caplog.text
    assert keep.find(keep.name_of(3)) == MACHINE  # and kept in its place


def test_a_file_that_somebody_else_could_have_written_is_not_read(place, caplog):
    keep.keep("a", MACHINE)
    (path,) = place.rglob("*.json")
    aside = path.with_name("aside")
    path.rename(aside)
    path.symlink_to(aside)
    assert keep.find("a") is None
    assert "measured again" in caplog.text


def test_without_a_place_to_write_the_machine_is_measured_each_time(place, monkeypatch):
    monkeypatch.setattr(keep, "folder", lambda: place / "file" / "below")
    (place / "file").write_text("")
    keep.keep("a", MACHINE)
    monkeypatch.setattr(calibrate, "measure", lambda threads: MACHINE)
    assert calibrate.machine(1) is MACHINE


def test_a_machine_is_measured_once_for_each_number_of_threads_and_again_if_asked(monkeypatch):
    calls = []

    def measure(threads):
        calls.append(threads)
        return replace(MACHINE, step=float(len(calls)))

    monkeypatch.setattr(calibrate, "measure", measure)
    assert calibrate.machine(2).step == calibrate.machine(2).step == 1.0
    calibrate._known.clear()  # as in another process
    assert calibrate.machine(2).step == 1.0
    assert calibrate.machine(4).step == 2.0
    assert calibrate.machine(2, again=True).step == 3.0
    assert calls == [2, 4, 2]
    calibrate._known.clear()
    assert calibrate.machine(2).step == 3.0
    assert not [name for name in os.listdir(keep.folder()) if not name.endswith(".json")]


def test_two_processes_do_not_measure_at_the_same_time(monkeypatch):
    """The second waits for the first, and takes what it has found."""
    name = keep.name_of(2)
    with keep.alone(name) as waited:  # the other process
        assert not waited
        other = FileLock(str(keep.folder() / f"{name}.lock"))
        assert not other.acquire()
        monkeypatch.setattr(keep, "sleep", lambda seconds: keep.keep(name, MACHINE))
        monkeypatch.setattr(keep, "PATIENCE", 0.01)
        monkeypatch.setattr(calibrate, "measure", lambda threads: pytest.fail("measured as well"))
        assert calibrate.machine(2) == MACHINE
    assert other.acquire()
    other.release()


def test_one_that_takes_too_long_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(keep, "sleep", lambda seconds: None)
    monkeypatch.setattr(keep, "PATIENCE", 0.01)
    monkeypatch.setattr(calibrate, "measure", lambda threads: MACHINE)
    with keep.alone(keep.name_of(2)):
        assert calibrate.machine(2) is MACHINE
