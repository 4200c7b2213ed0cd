"""GPT-2 (124 million numbers, batches of 8 x 512) and fine-tuning of BERT-base (32 x 128, dropout), with Adam, on one GPU.

Headrace beside torch.compile with its fused attention, in TF32, and in mixed precision with bfloat16.  Each row is a process of
its own; the model has the same shape everywhere, and the same first loss (but for dropout).  Milliseconds a step and the most
memory.  The processes run one after another, or, with `--together`, compile side by side; they are timed one after another when
all are ready.  `--small` is a tiny model, for a CPU too.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import _harness

ROWS = (
    "headrace, tf32", "headrace, bfloat16", "torch, tf32", "torch, bfloat16", "torch graphs, tf32",
    "torch graphs, bfloat16",
)  # fmt: skip
FULL = {
    "gpt2": {"batch": 8, "steps": 512, "width": 768, "layers": 12, "heads": 12, "vocabulary": 50_257},
    "bert": {"batch": 32, "steps": 128, "width": 768, "layers": 12, "heads": 12, "vocabulary": 30_522, "dropout": 0.1},
}
SMALL = {"batch": 2, "steps": 16, "width": 32, "layers": 2, "heads": 4, "vocabulary": 100}


def main(argv=None):
    """Runs the rows, prints the table and saves the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", choices=FULL, default="gpt2")
    parser.add_argument("--rows", nargs="*", default=ROWS, choices=ROWS)
    parser.add_argument("--small", action="store_true", help="a tiny model")
    parser.add_argument("--rounds", type=int, default=5, help="of 20 steps; the median counts (default: %(default)s)")
    parser.add_argument("--together", action="store_true", help="compile side by side")
    parser.add_argument("--off", default="", help="passes of Headrace to leave out")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--turns", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    sizes = FULL[options.model]
    if options.small:
        sizes = {**sizes, **SMALL}
    if options.row:
        library, _, precision = options.row.partition(", ")
        measure = _headrace if library == "headrace" else _torch
        wait = (lambda: _wait_for_turn(options)) if options.turns else (lambda: None)
        print(json.dumps(measure(options.model, sizes, library, precision, options.rounds, wait)))
        return
    found = (
        _together(options) if options.together else {row: _finish(row, *_start(options, row)) for row in options.rows}
    )
    found = {row: one for row, one in found.items() if one}
    print(_harness.table(*table(found)))
    if set(found) >= set(ROWS[:4]) and not options.small:
        how = {"how": "the processes compile side by side; start_s is with all of them"} if options.together else {}
        told = {"accelerator": ", ".join(_harness.gpus()) or None, "sizes": sizes, **how, "rows": found}
        print(f"saved to {_harness.save(options.model, told)}")


def _start(options, row, *more):
    command = [sys.executable, "-m", "benchmarks.language", "--model", options.model, "--row", row]
    command += ["--rounds", str(options.rounds), *more]
    command += ["--small"] * options.small
    env = {**os.environ, "HEADRACE_PASSES_OFF": options.off}
    said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - no pipe, which nobody may read in time
    process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, text=True, env=env)
    return process, said


def _finish(row, process, said):
    """What the row found; None if it failed, which is printed."""
    process.wait()
    said.seek(0)
    output = said.read()
    if process.returncode:
        print(row, output[-3000:], flush=True)
        return None
    found = json.loads(next(line for line in reversed(output.splitlines()) if line.startswith("{")))
    print(row, found, flush=True)
    return found


def _together(options):
    """Starts all rows, and when all are ready has one after another timed."""
    with tempfile.TemporaryDirectory() as turns:
        processes = {row: _start(options, row, "--turns", turns) for row in options.rows}
        files = {row: Path(turns) / row for row in processes}
        while any(process.poll() is None and not files[row].exists() for row, (process, _) in processes.items()):
            time.sleep(0.2)
        found = {}
        for row, started in processes.items():
            files[row].with_suffix(".go").touch()
            found[row] = _finish(row, *started)
        return found


def _wait_for_turn(options):
    ready = Path(options.turns) / options.row
    parent = os.getppid()
    ready.touch()
    while not ready.with_suffix(".go").exists():
        if os.getppid() != parent:
            sys.exit("the process that started this one is gone")
        time.sleep(0.05)


def table(found):
    """The header and the lines."""
    lines = [
        [
            row,
            f"{one['ms']:.2f}",
            f"{one['mib']:,.0f}",
            f"{one['first']:.3f}",
            f"{one['last']:.3f}",
            f"{one['start_s']:.0f}",
        ]
        for row, one in found.items()
    ]
    return ["", "ms a step", "MiB", "first loss", "last loss", "seconds to start"], lines


def _timed(step, rounds, begin, losses):
    import torch

    synchronize = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    times = []
    for _ in range(rounds):
        synchronize()
        start = time.perf_counter()
        for _ in range(20):
            step()
        synchronize()
        times.append((time.perf_counter() - start) / 20 * 1e3)
    most = torch.cuda.max_memory_allocated() / 2**20 if torch.cuda.is_available() else 0.0
    return {"ms": statistics.median(times), "all": times, "mib": most, "start_s": begin, **losses()}


def _example(model, sizes):
    return model.example(sizes["batch"], sizes["steps"], sizes["vocabulary"])


def _headrace(name, sizes, library, precision, rounds, wait):
    import headrace as tf

    model = importlib.import_module(f"headrace.models.{name}")
    begin = time.perf_counter()
    built = model.build(**sizes)
    feed = dict(zip((built.inputs, built.labels), _example(model, sizes), strict=True))
    config = tf.ConfigProto(compile="always", precision="bfloat16" if precision == "bfloat16" else "high")
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        built.initialize(session)
        first = float(session.run([built.loss, built.train_op], feed)[0])
        step = session.make_callable(built.train_op, list(feed))
        values = list(feed.values())
        for _ in range(10):
            step(*values)
        started = time.perf_counter() - begin
        wait()
        return _timed(
            lambda: step(*values), rounds, started,
            lambda: {"first": first, "last": float(session.run(built.loss, feed))},
        )  # fmt: skip


def _torch(name, sizes, library, precision, rounds, wait):
    import contextlib

    import torch

    from benchmarks._peers import language_torch

    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    begin = time.perf_counter()
    model = {"gpt2": language_torch.GPT2, "bert": language_torch.Bert}[name](sizes).to(device)
    example = _example(importlib.import_module(f"headrace.models.{name}"), sizes)
    inputs, labels = (torch.from_numpy(one.astype("int64")).to(device) for one in example)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, eps=1e-8, fused=True)
    forward = torch.compile(model, mode="max-autotune" if library == "torch graphs" else "default")

    def step():
        mixed = torch.autocast(device, torch.bfloat16) if precision == "bfloat16" else contextlib.nullcontext()
        with mixed:
            loss = forward(inputs, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    first = step().item()
    for _ in range(10):
        step()
    started = time.perf_counter() - begin
    wait()
    return _timed(step, rounds, started, lambda: {"first": first, "last": step().item()})


if __name__ == "__main__":
    main()
