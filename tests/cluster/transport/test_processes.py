"""Endpoints in two processes: tensors through shared memory and the bulk channel, and what a crash leaves behind."""

import gc
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headrace.cluster.transport.interface import DEFAULT_LIMITS
from headrace.core import errors

from .conftest import Answers, ask, until

SERVER = Path(__file__).with_name("_process.py")


@pytest.fixture
def start(make_endpoint):
    """Starts a server in another process and connects to it."""
    processes = []

    def start_one(*words, **options):
        command = [sys.executable, str(SERVER), *words]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        address = process.stdout.readline().strip()
        return process, make_endpoint(**options).connect(address)

    yield start_one
    for process in processes:
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.wait(20)
        process.stdout.close()


def shared_files():
    """The segments that this process holds open or has mapped."""
    with open("/proc/self/maps") as maps:
        return sum("/memfd:headrace (" in line for line in maps)


@pytest.mark.parametrize("words", [("shared",), ()])
def test_tensors_pass_between_processes(start, words):
    _, peer = start(*words)
    ask(peer, "echo")
    for size in (1, 10_000, 5_000_000):
        tensor = torch.rand(size)
        assert torch.equal(ask(peer, "echo", {}, [tensor, tensor.bool()])[1][0], tensor)
    shared = peer.statistics.shared_bytes
    assert shared > 20_000_000 if words else shared == 0


def test_segments_are_used_again(start):
    _, peer = start("shared")
    ask(peer, "echo")
    for i in range(20):
        tensor = torch.full((500_000,), float(i))
        received = ask(peer, "echo", {}, [tensor])[1][0]
        assert torch.equal(received, tensor)
        del received
    assert shared_files() <= 6  # a few each way, not forty


def test_a_kept_tensor_is_not_overwritten(start):
    _, peer = start("shared")
    ask(peer, "echo")
    kept = [ask(peer, "echo", {}, [torch.full((50_000,), float(i))])[1][0] for i in range(5)]
    assert [float(t[0]) for t in kept] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("words", [("shared",), ()])
def test_a_crash_ends_calls_and_leaves_nothing(start, words):
    process, peer = start(*words)
    before, told = set(os.listdir("/dev/shm")), []
    peer.on_lost(told.append)
    ask(peer, "keep", {}, [torch.ones(2_000_000)])
    received = ask(peer, "echo", {}, [torch.ones(2_000_000)])[1][0]
    answers = Answers()
    peer.call("silence", {}, [torch.ones(2_000_000)], answers)
    peer.call("die", {}, [], answers)
    assert all(isinstance(error, errors.UnavailableError) for _, _, error in answers.wait(2))
    until(lambda: told)
    assert process.wait(20) == 9
    assert float(received.sum()) == 2_000_000  # what was received stays
    del received
    gc.collect()
    until(lambda: shared_files() == 0, "letting go of shared memory")
    assert set(os.listdir("/dev/shm")) <= before


def test_a_stopped_process_is_lost_after_its_silence(start):
    process, peer = start("shared", limits=replace(DEFAULT_LIMITS, silence=0.5))
    ask(peer, "echo")
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)  # a signal takes a while to stop all threads
    try:
        with pytest.raises(errors.UnavailableError, match="is lost"):
            ask(peer, "echo", timeout=10)
    finally:
        process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize("words", [("shared",), ()])
def test_what_a_stopped_process_was_sent_is_dropped_with_the_connection(start, make_endpoint, words, size):
    """It finds the messages when it goes on, and asks first whether who sent them is still there."""
    process, peer = start("hasty", *words, limits=replace(DEFAULT_LIMITS, silence=1.0))
    assert ask(peer, "keep", {}, [torch.ones(size)])[0] == {"kept": 1}
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    try:
        for _ in range(3):
            peer.push("keep", {}, [torch.ones(size)])
        with pytest.raises(errors.UnavailableError, match="is lost"):
            ask(peer, "keep", {}, [torch.ones(size)], timeout=None)
    finally:
        process.send_signal(signal.SIGCONT)
    again = make_endpoint().connect(peer.address)
    assert ask(again, "keep", {}, [torch.ones(size)])[0] == {"kept": 2}


@pytest.mark.parametrize("words", [("shared",), ()])
def test_what_a_stopped_process_was_sent_is_taken_if_the_sender_waits(start, words):
    """The sender has more patience than the stopped process was stopped for."""
    process, peer = start("hasty", *words)
    assert ask(peer, "keep", {}, [torch.ones(1)])[0] == {"kept": 1}
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    answers = Answers()
    try:
        peer.call("keep", {}, [torch.ones(1)], answers)
        for size in (100_000, 1, 100_000):
            peer.push("keep", {}, [torch.ones(size)])
        with pytest.raises(errors.UnavailableError, match="has not answered"):
            ask(peer, "echo", timeout=1.0)
    finally:
        process.send_signal(signal.SIGCONT)
    assert answers.wait()[0][0] == {"kept": 2}
    until(lambda: ask(peer, "keep")[0] == {"kept": 5}, "taking what was pushed")


def test_the_server_lets_go_of_a_client_that_crashed(make_endpoint):
    lost = []
    server = make_endpoint(lambda *a: a[4]({}, []), "localhost:0", lost=lambda peer, error: lost.append(peer))
    client = (
        "import os, sys, torch\n"
        "from headrace.cluster.transport.endpoint import Endpoint\n"
        "peer = Endpoint().connect(sys.argv[1])\n"
        "peer.call('x', {}, [torch.ones(1000000)], lambda *a: os._exit(9))\n"
        "import time; time.sleep(30)\n"
    )
    process = subprocess.run([sys.executable, "-c", client, server.address], timeout=60)
    assert process.returncode == 9
    until(lambda: lost, "loss")
    assert server.links() == {}
    gc.collect()
    until(lambda: shared_files() == 0, "letting go of shared memory")


def test_a_stopped_process_is_waited_for_and_not_taken_for_a_stranger(start, make_endpoint):
    """Handshakes that nobody answers say nothing of keys."""
    process, peer = start()
    ask(peer, "echo")
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    try:
        late = make_endpoint(limits=replace(DEFAULT_LIMITS, handshake=0.2)).connect(peer.address)
        answers = Answers()
        late.call("echo", {}, [], answers)
        with pytest.raises(errors.UnavailableError, match="has not answered"):  # while several handshakes fail
            ask(late, "echo", timeout=2.0)
        assert late.lost is None
    finally:
        process.send_signal(signal.SIGCONT)
    assert answers.wait()[0][2] is None
