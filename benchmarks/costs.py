"""Predicted beside measured step times of the models, on a CPU or one GPU: is the cost model any good?

For each model: what a step takes (the median and the least of many); what is predicted from what its nodes compute and move and
what this machine can do (*static*); and what is predicted from nodes that were measured in three to ten steps (*measured*).  On
a GPU also the compiled step.  Its prediction fuses all nodes between products, convolutions, pools and rows of tables: such a
group is one kernel, which reads what comes from outside and writes what is used outside, and the step has one launch.

Ends within `--minutes`: models that do not fit are skipped, with a note.  `--clock processor` counts the processor's time of one
thread instead of the time that passes, for a machine on which other programs run (CPU only).
"""

from __future__ import annotations

import argparse
import gc
import importlib
import inspect
import math
import statistics
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import headrace as tf
from benchmarks import _harness
from benchmarks._peers import tf1_peer, workload
from headrace.runtime.costs import calibrate, keep
from headrace.runtime.session import step_costs

RUNS = 10  # at most, that are measured for a prediction
LEAST = 3
MARGIN_S = 15.0  # kept back for what is under way when the time is over


def main(argv: list[str] | None = None) -> None:
    """Measures, prints the table, saves the numbers."""
    options = _options(argv)
    if options.device == "cuda" and not tf.test.is_gpu_available():
        print("no CUDA GPU here: nothing is measured")
        return
    began = time.monotonic()
    end = began + 60.0 * options.minutes - MARGIN_S
    on_processor = options.clock == "processor"
    threads = 1 if on_processor else options.threads
    machine = calibrate.measure(threads, time.thread_time if on_processor else time.perf_counter)
    # Predictions take what was measured just now, by this clock.
    calibrate._known.update(dict.fromkeys({threads or calibrate.default_threads()}, machine))
    print(f"this machine was measured in {time.monotonic() - began:.1f} s", flush=True)
    suite = {
        "cpu": {name: workload.CPU[name] for name in workload.CPU_DEFAULT}, "cuda": workload.GPU, "small": workload.SMALL
    }["small" if options.small else options.device]  # fmt: skip
    result: dict[str, Any] = {
        "device": options.device, "clock": options.clock, "threads": threads or calibrate.default_threads(),
        "devices": keep.describe(threads)["devices"], "costs": keep.to_json(machine), "models": {}, "skipped": [],
    }  # fmt: skip
    names = options.models or list(suite)
    modes = [False, True] if options.device == "cuda" else [False]
    for compiled in modes:
        for name in names:
            label = f"{suite[name].title}{', compiled' if compiled else ''}"
            if time.monotonic() > end:
                result["skipped"].append(f"{label}: out of time")
                continue
            try:
                row = _measure(suite[name], threads, options, compiled)
                result["models"].setdefault(name, {"title": suite[name].title})[
                    "compiled" if compiled else "interpreted"
                ] = row
                print(f"[{end - time.monotonic():4.0f} s left] {label}: {_words(row)}", flush=True)
            except Exception as e:  # noqa: BLE001 - one model's trouble must not cost the others
                traceback.print_exc()
                result["skipped"].append(f"{label}: {type(e).__name__}: {e}")
            _harness.save(_name(options), result, options.out)
    result["summary"] = {mode: summary(result, mode) for mode in ("interpreted", "compiled")[: len(modes)]}
    header, *rows = table(result)
    print(_harness.table(header, rows))
    for mode, words in result["summary"].items():
        print(f"{mode}: {words}")
    print(*result["skipped"], f"saved to {_harness.save(_name(options), result, options.out)}", sep="\n", flush=True)


def _name(options: argparse.Namespace) -> str:
    return f"costs-{options.device}"


def _measure(one: workload.Workload, threads: int, options: argparse.Namespace, compiled: bool) -> dict[str, Any]:
    """One model: seconds of its step, and what is predicted."""
    clock = time.thread_time if options.clock == "processor" else time.perf_counter
    config = tf.ConfigProto(compile="always" if compiled else "off", intra_op_parallelism_threads=threads)
    with tf.Graph().as_default() as graph:
        fetches, feeds, begin = _model(one)
    try:
        with tf.Session(graph=graph, config=config) as session:
            begin(session)
            step = partial(session.run, fetches, feeds)
            static = session.predict_cost(fetches, feeds, use_measured=False)
            _sample(step, clock, options.seconds / 4, 12)  # caches are cold, and threads are chosen
            times = _sample(step, clock, options.seconds / 2, LEAST)
            runs = min(RUNS, max(LEAST, int(options.seconds / statistics.median(times))))
            session.costs.add(_costs(session, fetches, feeds, runs, options))
            measured = session.predict_cost(fetches, feeds)
            times += _sample(step, clock, options.seconds / 2, LEAST)
    finally:
        gc.collect()
    return {
        "median_s": statistics.median(times), "least_s": min(times), "steps": len(times), "static_s": static.seconds,
        "measured_s": measured.seconds, "calling_s": measured.calling, "working_s": measured.working,
        "measured_share": measured.measured,
    }  # fmt: skip


