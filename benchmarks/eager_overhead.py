"""What an op run at once costs besides its arithmetic: Headrace beside PyTorch and TensorFlow, all eager, on tiny tensors.

PyTorch runs in this Python, TensorFlow (compat.v1 with eager execution) in an environment of its own: give its Python with
`--tf-python` or $HEADRACE_TF_PYTHON, else one is made in `.bench`.
"""

import argparse
import statistics
import sys

import numpy as np

from benchmarks import _harness

TARGETS = {"torch": 1.5, "tensorflow": 1.0}
MATRIX = np.ones((4, 4), np.float32)


def _is_torch(lib):
    return lib.__name__ == "torch"


def _tensor(lib):
    if _is_torch(lib):
        lib.set_num_threads(1)
        return lib.from_numpy(MATRIX.copy())
    if not lib.executing_eagerly():
        lib.enable_eager_execution()
    return lib.constant(MATRIX)


# ---- workloads: each prepares tensors and returns what is timed


def add(lib):
    x, y = _tensor(lib), _tensor(lib)
    return lambda: x + y


def scale(lib):
    x = _tensor(lib)
    return lambda: x * 2.0


def relu(lib):
    x = _tensor(lib)
    function = lib.relu if _is_torch(lib) else lib.nn.relu
    return lambda: function(x)


def exp(lib):
    x = _tensor(lib)
    return lambda: lib.exp(x)


def matmul(lib):
    x, y = _tensor(lib), _tensor(lib)
    return lambda: lib.matmul(x, y)


def total(lib):
    x = _tensor(lib)
    function = lib.sum if _is_torch(lib) else lib.reduce_sum
    return lambda: function(x)


def reshape(lib):
    x = _tensor(lib)
    return lambda: lib.reshape(x, [16])


def row(lib):
    x = _tensor(lib)
    return lambda: x[0]


def concat(lib):
    x, y = _tensor(lib), _tensor(lib)
    function = lib.cat if _is_torch(lib) else lib.concat
    return lambda: function([x, y], 0)


def to_numpy(lib):
    x = _tensor(lib)
    return (lambda: x.numpy().copy()) if _is_torch(lib) else x.numpy


def backward(lib):
    """Forward and gradient of a product, a bias and a relu."""
    x, w, b = _tensor(lib), _tensor(lib), _tensor(lib)
    if _is_torch(lib):
        w.requires_grad_()
        b.requires_grad_()

        def step():
            loss = lib.sum(lib.relu(lib.matmul(x, w) + b))
            return lib.autograd.grad(loss, [w, b])

        return step
    w, b = lib.Variable(w), lib.Variable(b)

    def differentiate():
        with lib.GradientTape() as tape:
            loss = lib.reduce_sum(lib.nn.relu(lib.matmul(x, w) + b))
        return tape.gradient(loss, [w, b])

    return differentiate


CASES = {
    "x + y": add,
    "x * 2.0": scale,
    "relu": relu,
    "exp": exp,
    "matmul": matmul,
    "sum": total,
    "reshape": reshape,
    "x[0]": row,
    "concat": concat,
    "numpy": to_numpy,
    "gradient of a layer": backward,
}
PEERS = ("headrace", "torch", "tensorflow")


# ---- the comparison


def main(argv=None):
    """Prints the table and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each case (default: %(default)s)")
    options = parser.parse_args(argv)
    pythons = {"tensorflow": _harness.tensorflow_python(options.tf_python)}
    environment = {"OMP_NUM_THREADS": "1"}
    workers = {
        p: _harness.Worker(pythons.get(p, sys.executable), p, "benchmarks.eager_overhead", environment) for p in PEERS
    }
    try:
        found = {case: _sample(workers, case, options.rounds) for case in CASES}
    finally:
        for worker in workers.values():
            worker.close()
    versions = {p: w.version for p, w in workers.items()}
    print(", ".join(f"{p} {v}" for p, v in versions.items()) + "; interleaved; best times, medians of ratios")
    header = ("", *PEERS, "to torch", "", "to tensorflow", "")
    print(_harness.table(header, (_row(case, samples) for case, samples in found.items())))
    print(f"saved to {_harness.save('eager_overhead', {**versions, 'cases': found})}")


def _sample(workers, case, rounds):
    samples = {p: [] for p in workers}
    for worker in workers.values():
        worker.sample(case)  # warms up
    for i in range(rounds):
        for name, worker in list(workers.items())[:: 1 if i % 2 else -1]:
            samples[name].append(worker.sample(case))
    return samples


def _row(case, samples):
    cells = [_harness.duration(min(samples[p])) for p in PEERS]
    for peer, target in TARGETS.items():
        ratio = statistics.median(a / b for a, b in zip(samples["headrace"], samples[peer], strict=True))
        cells += [f"{ratio:.2f}", "met" if ratio <= target else "MISSED"]
    return (case, *cells)


if __name__ == "__main__":
    main()
