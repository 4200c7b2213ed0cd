"""What an op run eagerly costs besides its arithmetic: Headrace beside PyTorch and TensorFlow, all eager, on tiny tensors.

PyTorch runs in this Python, TensorFlow (compat.v1 with eager execution) in an environment of its own: give its Python with
`--tf-python` or $HEADRACE_TF_PYTHON, else one is made in `.bench`.
"""

import argparse
import statistics
import sys

import numpy as np

from benchmarks import _harness

TO_TORCH = 2.0  # the aim for the geometric mean of all cases
TO_TENSORFLOW = 1.0  # the aim for each case
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


def softmax(lib):
    x = _tensor(lib)
    if _is_torch(lib):
        return lambda: lib.softmax(x, -1)
    return lambda: lib.nn.softmax(x)


def total(lib):
    x = _tensor(lib)
    function = lib.sum if _is_torch(lib) else lib.reduce_sum
    return lambda: function(x)


def mean_rows(lib):
    x = _tensor(lib)
    function = lib.mean if _is_torch(lib) else lib.reduce_mean
    return lambda: function(x, 1)


def argmax(lib):
    x = _tensor(lib)
    return lambda: lib.argmax(x, 1)


def greater(lib):
    x, y = _tensor(lib), _tensor(lib)
    return lambda: x > y


def cast(lib):
    x = _tensor(lib)
    if _is_torch(lib):
        return lambda: x.to(lib.int32)
    return lambda: lib.cast(x, lib.int32)


def reshape(lib):
    x = _tensor(lib)
    return lambda: lib.reshape(x, [16])


def transpose(lib):
    x = _tensor(lib)
    if _is_torch(lib):
        return lambda: lib.permute(x, [1, 0])
    return lambda: lib.transpose(x, [1, 0])


def expand_dims(lib):
    x = _tensor(lib)
    function = lib.unsqueeze if _is_torch(lib) else lib.expand_dims
    return lambda: function(x, 0)


def row(lib):
    x = _tensor(lib)
    return lambda: x[0]


def rows(lib):
    x = _tensor(lib)
    return lambda: x[1:3]


def gather(lib):
    x = _tensor(lib)
    if _is_torch(lib):
        places = lib.tensor([0, 2])
        return lambda: lib.index_select(x, 0, places)
    places = lib.constant([0, 2], lib.int64)
    return lambda: lib.gather(x, places)


def concat(lib):
    x, y = _tensor(lib), _tensor(lib)
    function = lib.cat if _is_torch(lib) else lib.concat
    return lambda: function([x, y], 0)


def stack(lib):
    x, y = _tensor(lib), _tensor(lib)
    return lambda: lib.stack([x, y])


def where(lib):
    x, y = _tensor(lib), _tensor(lib)
    chosen = x > y
    return lambda: lib.where(chosen, x, y)


def number(lib):
    _tensor(lib)
    function = lib.tensor if _is_torch(lib) else lib.constant
    return lambda: function(1.0)


def numbers(lib):
    _tensor(lib)
    function = lib.tensor if _is_torch(lib) else lib.constant
    return lambda: function([1.0, 2.0, 3.0])


def from_array(lib):
    _tensor(lib)
    function = lib.tensor if _is_torch(lib) else lib.constant
    return lambda: function(MATRIX)


def zeros(lib):
    _tensor(lib)
    return lambda: lib.zeros([4, 4])


def to_numpy(lib):
    x = _tensor(lib)
    return (lambda: x.numpy().copy()) if _is_torch(lib) else x.numpy


def to_number(lib):
    x = lib.tensor(2.5) if _is_torch(lib) else lib.constant(2.5)
    return lambda: float(x)


# ---- variables and training


def _parameter(lib):
    return _tensor(lib).requires_grad_() if _is_torch(lib) else lib.Variable(_tensor(lib), use_resource=True)


def read(lib):
    """A variable's value as a tensor of its own; PyTorch: the same memory without a history."""
    v = _parameter(lib)
    return v.detach if _is_torch(lib) else v.read_value


def use(lib):
    """A variable in an expression, nothing recorded."""
    v, x = _parameter(lib), _tensor(lib)
    if not _is_torch(lib):
        return lambda: x * v
    w = v.detach()
    return lambda: x * w


def assign_add(lib):
    v, x = _parameter(lib), _tensor(lib)
    if _is_torch(lib):
        w = v.detach()
        return lambda: w.add_(x)
    return lambda: v.assign_add(x)


def backward(lib):
    """Forward and gradient of a product, a bias and a relu."""
    x, w, b = _tensor(lib), _parameter(lib), _parameter(lib)
    if _is_torch(lib):

        def step():
            loss = lib.sum(lib.relu(lib.matmul(x, w) + b))
            return lib.autograd.grad(loss, [w, b])

        return step

    def differentiate():
        with lib.GradientTape() as tape:
            loss = lib.reduce_sum(lib.nn.relu(lib.matmul(x, w) + b))
        return tape.gradient(loss, [w, b])

    return differentiate


