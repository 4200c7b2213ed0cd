"""The quick ring: tests that start no process, open no socket and compile nothing.  ``pytest --ring quick`` runs it.

Nobody marks a test.  A test that comes to one of these doors is left out when it does, and the summary says how many did.  Of a
test with many sets of parameters some are run, and whole programs are left to ``make test``.
"""

import contextlib
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from typing import Any, Final, NoReturn

import pytest

MODULES: Final = {"ray": "Ray", "torch._dynamo": "the compiler", "torch._inductor": "the compiler", "zmq": "sockets"}
EVENTS: Final = {
    "os.fork": "a process", "os.forkpty": "a process", "os.posix_spawn": "a process", "subprocess.Popen": "a process",
    "socket.bind": "sockets", "socket.connect": "sockets",
}  # fmt: skip

WHOLE_PROGRAMS: Final = (  # folders whose tests train, or run programs as users do
    "benchmarks/", "cluster/", "conformance/", "docs/", "examples/", "library/contrib/", "library/estimator/",
    "library/train/", "models/", "tensorflow/",
)  # fmt: skip
MANY: Final = 4  # sets of parameters; of a test that has more, this many are run


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
            if not str(item.path.relative_to(config.rootpath / "tests")).startswith(WHOLE_PROGRAMS):
                tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
        kept = {item for cases in tests.values() for item in cases[:: -(-len(cases) // MANY)]}
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]

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
