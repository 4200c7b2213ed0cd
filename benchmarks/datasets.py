"""Six input pipelines: TFRecords, JPEG files, CSV, text with a vocabulary, a generator, arrays.  Elements a second, and the share
of a step's time that it waits for them.

Side by side with tf.data (TensorFlow, compat.v1) in an environment of its own (`--tf-python`, $HEADRACE_TF_PYTHON, else one is
made in `.bench`), and with torch's DataLoader without and with two processes.  All read the same files.  A call is one epoch.
Headrace decodes the JPEG files in two processes (`options.processes`), like torch's second row, and with the extra `images`;
its other rows use threads only.
The waiting is measured with a step that multiplies matrices for some milliseconds: what an epoch takes beyond its steps.
"""

import argparse
import os
import statistics
import sys
import tempfile
from contextlib import ExitStack

from benchmarks import _harness
from benchmarks._peers import input_files

NAMES = ("records", "images", "table", "text", "generator", "arrays")
ELEMENTS = {
    "records": input_files.RECORDS, "images": input_files.IMAGES, "table": input_files.ROWS, "text": input_files.LINES,
    "generator": 12000, "arrays": 20000,
}  # fmt: skip
STEPS = {"records": 125, "images": 6, "table": 188, "text": 252, "generator": 188, "arrays": 313}
WORK = 4  # products of a step
LOADERS = (0, 2)  # processes of torch's DataLoader
PEERS = ("tensorflow", *(f"torch, {n}" for n in LOADERS))
SAMPLE_S = 0.01  # one epoch
FOLDER = "HEADRACE_BENCHMARK_FILES"


def _case(name, kind, workers):
    def prepare(library):
        folder = os.environ[FOLDER]
        work = WORK if kind == "training" else 0
        if library.__name__ == "torch":
            from benchmarks._peers import input_torch as peer

            if kind == "steps":
                return peer.Work(WORK, STEPS[name])
            return peer.Epoch(peer.CASES[name], folder, workers, work)
        from benchmarks._peers import input_tf1

        if kind == "steps":
            return input_tf1.Work(library, WORK, STEPS[name])
        return input_tf1.Epoch(library, input_tf1.CASES[name], folder, work)

    return prepare


KINDS = ("epoch", "training", "steps")
CASES = {f"{name}, {kind}, {n}": _case(name, kind, n) for name in NAMES for kind in KINDS for n in LOADERS}


def main(argv=None):
    """Prints the table and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=7, help="epochs of each row (default: %(default)s)")
    parser.add_argument("--cases", nargs="*", default=NAMES, choices=NAMES, help="only these; they are not saved")
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS, help="beside these only; not saved")
    options = parser.parse_args(argv)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        import headrace as tf

        input_files.write_all(tf, folder)
        workers = _workers(stack, options, folder)
        versions = {name: worker.version for name, worker in workers.items()}
        rows = {name: _row(workers, name, options.rounds) for name in options.cases}
    result = {**versions, "rows": rows}
    print(f"\n{caption({**_harness.machine(), **result})}")
    header, *lines = table(result)
    print(_harness.table(header, lines))
    if tuple(options.cases) == NAMES and tuple(options.peers) == PEERS:
        print(f"saved to {_harness.save('datasets', result)}")


def _workers(stack, options, folder):
    pythons = {"headrace": (sys.executable, "headrace")}
    for peer in options.peers:
        pythons[peer] = (sys.executable, "torch")
    if "tensorflow" in options.peers:
        pythons["tensorflow"] = (_harness.tensorflow_python(options.tf_python), "tensorflow")
    workers = {}
    for name, (python, library) in pythons.items():
        workers[name] = _harness.Worker(python, library, "benchmarks.datasets", {FOLDER: folder})
        stack.callback(workers[name].close)
    return workers


def _row(workers, name, rounds):
    """Seconds of each kind, in every round, of all libraries in turn."""
    row = {kind: {peer: [] for peer in workers} for kind in KINDS}
    for i in range(rounds + 1):  # the first warms up
        for peer, worker in sorted(workers.items(), reverse=bool(i % 2)):
            loaders = peer.partition(", ")[2] or "0"
            for kind in KINDS:
                seconds = worker.sample(f"{name}, {kind}, {loaders}")
                if i:
                    row[kind][peer].append(seconds)
    for peer, worker in workers.items():
        for kind in KINDS:
            worker.forget(f"{name}, {kind}, {peer.partition(', ')[2] or '0'}")
    print(".", end="", flush=True)
    return row


def caption(result):
    """What was measured, where and how."""
    return (
        f"{result['processor']}, {result['cpus']} cores; Headrace {result['headrace']}, TensorFlow "
        f"{result.get('tensorflow', '-')}, torch {result.get('torch, 0', '-')} (0 and 2 processes); interleaved. Elements per "
        "second, median; ratio of time to the best of the others, median over rounds: below 1, Headrace is faster. Waiting: the "
        "share of an epoch of training that is not the step's own."
    )


def table(result):
    """A saved result as lines of text, the header first."""
    peers = [name for name in result if name in PEERS]
    lines = [("input", "Headrace", *peers, "ratio", *(f"waiting: {p}" for p in ("Headrace", *peers)))]
    for name, row in result["rows"].items():
        epoch = row["epoch"]
        best = min(peers, key=lambda peer: statistics.median(epoch[peer]))
        ratio = statistics.median(a / b for a, b in zip(epoch["headrace"], epoch[best], strict=True))
        rates = [f"{ELEMENTS[name] / statistics.median(epoch[p]):,.0f}" for p in ("headrace", *peers)]
        lines.append((name, *rates, f"{ratio:.2f}", *(f"{waiting(row, p):.0%}" for p in ("headrace", *peers))))
    return lines


def waiting(row, peer):
    """The share of an epoch of training in which no step computes."""
    shares = [1 - steps / whole for steps, whole in zip(row["steps"][peer], row["training"][peer], strict=True)]
    return max(statistics.median(shares), 0.0)


if __name__ == "__main__":
    main()
