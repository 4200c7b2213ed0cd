"""``headrace doctor``: is this machine all right?  Versions, devices, compiler, settings, what is missing, and a self-test.

    headrace doctor          or   python -m headrace.tools.doctor
    headrace doctor --measure     measures anew how fast its devices and links are, which takes some seconds

The self-test takes some seconds: a training step, the same step compiled, a checkpoint, two tasks that talk to each other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any, Final

from headrace.core.table import in_words
from headrace.runtime.compiler import own_folder
from headrace.runtime.compiler.bound import measure
from headrace.runtime.costs import calibrate, keep
from headrace.runtime.host.threads import default_threads
from headrace.tools.environment import OTHERS, VARIABLES

INSTALLS: Final = {"headrace": "needed", "headrace[cluster]": "clusters"}  # what pip is asked for, and what that is for
WIDTH: Final = 14  # of the names in the first column

Check = Callable[[Any], str]  # takes headrace, returns what was seen; raises if that is wrong


def examine(as_json: bool = False, self_test: bool = True, measure_costs: bool = False) -> int:
    """Prints what there is to know; returns 0 if all is well, 1 if a check of the self-test fails.

    ``measure_costs``: how fast devices and links are is measured anew.
    """
    found = devices()
    report: dict[str, Any] = {
        "versions": versions(), "devices": found, "compiler": compiler(any(name.startswith("GPU") for name in found)),
        "costs": costs(measure_costs),
        "environment": environment(os.environ), "missing": missing(),
    }  # fmt: skip
    if not as_json:
        _print(report)
    if self_test:
        if not as_json:
            print("self-test", flush=True)
        report["self_test"] = results = [run(name, check) for name, check in CHECKS.items()]
        if not as_json:
            for result in results:
                print(_row(result["check"], ("ok: " if result["ok"] else "FAILED: ") + result["seen"]))
    if as_json:
        print(json.dumps(report, indent=1))
    return 0 if all(result["ok"] for result in report.get("self_test", ())) else 1


# ---- what there is


def versions() -> dict[str, str]:
    """Of Headrace and what it stands on."""
    import numpy

    from headrace.version import HEADRACE_VERSION

    return {
        "headrace": HEADRACE_VERSION, "python": platform.python_version(), "torch": _version("torch") or "none",
        "numpy": numpy.__version__, "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }  # fmt: skip


def devices() -> dict[str, str]:
    """What steps can run on, by name."""
    import headrace as tf

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = {}
    with tf.Graph().as_default(), tf.Session() as session:
        for device in session.list_devices():
            name = device.name.rpartition("/")[2].removeprefix("device:")
            found[name] = in_words(device.memory_limit_bytes) if device.memory_limit_bytes else "memory not known"
    found["cores"] = f"{cores} of {os.cpu_count()}"
    found["threads"] = f"up to {default_threads()} for a step"
    return found


def compiler(has_gpu: bool) -> dict[str, str]:
    """What compiles steps, and where the code is kept."""
    found = {"C++": shutil.which(os.environ.get("CXX", "g++")) or "none: steps on the CPU stay interpreted"}
    if has_gpu:
        found["Triton"] = _version("triton") or "none: steps on the GPU stay interpreted"
    try:
        place = own_folder.folder()
        found["compiled code"] = f"{place} ({in_words(measure(place)[1])})"
    except (OSError, own_folder.UnsafeFolder) as e:
        found["compiled code"] = str(e)
    return found


def costs(measure_them: bool) -> dict[str, str]:
    """How fast the devices and the links between them are, if that was ever measured."""
    threads = default_threads()
    machine = calibrate.machine(again=True) if measure_them else keep.find(keep.name_of(threads))
    if machine is None:
        return {"not measured": "headrace doctor --measure does; so does the first prediction of a step"}
    found = {}
    for name, rates in machine.rates.items():
        products = [f"{in_speed(rates.flops[one])} {one}" for one in rates.flops if " " not in one]
        found[name] = (
            f"{', '.join(products)} (FLOP/s); {in_words(rates.bandwidth)}/s; {rates.launch * 1e6:.1f} us a kernel"
        )
    for name, link in machine.links.items():
        found[name] = f"{link.latency * 1e6:.3g} us, {in_words(link.bandwidth)}/s"
    return found


def in_speed(per_second: float) -> str:
    """A number of operations a second for people."""
    return f"{per_second / 1e12:.3g} T" if per_second >= 1e12 else f"{per_second / 1e9:.3g} G"


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables in force that Headrace reads; of one that it does not know, the nearest that it does."""
    import difflib

    found = {}
    for name in sorted(variables):
        if name in VARIABLES or name in OTHERS:
            secret = name == "HEADRACE_CLUSTER_KEY"
            found[name] = "set" if secret else variables[name]
        elif name.startswith("HEADRACE_"):
            near = difflib.get_close_matches(name, VARIABLES, n=1)
            found[name] = "Headrace reads no such variable" + (f"; did you mean {near[0]}?" if near else "")
    return found