def _network(lib):
    """A loss of two layers on four examples: (its function, its parameters)."""
    parameters = [_parameter(lib) for _ in range(4)]
    x, y = _tensor(lib), _tensor(lib)
    mean, relu_of = (lib.mean, lib.relu) if _is_torch(lib) else (lib.reduce_mean, lib.nn.relu)

    def loss():
        w, b, v, c = parameters
        hidden = relu_of(lib.matmul(x, w) + b)
        return mean(lib.square(lib.matmul(hidden, v) + c - y))

    return loss, parameters


def gradients(lib):
    loss, parameters = _network(lib)
    if _is_torch(lib):
        return lambda: lib.autograd.grad(loss(), parameters)

    def differentiate():
        with lib.GradientTape() as tape:
            value = loss()
        return tape.gradient(value, parameters)

    return differentiate


def _applying(lib, make_torch, make):
    """An optimizer's update of four parameters whose gradients are known."""
    parameters = [_parameter(lib) for _ in range(4)]
    grads = [_tensor(lib) * 0.01 for _ in range(4)]
    if _is_torch(lib):
        optimizer = make_torch(lib.optim)(parameters, lr=1e-6)
        for p, g in zip(parameters, grads, strict=True):
            p.grad = g
        return optimizer.step
    optimizer = make(lib.train)(1e-6)
    pairs = list(zip(grads, parameters, strict=True))
    return lambda: optimizer.apply_gradients(pairs)


def apply_sgd(lib):
    return _applying(lib, lambda o: o.SGD, lambda t: t.GradientDescentOptimizer)


def apply_adam(lib):
    return _applying(lib, lambda o: o.Adam, lambda t: t.AdamOptimizer)


def train(lib):
    """A step of gradient descent on the network of two layers."""
    loss, parameters = _network(lib)
    if _is_torch(lib):
        optimizer = lib.optim.SGD(parameters, lr=1e-6)

        def step():
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()

        return step
    optimizer = lib.train.GradientDescentOptimizer(1e-6)

    def train_step():
        with lib.GradientTape() as tape:
            value = loss()
        optimizer.apply_gradients(zip(tape.gradient(value, parameters), parameters, strict=True))

    return train_step


CASES = {
    "x + y": add,
    "x * 2.0": scale,
    "x > y": greater,
    "relu": relu,
    "exp": exp,
    "matmul": matmul,
    "softmax": softmax,
    "where": where,
    "cast": cast,
    "sum": total,
    "mean of rows": mean_rows,
    "argmax": argmax,
    "reshape": reshape,
    "transpose": transpose,
    "expand_dims": expand_dims,
    "x[0]": row,
    "x[1:3]": rows,
    "gather": gather,
    "concat": concat,
    "stack": stack,
    "constant of a number": number,
    "constant of a list": numbers,
    "constant of an array": from_array,
    "zeros": zeros,
    "numpy": to_numpy,
    "float(x)": to_number,
    "read a variable": read,
    "x * variable": use,
    "assign_add": assign_add,
    "gradient of a layer": backward,
    "gradient of two layers": gradients,
    "apply gradients, SGD": apply_sgd,
    "apply gradients, Adam": apply_adam,
    "training step": train,
}
PEERS = ("headrace", "torch", "tensorflow")


# ---- the comparison


def main(argv=None):
    """Prints the table and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--only", nargs="*", choices=list(CASES), help="these cases, without saving")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each case (default: %(default)s)")
    options = parser.parse_args(argv)
    pythons = {"tensorflow": _harness.tensorflow_python(options.tf_python)}
    environment = {"OMP_NUM_THREADS": "1"}
    workers = {
        p: _harness.Worker(pythons.get(p, sys.executable), p, "benchmarks.eager_overhead", environment) for p in PEERS
    }
    try:
        found = {case: _sample(workers, case, options.rounds) for case in options.only or CASES}
    finally:
        for worker in workers.values():
            worker.close()
    versions = {p: w.version for p, w in workers.items()}
    print(", ".join(f"{p} {v}" for p, v in versions.items()) + "; interleaved; best times, medians of ratios")
    header = ("", *PEERS, "to torch", "to tensorflow", "")
    print(_harness.table(header, (_row(case, samples) for case, samples in found.items())))
    mean = statistics.geometric_mean(_ratio(samples, "torch") for samples in found.values())
    print(f"geometric mean to torch {mean:.2f}, aim {TO_TORCH}: {'met' if mean <= TO_TORCH else 'MISSED'}")
    if not options.only:
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
    to_torch, to_tensorflow = _ratio(samples, "torch"), _ratio(samples, "tensorflow")
    met = "met" if to_tensorflow <= TO_TENSORFLOW else "MISSED"
    return (case, *cells, f"{to_torch:.2f}", f"{to_tensorflow:.2f}", met)


def _ratio(samples, peer):
    return statistics.median(a / b for a, b in zip(samples["headrace"], samples[peer], strict=True))


if __name__ == "__main__":
    main()
