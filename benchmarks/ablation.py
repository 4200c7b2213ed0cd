"""What each pass over the graph of a step is worth: step times without it over step times with all of them.

One process for each workload; all variants of a step share one session and its variables, and are sampled in turn, the best
sample of each counting, so that whatever slows the machine down for a while slows all of them.  Above 1: the pass pays.
`--markdown docs/ablation.md` puts the table into the page.  Takes about eight minutes on two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import _harness
from benchmarks._peers import workload

PASSES = (
    "raise_primitives", "fold_shapes", "fold", "trim", "simplify", "cse", "trim_stashes", "project_inputs",
    "defer_sums", "sum_products", "accumulate_product", "share_transpose", "share_maxima", "fuse_crop",
    "fuse_updates", "unroll", "pass_on", "sink", "arrays", "attention",
    "spread_rows", "overwrite", "recompute",
)  # fmt: skip
ALL_OFF = "all of them"
CACHE = "plan cache"  # a plan made again for each step
TITLES = {
    "mlp": "MLP", "lenet": "LeNet", "alexnet": "AlexNet, batch 2", "lstm_lm": "LSTM", "embedding": "embedding",
    "deep_adam": "40 layers, Adam", "dynamic_rnn": "dynamic_rnn",
}  # fmt: skip
COMPILED = ("mlp", "deep_adam")  # the others take minutes to compile each variant
OPEN, CLOSE = "<!-- table: ablation -->", "<!-- end of table -->"


def main(argv: list[str] | None = None) -> None:
    """Measures, prints the table, saves the numbers."""
    options = _options(argv)
    if options.one:
        print(json.dumps(_measure(*options.one, options.seconds, options.suite)), flush=True)
        return
    columns = [(name, "off") for name in options.workloads]
    columns += [(name, "always") for name in options.workloads if name in COMPILED and not options.interpreted_only]
    found: dict[str, Any] = {}
    started = time.strftime("%Y%m%d-%H%M%S")
    for name, mode in columns:
        key = name if mode == "off" else f"{name}, compiled"
        print(f"{key} ...", flush=True)
        found[key] = _in_process(name, mode, options)
        result = {"suite": options.suite, "seconds": options.seconds, "found": found}
        path = _harness.save(f"ablation-{started}", result)  # after each, so that nothing is lost
    text = _table(found)
    print(f"\n{text}\nsaved to {path}")
    if options.markdown:
        page = Path(options.markdown)
        before, _, rest = page.read_text().partition(OPEN)
        page.write_text(f"{before}{OPEN}\n\n{text}\n\n{CLOSE}{rest.partition(CLOSE)[2]}")


def _table(found: dict[str, Any]) -> str:
    titles = [TITLES[k.partition(",")[0]] + (", compiled" if "compiled" in k else "") for k in found]
    rows = [["without", *titles], ["---"] * (len(titles) + 1)]
    rows.append(["nothing: ms per step", *(f"{f['']['best_s'] * 1e3:.3g}" for f in found.values())])
    for one in (*PASSES, ALL_OFF, CACHE):
        if any(one in f for f in found.values()):
            rows.append([one, *(_cell(f, one) for f in found.values())])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(found: dict[str, Any], one: str) -> str:
    if one not in found:
        return ""
    if found[one].get("same"):
        return "="
    return f"{found[one]['best_s'] / found['']['best_s']:.2f}"


def _in_process(name: str, mode: str, options: argparse.Namespace) -> Any:
    command = [sys.executable, "-m", "benchmarks.ablation", "--one", name, mode]
    command += ["--suite", options.suite, "--seconds", str(options.seconds)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=_harness.ROOT)
    if done.returncode:
        raise SystemExit(f"{name} {mode} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


# ---- in the process of one workload


def _measure(name: str, mode: str, seconds: float, suite: str) -> dict[str, Any]:
    """{pass left out: {"best_s": ...}}, "" for none; "same" where leaving it out changes nothing."""
    session, feeds, fetches, targets, values = _prepared(name, suite)
    master = session._master
    torch = importlib.import_module("torch")
    given = [torch.as_tensor(v) for v in values]
    shapes = tuple(tuple(v.shape) for v in given)
    plans: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for off in ("", *PASSES, ALL_OFF):
        with passes_off(",".join(PASSES) if off == ALL_OFF else off):
            master._plans.clear()
            plan = master.plan(feeds, fetches, targets)
            if plan.variants is not None:
                plan = plan.variants.better(shapes)  # as a step does once it has recurred
            texts[off] = "\n".join(p.source for p in plan.programs) + plan.graph.to_text()
            if mode == "always" and (off == "" or texts[off] != texts[""]):
                plan = master.planner.compile(plan, shapes)
            plan.variants = None
            plans[off] = plan
    steps: dict[str, Callable[[], Any]] = {
        off: (lambda plan=plan: plan.run(given)) for off, plan in plans.items() if not off or texts[off] != texts[""]
    }
    best = _best(steps, seconds)
    if mode == "off":
        best[CACHE] = min(_seconds(lambda: _planned_anew(master, feeds, fetches, targets).run(given)) for _ in range(2))
    return {off: {"best_s": best[off]} if off in best else {"same": True} for off in ("", *PASSES, ALL_OFF, CACHE)
            if off in best or off in plans}  # fmt: skip


def _planned_anew(master: Any, *request: Any) -> Any:
    master._plans.clear()
    return master.plan(*request)


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _best(steps: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The best mean time of a few steps in a row, for each; all sampled in turn until the time is over."""
    best = dict.fromkeys(steps, float("inf"))
    counts = {}
    for off, step in steps.items():
        step()
        start = time.perf_counter()
        step()
        counts[off] = max(1, min(200, int(0.01 / (time.perf_counter() - start))))
    end = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < end:
        rounds += 1
        for off, step in steps.items():
            start = time.perf_counter()
            for _ in range(counts[off]):
                step()
            best[off] = min(best[off], (time.perf_counter() - start) / counts[off])
    return best


