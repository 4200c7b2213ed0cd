"""Elements a second of a dataset whose function only the interpreter computes: in this process, and in others.

`python`: a `tf.py_func` of about a millisecond.  `strings`: a line of 40 numbers cut and converted.  All numbers of processes are
measured in turn, in rounds; a session's first elements, which wait for the processes to start, are not counted.
"""

import importlib
import time

import numpy as np

import headrace as tf
from benchmarks import _harness

PROCESSES = (0, 1, 2)
ROUNDS, BATCH, BATCHES = 5, 32, 12
LINE = ",".join(str(number) for number in range(40))


def spin(number: np.int64) -> np.int64:
    """About a millisecond of Python."""
    total = int(number)
    for i in range(10_000):
        total += i * i
    return np.int64(total)


def dataset(kind: str, processes: int) -> tf.data.Dataset:
    """The chain, its function called in so many processes."""
    if kind == "python":
        mapped = tf.data.Dataset.range(1).repeat().map(lambda x: tf.py_func(spin, [x], tf.int64))
    else:
        lines = tf.data.Dataset.from_tensors(LINE).repeat()
        mapped = lines.map(lambda line: tf.reduce_sum(tf.string_to_number(tf.string_split([line], ",").values)))
    options = tf.data.Options()
    options.processes = processes
    return mapped.batch(BATCH).with_options(options)


def main() -> None:
    """Measures, prints the table, saves the numbers."""
    rates: dict[str, dict[int, list[float]]] = {}
    for kind in ("python", "strings"):
        sessions = {}
        for processes in PROCESSES:
            with tf.Graph().as_default() as graph:
                batch = dataset(kind, processes).make_one_shot_iterator().get_next()
            sessions[processes] = tf.Session(graph=graph), batch
        rates[kind] = {processes: [] for processes in PROCESSES}
        for round_ in range(ROUNDS + 1):
            for processes, (session, batch) in sessions.items():
                for _ in range(BATCHES // 3):  # what was computed while others were measured
                    session.run(batch)
                begin = time.perf_counter()
                for _ in range(BATCHES):
                    session.run(batch)
                if round_:
                    rates[kind][processes].append(BATCH * BATCHES / (time.perf_counter() - begin))
        for session, _ in sessions.values():
            session.close()
    rows = [[kind, *(f"{np.median(r):,.0f}" for r in by.values())] for kind, by in rates.items()]
    print(_harness.table(["elements a second", *(f"{n} processes" for n in PROCESSES)], rows))
    _harness.save("processes", {"elements_per_s": rates})


if __name__ == "__main__":
    importlib.import_module(
        "benchmarks.processes"
    ).main()  # another process finds `spin` there, not in the program itself
