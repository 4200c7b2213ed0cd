"""What an iteration of a loop costs: an empty loop, a scan, an LSTM with and without gradient, beside the other frameworks.

Headrace (interpreted, and compiled) and TensorFlow (both kinds of control flow) run the same text, `_peers/loop_tf1.py`; JAX
uses `lax.while_loop` and `lax.scan`, PyTorch a Python loop. The LSTM is also measured unrolled (`static_rnn`), as what a loop
may cost at most. All use one thread. Every framework must give the same numbers before it is timed.
"""

import argparse
import statistics
import sys

from benchmarks import _harness
from benchmarks._peers import loop_data

OURS = ("headrace", "headrace-compiled")
PEERS = ("tensorflow", "tensorflow-v2", "jax", "torch")
CASES = ("empty loop", "scan", "scan, gradient", "LSTM", "LSTM, gradient")
UNROLLED = {"LSTM": "LSTM, unrolled", "LSTM, gradient": "LSTM, unrolled, gradient"}
TARGETS = {"tensorflow": 1.0, "tensorflow-v2": 1.0}
UNROLLED_TARGET = 1.1
TOLERANCE = 2e-4
MODULES = {"jax": "benchmarks._peers.loop_jax", "torch": "benchmarks._peers.loop_torch"}
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "NPROC": "1",
    "JAX_PLATFORMS": "cpu",
}


def main(argv=None):
    """Prints the table and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--jax-python", help="a Python that has JAX")
    parser.add_argument("--rounds", type=int, default=9, help="samples of each case (default: %(default)s)")
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--cases", nargs="*", default=CASES, choices=CASES)
    parser.add_argument("--modes", nargs="*", default=OURS, choices=OURS, help="ours to measure (default: both)")
    parser.add_argument(
        "--unrolled",
        nargs="*",
        choices=OURS,
        help="ours to measure unrolled too; compiling takes minutes (default: --modes)",
    )
    parser.add_argument(
        "--clock", choices=loop_data.CLOCKS, default="elapsed", help="processor: less disturbed by other work"
    )
    options = parser.parse_args(argv)
    options.unrolled = options.modes if options.unrolled is None else options.unrolled
    workers = _start(options)
    try:
        found = {case: _measure(case, workers, options) for case in options.cases}
    finally:
        for worker in workers.values():
            worker.close()
    versions = {name: worker.version for name, worker in workers.items()}
    print("\n" + ", ".join(f"{n} {v}" for n, v in versions.items()) + "; one thread; best time of an iteration")
    print(_harness.table(("", *workers, "unrolled"), (_times(c, s, workers) for c, s in found.items())))
    print("\nratios of the better of ours, median and range of the rounds; * misses its target")
    print(_harness.table(("", *options.peers, "unrolled"), (_ratios(c, s, options) for c, s in found.items())))
    result = {"versions": versions, "clock": options.clock, "seconds_per_iteration": found}
    print(f"saved to {_harness.save('control_flow', result)}")


def _start(options):
    pythons = {}
    if any(peer.startswith("tensorflow") for peer in options.peers):
        pythons["tensorflow"] = pythons["tensorflow-v2"] = _harness.tensorflow_python(options.tf_python)
    if "jax" in options.peers:
        pythons["jax"] = _harness.jax_python(options.jax_python)
    workers = {}
    for name in (*options.modes, *options.peers):
        modes = {"headrace": "off", "headrace-compiled": "always"}
        environment = {
            **ONE_THREAD,
            loop_data.CLOCK: options.clock,
            **({"HEADRACE_COMPILE": modes[name]} if name in modes else {}),
        }
        library = "headrace" if name in OURS else name
        module = MODULES.get(name, "benchmarks._peers.loop_tf1")
        workers[name] = _harness.Worker(pythons.get(name, sys.executable), library, module, environment)
    return workers


def _measure(case, workers, options):
    """Seconds of an iteration, round by round: for each framework, and unrolled for ours."""
    calls = [(name, worker, case) for name, worker in workers.items()]
    if case in UNROLLED:
        calls += [(f"{name}, unrolled", workers[name], UNROLLED[case]) for name in options.unrolled]
    _agree(calls)
    times = loop_data.ITERATIONS.get(case, loop_data.STEPS)
    samples = {name: [] for name, _, _ in calls}
    for i in range(-1, options.rounds):  # the first round warms up
        for name, worker, asked in calls[:: 1 if i % 2 else -1]:
            seconds = worker.sample(asked) / times
            if i >= 0:
                samples[name].append(seconds)
        print(".", end="", flush=True)
    return samples


def _agree(calls):
    """Stops if a framework gives other numbers than the first."""
    expected = None
    for name, worker, case in calls:
        values = worker.values(case)
        expected = expected or values
        size = max(map(abs, expected))
        wrong = [(a, b) for a, b in zip(values, expected, strict=True) if abs(a - b) > TOLERANCE * size]
        if wrong:
            raise SystemExit(f"{name} gives {wrong[0][0]} for '{case}' where {calls[0][0]} gives {wrong[0][1]}")


def _times(case, samples, workers):
    unrolled = [min(v) for name, v in samples.items() if name.endswith(", unrolled")]
    cells = [_harness.duration(min(samples[name])) for name in workers]
    return (case, *cells, _harness.duration(min(unrolled)) if unrolled else "")


def _ratios(case, samples, options):
    ours = _best(samples, options.modes)
    cells = [_ratio(ours, samples[peer], TARGETS.get(peer)) for peer in options.peers]
    if case in UNROLLED and options.unrolled:
        cells.append(_ratio(ours, _best(samples, [f"{m}, unrolled" for m in options.unrolled]), UNROLLED_TARGET))
    return (case, *cells, *[""] * (len(options.peers) + 1 - len(cells)))


def _best(samples, names):
    return min((samples[name] for name in names), key=statistics.median)


def _ratio(ours, theirs, target):
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ratios)
    missed = "*" if target is not None and ratio > target else ""
    return f"{ratio:.2f}{missed} ({min(ratios):.2f}-{max(ratios):.2f})"


if __name__ == "__main__":
    main()
