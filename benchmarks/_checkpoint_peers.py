"""One side of the benchmark of checkpoints: a model in one library, saved, restored into its own variables.

A process of its own for each: `python -m benchmarks._worker LIBRARY benchmarks._checkpoint_peers`, with folder and size in the
environment.  Every save ends with the bytes on the disk: libraries that do not sync their files have it done for them, and timed.
"""

import functools
import glob
import os
import time

import numpy as np

LARGE, SMALL = (
    1 << 24,
    1 << 20,
)  # floats: a quarter of the bytes are in variables of 64 MB, the others in variables of 4 MB
BIASES = 100


def shapes(megabytes):
    """The sizes of the variables by name."""
    floats = megabytes * 2**18
    large = floats // 4 // LARGE
    small = (floats - large * LARGE) // SMALL
    sizes = {f"large_{i}/weights": LARGE for i in range(large)} | {f"small_{i}/weights": SMALL for i in range(small)}
    return sizes | {f"small_{i}/biases": 1000 for i in range(BIASES)}


def _array(name, size):
    return np.random.RandomState(sum(name.encode())).standard_normal(size).astype(np.float32)


# ---- models: `save` and `restore` are timed


class GraphModel:
    """Variables and a Saver of Headrace or TensorFlow."""

    def __init__(self, tf, sizes):
        self._syncs = tf.__name__.startswith("headrace")
        with tf.Graph().as_default() as graph:
            feeds = []
            for name, size in sizes.items():
                value = tf.placeholder(tf.float32, [size])
                feeds.append(
                    (tf.get_variable(name, initializer=value, use_resource=True).initializer, value, name, size)
                )
            self._saver = tf.train.Saver(max_to_keep=None)
        self._session = tf.Session(graph=graph)
        for initializer, value, name, size in feeds:
            self._session.run(initializer, {value: _array(name, size)})

    def save(self, path):
        self._saver.save(self._session, path, write_meta_graph=False, write_state=False)
        if not self._syncs:
            _sync(f"{path}.data-00000-of-00001")
            _sync(f"{path}.index")

    def restore(self, path):
        self._saver.restore(self._session, path)


class TorchModel:
    """Tensors saved and loaded by functions of torch, then copied into the tensors that there are, as `load_state_dict` does."""

    def __init__(self, write, load, sizes):
        import torch

        self._state = {name: torch.from_numpy(_array(name, size)) for name, size in sizes.items()}
        self._write, self._load = write, load

    def save(self, path):
        self._write(self._state, path)
        _sync(path)

    def restore(self, path):
        loaded = self._load(path)
        for name, tensor in self._state.items():
            tensor.copy_(loaded[name])


def _sync(path):
    number = os.open(path, os.O_RDONLY)
    os.fsync(number)
    os.close(number)


@functools.cache
def _model(library):
    sizes = shapes(int(os.environ["CHECKPOINT_MEGABYTES"]))
    name = library.__name__
    if name == "torch":
        mmap = os.environ.get("CHECKPOINT_MMAP") == "1"
        return TorchModel(library.save, functools.partial(library.load, mmap=mmap, weights_only=True), sizes)
    if name == "safetensors":
        from safetensors import torch as exchange

        return TorchModel(exchange.save_file, exchange.load_file, sizes)
    return GraphModel(library, sizes)


# ---- what is asked for


class Save:
    """Saves to a file that was not there; removes it outside the time."""

    def __init__(self, library):
        self._model, self._path = _model(library), f"{os.environ['CHECKPOINT_FOLDER']}/saved"

    def __call__(self):
        begin = time.perf_counter()
        self._model.save(self._path)
        self.seconds = time.perf_counter() - begin
        for path in glob.glob(f"{self._path}*"):
            os.remove(path)

    def correct(self, seconds):
        return self.seconds


class Restore:
    """Restores from a file that is in the system's cache, or is not."""

    def __init__(self, library, cached):
        self._model, self._path, self._cached = _model(library), f"{os.environ['CHECKPOINT_FOLDER']}/kept", cached
        if not glob.glob(f"{self._path}*"):
            self._model.save(self._path)

    def __call__(self):
        for path in glob.glob(f"{self._path}*"):
            read_ahead(path) if self._cached else drop(path)
        begin = time.perf_counter()
        self._model.restore(self._path)
        self.seconds = time.perf_counter() - begin

    def correct(self, seconds):
        return self.seconds


class PeakMemory:
    """The bytes by which the process grows, at most, while it saves or restores for the first time."""

    def __init__(self, work):
        self._work = work

    def __call__(self):
        self._work()

    def values(self):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts again
        before = _status("VmRSS")
        self._work()
        return [_status("VmHWM") - before]


def _status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))


def read_ahead(path):
    """Brings a file into the system's cache."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def drop(path):
    """Drops a file from the system's cache."""
    number = os.open(path, os.O_RDONLY)
    os.fsync(number)
    os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(number)


# ---- saving in the background of training (Headrace only)

WIDTH, LAYERS, BATCH = 1500, 4, 64  # 36 MB of weights: a step takes some hundredths of a second on two cores
STEPS = 50  # between two saves


class Trained:
    """A network that is trained; `saver` writes in the background."""

    def __init__(self, tf):
        with tf.Graph().as_default() as graph:
            value = tf.constant(np.random.RandomState(0).standard_normal([BATCH, WIDTH]).astype(np.float32))
            for i in range(LAYERS):
                value = tf.tanh(tf.matmul(value, tf.get_variable(f"weights_{i}", [WIDTH, WIDTH])))
            self.step = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(value))
            self.saver = tf.train.Saver(max_to_keep=1, asynchronous=True)
            initialise = tf.global_variables_initializer()
        self.session = tf.Session(graph=graph)
        self.session.run(initialise)


_trained = functools.cache(Trained)


class Steps:
    """`STEPS` steps, after the start of a save or without one; in seconds for a step."""

    def __init__(self, tf, saving):
        self._job, self._saving, self._number = _trained(tf), saving, 0

    def __call__(self):
        job = self._job
        job.saver.wait()
        begin = time.perf_counter()
        if self._saving:
            self._number += 1
            job.saver.save(
                job.session, f"{os.environ['CHECKPOINT_FOLDER']}/trained", self._number, write_meta_graph=False
            )
        for _ in range(STEPS):
            job.session.run(job.step)
        self.seconds = (time.perf_counter() - begin) / STEPS

    def correct(self, seconds):
        return self.seconds


CASES = {
    "steps": lambda library: Steps(library, saving=False),
    "steps, saving": lambda library: Steps(library, saving=True),
    "save": Save,
    "restore, cached": lambda library: Restore(library, True),
    "restore, from the disk": lambda library: Restore(library, False),
    "memory of a save": lambda library: PeakMemory(Save(library)),
    "memory of a restore": lambda library: PeakMemory(Restore(library, True)),
}
