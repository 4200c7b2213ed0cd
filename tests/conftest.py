"""What every test gets: one thread for torch, its own default graph, and a check that it leaves nothing running.

The environment is set before anything imports torch. A test that has to leave something running says why:
`@pytest.mark.allow_leaks(reason="...")`.
"""

import gc
import itertools
import os
import random
import signal
import sys
import time
import zlib
from collections.abc import Iterator
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # compile in this process: no pool of workers that outlives a test

import pytest
import rings
from hypothesis import HealthCheck, settings

import leaks

# How long a draw takes says how busy the machine is.
PATIENT: Any = {"deadline": None, "print_blob": True, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("headrace", **PATIENT, derandomize=True)  # the same in every run
settings.register_profile("new", **PATIENT)  # `--hypothesis-profile=new`: others in every run
settings.load_profile("headrace")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ring", choices=list(RINGS), default="default", help="see tests/rings.py")


RINGS = {"quick": rings.Quick, "default": rings.Default, "full": rings.Full}


def pytest_configure(config: pytest.Config) -> None:
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # as it is behind `&` in a script: tests send it to themselves
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(RINGS[config.getoption("--ring")](), "ring")


def pytest_collection_finish() -> None:
    """What is there before the first test, modules and 17,000 items, is not looked through at every collection of garbage."""
    _leave_out_of_collections()


def _leave_out_of_collections() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture
def full_length() -> None:
    """For a test that takes minutes: it runs in the ring ``full`` only."""


GRACE_S = 10.0
"""How long a test's threads, processes and descriptors may take to go away after it ends."""


@pytest.fixture(autouse=True, scope="session")
def cuda_is_open() -> None:
    """CUDA's library, where there is one, opens descriptors when it is first asked, and keeps them."""
    import torch

    torch.cuda.is_available()


@pytest.fixture(autouse=True, scope="session")
def idle_threads_end_soon() -> None:
    """Threads that wait a second for more to do would be waited for after every test that has used one."""
    from headrace.runtime.host import pool
    from headrace.runtime.session import parked

    pool.IDLE_SECONDS = parked.IDLE_SECONDS = 0.05


@pytest.fixture(autouse=True, scope="module")
def collections_are_short() -> None:
    """What the files before have imported and kept is not looked through either: that takes 0.1 s each time."""
    _leave_out_of_collections()


@pytest.fixture(autouse=True, scope="session")
def the_machine_is_the_usual_one() -> None:
    """What devices and links can do is not measured, which takes seconds."""
    from headrace.passes.cost.rates import USUAL
    from headrace.runtime.costs import calibrate
    from headrace.runtime.host.threads import default_threads

    calibrate._known.update(dict.fromkeys({1, default_threads()}, USUAL))


@pytest.fixture(autouse=True)
def nothing_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a thread, a child process or a file descriptor behind."""
    before = leaks.look()
    yield
    if request.node.get_closest_marker("allow_leaks"):
        return
    end = time.monotonic() + GRACE_S
    for attempt in itertools.count(1):
        if not (leaked := leaks.look().beyond(before)):
            return
        if time.monotonic() > end and attempt > 1:
            pytest.fail("the test leaves behind: " + "; ".join(leaked), pytrace=False)
        if attempt & (attempt - 1) == 0:  # 1, 2, 4, 8: most things only take their time to end
            gc.collect()
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def compiler_rests(nothing_leaks: None) -> Iterator[None]:
    """Ends the compiling process, which waits a while for more to do, with the test that has started it."""
    yield
    background = sys.modules.get("headrace.runtime.compiler.background")
    if background is not None:
        background.queue.rest()


@pytest.fixture(autouse=True)
def data_processes_end(nothing_leaks: None) -> Iterator[None]:
    """Ends the processes of datasets that wait a while for another iterator, with the test that has started them."""
    name = "headrace.cluster.data.processes"
    before = sys.modules[name].resting() if name in sys.modules else []
    yield
    if name in sys.modules:
        sys.modules[name].end_resting(but=before)


@pytest.fixture(autouse=True)
def fresh_default_graph(nothing_leaks: None) -> Iterator[None]:
    """Gives every test an empty default graph."""
    _reset_default_graph()
    yield
    _reset_default_graph()


@pytest.fixture(autouse=True)
def randomness_is_the_same_in_every_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test draws without a seed, in this process, depends on the test's name alone."""
    name = request.node.nodeid
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(zlib.crc32(name.encode()))
    if (words := sys.modules.get("headrace.core.random_words")) is not None:
        monkeypatch.setattr(words, "source", random.Random(name))


@pytest.fixture(autouse=True)
def says_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is logged once in a process, that a name is deprecated, is logged in every test."""
    argument = sys.modules.get("headrace.library.argument")
    if argument is not None:
        monkeypatch.setattr(argument, "_said", set())


@pytest.fixture(autouse=True)
def sessions_have_no_settings() -> Iterator[None]:
    """Forgets what a test has set for later sessions by ``tf.config``."""
    yield
    defaults = sys.modules.get("headrace.runtime.host.defaults")
    if defaults is not None:
        defaults.reset()


@pytest.fixture
def graph(fresh_default_graph: None) -> Any:
    """The test's default graph."""
    import headrace

    return headrace.get_default_graph()


@pytest.fixture
def session(fresh_default_graph: None) -> Iterator[Any]:
    """A session of the test's default graph, which it is in."""
    import headrace

    with headrace.Session() as session:
        yield session


@pytest.fixture
def interpreted(fresh_default_graph: None) -> Iterator[Any]:
    """A session of the test's default graph in which nothing is compiled."""
    import headrace

    with headrace.Session(config=headrace.ConfigProto(compile="off")) as session:
        yield session


@pytest.fixture
def accelerator() -> Iterator[None]:
    """A device that is not the CPU, over torch's CPU, on which nodes are placed: steps on it are compiled in mode "auto"."""
    from headrace import extend

    extend.register_device("ACCELERATOR", "cpu", 1, priority=200)
    yield
    extend.unregister_device("ACCELERATOR")


def _reset_default_graph() -> None:
    # A test that never imports Headrace's face has no default graph to reset, and should not pay for the import.
    reset = getattr(sys.modules.get("headrace"), "reset_default_graph", None)
    if reset is not None:
        reset()
