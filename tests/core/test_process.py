"""Settings of the whole process: which change, when, and that one switch leaves them all alone."""

import gc
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core import process
from headrace.core.process import no_collection, short_turns

ROOT = Path(__file__).parent.parent.parent
SET = {"GOMP_SPINCOUNT", "KMP_BLOCKTIME", "MIMALLOC_PURGE_DELAY"}

# Prints what a program may notice, after its first line has run.
STATE = """
import gc, json, logging, os, signal, sys, threading, warnings
import numpy as np, torch
handlers = {name: str(getattr(logging.getLogger(name), "handlers", [])) for name in ["", *logging.root.manager.loggerDict]}
print(json.dumps({
    "warning filters": [str(f) for f in warnings.filters],
    "garbage collection": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()],
    "switch interval": sys.getswitchinterval(),
    "recursion limit": sys.getrecursionlimit(),
    "threads of torch": [torch.get_num_threads(), torch.get_num_interop_threads()],
    "default dtype": str(torch.get_default_dtype()),
    "gradients of torch": torch.is_grad_enabled(),
    "precision of torch": [torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark],
    "determinism of torch": torch.are_deterministic_algorithms_enabled(),
    "environment": dict(os.environ),
    "log handlers": {name: text for name, text in handlers.items() if text != "[]"},
    "log level": logging.getLogger().level,
    "path": sys.path,
    "signal handlers": [str(signal.getsignal(s)) for s in sorted(signal.valid_signals())],
    "errors of numpy": np.geterr(),
    "printing of numpy": str(np.get_printoptions()),
    "hooks": [str(h) for h in (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook)],
    "running threads": [t.name for t in threading.enumerate()],
}))
"""


