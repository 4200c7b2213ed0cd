"""Headrace and TensorFlow: the same TF1 program text, `headrace/models`, under either.

For TensorFlow, and for JAX (which needs the seeded arrays only), a stand-in for the package `headrace` is installed: its
submodules come from the same files, its names from `tensorflow.compat.v1`.
"""

import importlib
import importlib.util
import inspect
import sys
import time
import types
from pathlib import Path

import numpy as np

PACKAGE = Path(__file__).resolve().parents[2] / "headrace"
CHAIN = 1000


class _StandIn(types.ModuleType):
    """A module named `headrace` that finds `headrace.models` on disk and every other name in `face`."""

    def __init__(self, face):
        super().__init__("headrace")
        self.__path__ = [str(PACKAGE)]
        self.__spec__ = importlib.util.spec_from_file_location("headrace", PACKAGE / "__init__.py")
        self._face = face

    def __getattr__(self, name):
        return getattr(self._face, name)


def stand_in(face):
    """Makes `import headrace` give `face`'s names; returns the module."""
    sys.modules["headrace"] = _StandIn(face)
    return sys.modules["headrace"]


def example(workload):
    """The batch of a workload, as NumPy arrays."""
    if workload.model == "null":
        return (np.float32(1.0),)
    if workload.model == "tiny":
        return (np.ones(8, np.float32),)
    make = importlib.import_module(f"headrace.models.{workload.model}").example
    known = inspect.signature(make).parameters
    return make(workload.batch, **{name: value for name, value in workload.arguments.items() if name in known})


def prepare(tf, workload, config):
    """Builds the graph and fills the variables; returns the step, which returns the loss, and the seconds of the first."""
    begin = time.perf_counter()
    with tf.Graph().as_default() as graph:
        if workload.bare:
            feeds, fetches, initialize = _bare(tf, workload.model)
        else:
            build = importlib.import_module(f"headrace.models.{workload.model}").build
            rate, resident = workload.learning_rate, workload.resident
            model = build(workload.batch, learning_rate=rate, resident=resident, **workload.arguments)
            feeds, fetches, initialize = (model.inputs, model.labels), [model.loss, model.train_op], model.initialize
    built_s = time.perf_counter() - begin
    session = tf.Session(graph=graph, config=config)
    initialize(session)
    if workload.resident:
        model.hold(session, *example(workload))
        return lambda: float(session.run(fetches)[0]), built_s

    def step(*arrays):
        return float(session.run(fetches, dict(zip(feeds, arrays, strict=True)))[0])

    return step, built_s


def _bare(tf, name):
    """A step that adds one number, or a chain of a thousand ops of two kinds that no optimiser can merge."""
    x = value = tf.placeholder(tf.float32, [] if name == "null" else [8])
    if name == "null":
        return (x,), [x + 1.0], lambda session: None
    other = tf.Variable(np.full(8, 1.5, np.float32))
    for i in range(CHAIN):
        value = tf.sin(value) if i % 2 else value * other
    initializer = tf.global_variables_initializer()
    return (x,), [tf.reduce_sum(value)], lambda session: session.run(initializer)