def missing() -> dict[str, str]:
    """Which packages are not there, with the command that installs them."""
    found = {}
    for name, what in INSTALLS.items():
        lacking = [package for package in _packages(name) if _version(package) is None]
        if lacking:
            found[name] = f"{what}: {', '.join(lacking)}; pip install '{name}'"
    return found


def _packages(name: str) -> list[str]:
    """The packages that Headrace asks for, or that an extra of it asks for beside them."""
    extra = name.partition("[")[2].rstrip("]")
    try:
        requires = metadata.requires("headrace") or ()
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return []
    marker = re.compile(rf"""extra == ['"]{extra}['"]""")
    asked_for = [line for line in requires if (marker.search(line) if extra else "extra ==" not in line)]
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in asked_for]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


# ---- what works


def run(name: str, check: Check) -> dict[str, Any]:
    """The result of one check of the self-test."""
    import headrace as tf

    begun = time.perf_counter()
    try:
        with tf.Graph().as_default():
            seen, ok = check(tf), True
    except Exception as e:  # noqa: BLE001 - it is what the user asked to see
        seen, ok = f"{type(e).__name__}: {e}", False
    return {"check": name, "ok": ok, "seen": seen, "seconds": round(time.perf_counter() - begun, 2)}


def _train(tf: Any, config: Any = None) -> str:
    x = tf.constant([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    weights = tf.Variable([[0.0], [0.0]])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - tf.reduce_sum(x, 1, keepdims=True)))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss)
        for _ in range(20):
            session.run(train)
        last = session.run(loss)
    if not last < first / 100:
        raise ArithmeticError(f"the loss went from {first:.3g} to {last:.3g}, and should be near 0")
    return f"20 training steps, loss {first:.2f} to {last:.4f}"


def _train_compiled(tf: Any) -> str:
    return _train(tf, tf.ConfigProto(compile="always"))


def _save(tf: Any) -> str:
    v = tf.Variable([1.0, 2.0], name="v")
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder, tf.Session() as session:
        session.run(v.initializer)
        path = saver.save(session, os.path.join(folder, "model"), write_meta_graph=False)
        session.run(v.assign([0.0, 0.0]))
        saver.restore(session, path)
        if session.run(v).tolist() != [1.0, 2.0]:
            raise ArithmeticError(f"a variable was restored as {session.run(v)}")
    return f"a checkpoint in {tempfile.gettempdir()}"


def _talk(tf: Any) -> str:
    if _version("msgspec") is None or _version("pyzmq") is None:
        return "not tried: pip install 'headrace[cluster]'"
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as session:
        if session.run(tf.constant(2) * 3) != 6:
            raise ArithmeticError("a server computed 2 * 3 wrong")
    return f"a server at {server.target}"


CHECKS: Final[dict[str, Check]] = {
    "training": _train, "compiled": _train_compiled, "checkpoint": _save, "server": _talk,
}  # fmt: skip


# ---- printing


def _row(name: str, text: str) -> str:
    return f"  {name:<{WIDTH}} {text}"


def _print(report: Mapping[str, Mapping[str, str]]) -> None:
    for title, entries in report.items():
        print(title)
        for name, text in entries.items():
            print(_row(name, text))
        if not entries:
            print(_row("nothing", ""))


def main(argv: Sequence[str]) -> int:
    """The command without typer."""
    parser = argparse.ArgumentParser(prog="python -m headrace.tools.doctor", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--no-test", action="store_true", help="no self-test")
    parser.add_argument("--measure", action="store_true", help="measure how fast devices and links are")
    options = parser.parse_args(argv)
    return examine(options.json, not options.no_test, options.measure)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
