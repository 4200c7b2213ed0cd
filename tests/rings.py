"""The rings of tests inside and outside of what ``pytest`` runs by default.  Nobody marks a test.

``--ring quick``: tests that start no process, open no socket and compile nothing.  A test that comes to one of these doors is
left out when it does, and the summary says how many did.  Of a test with many sets of parameters some are run, and whole
programs are left to ``make test``.

``--ring full``: the folders of `SLOW`, and the tests that ask for the fixture ``full_length``, which no other ring runs.
"""

import contextlib
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

MODULES: Final = {"ray": "Ray", "torch._dynamo": "the compiler", "torch._inductor": "the compiler", "zmq": "sockets"}
EVENTS: Final = {
    "os.fork": "a process", "os.forkpty": "a process", "os.posix_spawn": "a process", "subprocess.Popen": "a process",
    "socket.bind": "sockets", "socket.connect": "sockets",
}  # fmt: skip

WHOLE_PROGRAMS: Final = (  # folders and files whose tests train, or run programs as users do
    "autodiff/test_control_flow_golden", "benchmarks/", "cluster/", "conformance/", "docs/", "examples/",
    "library/contrib/", "library/control/test_state_flow", "library/data/test_dataset_golden", "library/estimator/",
    "library/train/", "models/", "runtime/session/test_partitioned", "tensorflow/", "tools/test_demo",
)  # fmt: skip
SLOW: Final = (
    "benchmarks/",
    "cluster/ray_engine/",
    "cluster/test_faults.py",
)  # Ray, and jobs that are killed and go on
FULL_LENGTH: Final = "full_length"  # the fixture
LONGEST_S: Final = 3600  # for one test of full length
MANY: Final = 2  # sets of parameters; of a test that has more, this many are run


def _is_below(path: Path, config: pytest.Config, folders: tuple[str, ...]) -> bool:
    tests = config.rootpath / "tests"
    return path.is_relative_to(tests) and f"{path.relative_to(tests).as_posix()}/".startswith(folders)


def _is_full_length(item: pytest.Item) -> bool:
    return FULL_LENGTH in getattr(item, "fixturenames", ())


def _select(config: pytest.Config, items: list[pytest.Item], selected: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item not in selected])
    items[:] = [item for item in items if item in selected]


class Default:
    """The plugin without ``--ring``: everything but the tests of full length."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        _select(config, items, {item for item in items if not _is_full_length(item)})


class Full:
    """The plugin of the outer ring."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        _select(config, items, {item for item in items if _is_full_length(item) or _is_below(item.path, config, SLOW)})
        for item in filter(_is_full_length, items):
            item.add_marker(pytest.mark.timeout(LONGEST_S))


class Quick:
    """The plugin that keeps the doors.  A door is shut while a test runs, its fixtures included."""

    def __init__(self) -> None:
        self._wants: str | None = None  # what the test that runs has asked for
        self._running = False
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]
        sys.addaudithook(self._hear)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Refuses the modules that stand behind a door, at every attempt to import them."""
        if name in MODULES:
            self._refuse(MODULES[name])
        return None

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._running and event in EVENTS:
            self._refuse(EVENTS[event])

    def _refuse(self, wanted: str) -> NoReturn:
        self._wants = wanted
        if threading.current_thread() is threading.main_thread():
            pytest.skip(f"wants {wanted}", allow_module_level=True)
        raise RuntimeError(f"the quick ring has no {wanted}")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        tests: dict[str, list[pytest.Item]] = {}
        for item in items:
            if not _is_full_length(item):
                tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
        _select(config, items, {item for cases in tests.values() for item in cases[:: -(-len(cases) // MANY)]})

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """The folders of whole programs are not even read."""
        return True if _is_below(collection_path, config, WHOLE_PROGRAMS) else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._wants, self._running = None, True
        with contextlib.ExitStack() as stack:
            stack.callback(setattr, self, "_running", False)
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """A test that came to a door is left out, whatever became of it there."""
        report: Any = yield
        if self._wants is not None and report.failed:
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1], f"Skipped: wants {self._wants}")
        return report
