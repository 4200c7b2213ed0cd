"""Elements a second of a dataset whose function only the interpreter computes: in this process, and in others.

`python`: a `tf.py_func` of about a millisecond.  `strings`: a line of 40 numbers cut and converted.  All numbers of processes are
measured in turn, in rounds, and the best round is shown; what was computed ahead while others were measured is not counted.
"""

import importlib
import time

import numpy as np

import headrace as tf
from benchmarks import _harness

PROCESSES = (0, 1, 2)
ROUNDS, BATCH = 15, 32
BATCHES = {"python": (4, 12), "strings": (48, 60)}  # not counted, counted
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
    spent: dict[str, dict[int, list[float]]] = {}  # microseconds of this process's processor time for an element
    for kind, (ahead, counted) in BATCHES.items():
        sessions = {}
        for processes in PROCESSES:
            with tf.Graph().as_default() as graph:
                batch = dataset(kind, processes).make_one_shot_iterator().get_next()
            sessions[processes] = tf.Session(graph=graph), batch
        rates[kind], spent[kind] = ({processes: [] for processes in PROCESSES} for _ in range(2))
        for round_ in range(ROUNDS + 1):
            for processes, (session, batch) in sessions.items():
                for _ in range(ahead):
                    session.run(batch)
                begin, processor = time.perf_counter(), time.process_time()
                for _ in range(counted):
                    session.run(batch)
                if round_:
                    spent[kind][processes].append(1e6 * (time.process_time() - processor) / (BATCH * counted))
                    rates[kind][processes].append(BATCH * counted / (time.perf_counter() - begin))
        for session, _ in sessions.values():
            session.close()
    rows = [[f"{kind}, elements a second", *(f"{max(r):,.0f}" for r in by.values())] for kind, by in rates.items()]
    rows += [
        [f"{kind}, us of this process", *(f"{np.median(r):,.0f}" for r in by.values())] for kind, by in spent.items()
    ]
    print(_harness.table(["", *(f"{n} processes" for n in PROCESSES)], rows))
    _harness.save("processes", {"elements_per_s": rates, "processor_us": spent})


if __name__ == "__main__":
    importlib.import_module(
        "benchmarks.processes"
    ).main()  # another process finds `spin` there, not in the program itself