@contextlib.contextmanager
def passes_off(names: str) -> Iterator[None]:
    os.environ["HEADRACE_PASSES_OFF"] = names
    try:
        yield
    finally:
        del os.environ["HEADRACE_PASSES_OFF"]


def _prepared(name: str, suite: str) -> tuple[Any, list[Any], list[Any], list[Any], tuple[Any, ...]]:
    tf = importlib.import_module("headrace")
    if name in ("deep_adam", "dynamic_rnn"):
        feeds, loss, train, values = (_deep_adam if name == "deep_adam" else _dynamic_rnn)(tf, suite)
        session = tf.Session(config=tf.ConfigProto(compile="off"))
        session.run(tf.global_variables_initializer())
        return session, feeds, [loss], [train], values
    from benchmarks._peers import tf1_peer

    chosen = getattr(workload, suite.upper())[name]
    batch = 2 if name == "alexnet" else chosen.batch
    module = importlib.import_module(f"headrace.models.{chosen.model}")
    model = module.build(batch, learning_rate=chosen.learning_rate, resident=False, **chosen.arguments)
    session = tf.Session(config=tf.ConfigProto(compile="off"))
    model.initialize(session)
    values = tf1_peer.example(workload.Workload(name, chosen.model, batch, arguments=chosen.arguments))
    return session, [model.inputs, model.labels], [model.loss], [model.train_op], values


def _deep_adam(tf: Any, suite: str) -> Any:
    """Many small variables, updated by Adam."""
    import numpy as np

    layers, width = (40, 64) if suite == "cpu" else (3, 8)
    x = h = tf.placeholder(tf.float32, [32, width])
    for i in range(layers):
        h = h + tf.layers.dense(h, width, tf.nn.relu, name=f"layer{i}")
    loss = tf.reduce_mean(h * h)
    return [x], loss, tf.train.AdamOptimizer(1e-4).minimize(loss), (np.ones((32, width), np.float32),)


def _dynamic_rnn(tf: Any, suite: str) -> Any:
    """An LSTM as a loop."""
    import numpy as np

    width, steps, batch = (256, 20, 8) if suite == "cpu" else (8, 4, 2)
    x = tf.placeholder(tf.float32, [batch, steps, width])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(width), x, dtype=tf.float32)
    loss = tf.reduce_mean(outputs * outputs)
    value = np.random.RandomState(0).randn(batch, steps, width).astype(np.float32)
    return [x], loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss), (value,)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ablation", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--workloads", nargs="+", choices=list(TITLES), default=list(TITLES), help="default: all")
    add("--seconds", type=float, default=40.0, help="for each workload (default: %(default)s)")
    add("--suite", choices=["cpu", "small"], default="cpu", help="small: tiny sizes")
    add("--interpreted-only", action="store_true", help="leave out what takes long to compile")
    add("--markdown", metavar="PAGE", help="the page whose table is replaced")
    add("--one", nargs=2, metavar=("NAME", "MODE"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