def _model(one: workload.Workload) -> tuple[Any, dict[Any, Any], Callable[[Any], None]]:
    """What is fetched, what is fed, and what gives the variables their values."""
    batch = tf1_peer.example(one)
    if one.bare:
        feeds, fetches, initialize = tf1_peer._bare(tf, one.model)
        return fetches, dict(zip(feeds, batch, strict=True)), initialize
    build = importlib.import_module(f"headrace.models.{one.model}").build
    known = inspect.signature(build).parameters
    arguments = {name: value for name, value in one.arguments.items() if name in known}
    model = build(one.batch, learning_rate=one.learning_rate, resident=one.resident, **arguments)
    if not one.resident:
        return [model.loss, model.train_op], {model.inputs: batch[0], model.labels: batch[1]}, model.initialize

    def begin(session: Any) -> None:
        model.initialize(session)
        model.hold(session, *batch)

    return [model.loss, model.train_op], {}, begin


def _sample(step: Callable[[], Any], clock: Callable[[], float], seconds: float, least: int) -> list[float]:
    """Times of steps, one after the other, for so long; so many at least, unless that takes twice as long."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while (now := time.perf_counter()) < end or len(times) < (least if now < end + seconds else 1):
        begin = clock()
        step()
        times.append(clock() - begin)
    return times


def _costs(session: Any, fetches: Any, feeds: Any, runs: int, options: argparse.Namespace) -> Any:
    """What the nodes of a step take, by the clock of the benchmark."""
    if options.clock != "processor":
        return session.measure_costs(fetches, feeds, runs)
    master = session._master
    flat = importlib.import_module("headrace.client.fetch").Fetches(session.graph, fetches)
    plan = master.plan(list(feeds), flat.tensors, flat.targets)
    call = session._make_call(flat, list(feeds))
    return step_costs.measure(plan, call.feed(list(feeds.values())), master.planner, runs, time.thread_time_ns)


# ---- what it means


def _ratio(row: dict[str, Any], which: str) -> float:
    return float(row[f"{which}_s"] / row["median_s"])


def _words(row: dict[str, Any]) -> str:
    return (
        f"{_harness.duration(row['median_s'])} (least {_harness.duration(row['least_s'])}), static {_ratio(row, 'static'):.2f}, "
        f"measured {_ratio(row, 'measured'):.2f} of it"
    )


def summary(result: dict[str, Any], mode: str) -> dict[str, Any]:
    """How far off the predictions are: the median factor, the worst, and how many are within a factor of 1.5 or 15 %."""
    rows = [model[mode] for model in result["models"].values() if mode in model]
    found: dict[str, Any] = {"models": len(rows)}
    for which, within in (("static", 1.5), ("measured", 1.15)):
        off = [math.exp(abs(math.log(_ratio(row, which)))) for row in rows]
        if off:
            found[which] = {
                "median_factor": statistics.median(off), "worst_factor": max(off),
                f"within_{within:g}": sum(factor <= within for factor in off),
            }  # fmt: skip
    return found


def table(result: dict[str, Any]) -> list[list[str]]:
    """A row for each model and mode, under names of the columns."""
    rows = [["step", "median", "least", "static", "/ median", "measured", "/ median"]]
    for model in result["models"].values():
        for mode in ("interpreted", "compiled"):
            if mode not in model:
                continue
            row = model[mode]
            rows.append([
                f"{model['title']}{', compiled' * (mode == 'compiled')}", _harness.duration(row["median_s"]),
                _harness.duration(row["least_s"]), _harness.duration(row["static_s"]), f"{_ratio(row, 'static'):.2f}",
                _harness.duration(row["measured_s"]), f"{_ratio(row, 'measured'):.2f}",
            ])  # fmt: skip
    return rows


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks costs", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--device", choices=["cpu", "cuda"], default="cpu", help="where the models run (default: %(default)s)")
    add("--models", nargs="+", choices=sorted(workload.CPU), metavar="NAME", help="which (default: all)")
    add("--seconds", type=float, default=4.0, help="of steps that are timed of each model (default: %(default)s)")
    add("--minutes", type=float, default=3.8, help="after which no other model is begun (default: %(default)s)")
    add("--threads", type=int, default=0, help="of a step's kernels (default: as a session takes)")
    add("--clock", choices=["wall", "processor"], default="wall", help="what is counted (default: %(default)s)")
    add("--small", action="store_true", help="tiny sizes, to see that it works")
    add("--out", type=Path, default=_harness.RESULTS, help="folder of the result")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