@cache
def _state(first: str, switch: str = "on") -> dict[str, Any]:
    environment = {k: v for k, v in os.environ.items() if k not in SET | {"OMP_WAIT_POLICY", "PYTEST_CURRENT_TEST"}}
    environment |= {process.SWITCH: switch, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", f"{first}\n{STATE}"], capture_output=True, text=True, timeout=100, env=environment
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {key: after[key] for key in after if after[key] != before[key]}


def test_importing_changes_what_is_listed_and_nothing_else() -> None:
    before, after = _state("import numpy, torch"), _state("import headrace")
    changed = _changed(before, after)
    assert set(changed) == {"environment", "garbage collection", "hooks"}
    assert [hook.split()[1] for hook in changed["hooks"]][::2] == ["_show", "_show_in_thread"]
    assert changed["hooks"][1::2] == before["hooks"][1::2]
    assert changed["garbage collection"][:2] == before["garbage collection"][:2]
    assert changed["garbage collection"][2] > 100_000  # objects that are left out
    added = {k: v for k, v in after["environment"].items() if before["environment"].get(k) != v}
    assert added == {"GOMP_SPINCOUNT": process.SPIN, "KMP_BLOCKTIME": "1", "MIMALLOC_PURGE_DELAY": "1000"}
    assert set(before["environment"]) <= set(after["environment"])


LARGEST_COLLECTION = """
import gc
sizes = []
gc.callbacks.append(lambda phase, info: sizes.append(len(gc.get_objects(info["generation"]))) if phase == "start" else None)
import headrace
print(max(sizes))
"""


def test_importing_never_collects_what_was_imported() -> None:
    done = subprocess.run([sys.executable, "-c", LARGEST_COLLECTION], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 50_000  # there are two hundred thousand


def test_importing_after_torch_changes_how_errors_are_shown_only() -> None:
    assert set(_changed(_state("import numpy, torch"), _state("import torch, headrace"))) == {"hooks"}


def test_a_delay_that_the_user_chose_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setenv("MIMALLOC_PURGE_DELAY", "5")
    process.keep_memory()
    assert os.environ["MIMALLOC_PURGE_DELAY"] == "5"


STEP = """
import headrace as tf
w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.matmul(w, w)))
with tf.Session(config=tf.ConfigProto(compile="off", precision="high")) as session:
    session.run(tf.global_variables_initializer())
    for _ in range(40):
        session.run(train)
del tf, w, train, session
"""


def test_with_the_switch_off_nothing_changes_even_after_training() -> None:
    assert _changed(_state("import numpy, torch", "off"), _state(STEP, "off")) == {}


def test_training_leaves_all_but_torchs_threads_as_it_was() -> None:
    changed = _changed(_state("import numpy, torch"), _state(STEP))
    assert set(changed) - {"threads of torch"} == {"environment", "garbage collection", "hooks"}


class _Torch:
    """Stands for torch: remembers what was set."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.backends = SimpleNamespace(cudnn=SimpleNamespace(allow_tf32=None, benchmark=None, benchmark_limit=None))

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.calls.append((name, *args))


def test_what_the_program_asks_for_is_done_with_the_switch_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "enabled", lambda: False)
    torch = _Torch()
    process.set_threads(torch, 3)
    process.set_precision(torch, "high", benchmark=True, asked=False)
    assert (torch.calls, torch.backends.cudnn.benchmark) == ([], None)
    process.set_precision(torch, "highest", benchmark=False, asked=True)
    process.be_deterministic(torch)
    assert torch.calls == [("set_float32_matmul_precision", "highest"), ("use_deterministic_algorithms", True)]
    assert (torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark) == (False, False)


def test_cudnn_tries_few_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "enabled", lambda: True)
    torch = _Torch()
    process.set_precision(torch, "high", benchmark=True, asked=False)
    assert (torch.backends.cudnn.benchmark, torch.backends.cudnn.benchmark_limit) == (True, process.TRIALS)


@pytest.mark.parametrize("value", ["", "0", "no"])
def test_a_switch_that_is_neither_on_nor_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(process.SWITCH, value)
    with pytest.raises(ValueError, match=f"{process.SWITCH} must be on or off, got {value!r}"):
        process.enabled.__wrapped__()


SETTERS = re.compile(
    r"\b(set_num_threads|set_num_interop_threads|set_float32_matmul_precision|use_deterministic_algorithms|set_flush_denormal"
    r"|set_default_dtype|cudnn\.\w+ =|allow_tf32 =|setswitchinterval|setrecursionlimit|gc\.(disable|enable|freeze|set_threshold)"
    r"|filterwarnings|simplefilter|np\.seterr|set_printoptions|signal\.signal|os\.environ\[[^]]*\] =|environ\.setdefault"
    r"|os\.putenv|mallopt)\b"
)


# These set handlers of signals: while a monitored session is open or a server waits for sessions, and give it back
# (docs/training_loops.md); against the one that Ray sets; and in processes that are Headrace's own, the launcher and the keeper
# of a task's program.
WITH_SIGNALS = ("termination.py", "leaving.py", "engine.py", "keeper.py", "launch.py")


def test_no_other_file_sets_any() -> None:
    """Apart from what is undone before anybody else can look (``catch_warnings``)."""
    found = []
    for path in sorted((ROOT / "headrace").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = [
            line.strip()
            for line in text.splitlines()
            if SETTERS.search(line) and not line.strip().startswith(("#", "ops.signal."))
        ]
        if lines and path.name not in ("process.py", *WITH_SIGNALS) and "catch_warnings" not in text:
            found.append((str(path.relative_to(ROOT)), lines))
    assert found == []


def test_the_page_lists_every_setting() -> None:
    page = (ROOT / "docs/process.md").read_text(encoding="utf-8")
    for word in ("GOMP_SPINCOUNT", "KMP_BLOCKTIME", "MIMALLOC_PURGE_DELAY", "malloc", "gc", "switch interval", "warnings",
                 "recursion limit", "threads", "TF32", "deterministic", f"{process.SWITCH}=off"):  # fmt: skip
        assert word in page, word


# ---- the collector rests while steps are planned, and works again after


def test_the_collector_works_again_after_the_last_pause() -> None:
    assert gc.isenabled()
    with no_collection():
        assert not gc.isenabled()
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_after_an_error_too() -> None:
    with pytest.raises(ValueError, match="no plan"), no_collection():
        raise ValueError("no plan")
    assert gc.isenabled()


def test_a_program_that_has_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_turns_are_short_while_a_compiler_runs() -> None:
    before = sys.getswitchinterval()
    with short_turns():
        assert sys.getswitchinterval() == pytest.approx(min(before, process.TURN))
    assert sys.getswitchinterval() == before
