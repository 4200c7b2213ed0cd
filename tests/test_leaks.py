"""The leak check itself: it must see a thread, a process and a descriptor, and see them go."""

import subprocess
import sys
import tempfile
import threading

import leaks


def test_a_running_thread_is_seen_until_it_ends() -> None:
    before = leaks.look()
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="left-behind")
    thread.start()
    try:
        assert leaks.look().beyond(before) == ["thread 'left-behind'"]
    finally:
        release.set()
        thread.join()
    assert leaks.look().beyond(before) == []


def test_a_child_process_is_seen_until_it_is_reaped() -> None:
    before = leaks.look()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        found = leaks.look().beyond(before)
        assert any(line.startswith(f"process {child.pid}:") for line in found)
    assert leaks.look().beyond(before) == []


def test_an_open_file_is_seen_until_it_is_closed() -> None:
    before = leaks.look()
    with tempfile.NamedTemporaryFile() as file:
        assert leaks.look().beyond(before) == [f"descriptor {file.fileno()}: {file.name}"]
    assert leaks.look().beyond(before) == []
