"""A table of embeddings of which few rows change between two saves: whole checkpoints against incremental ones.

Whole and incremental saves are taken in turn, each after a step that touches the same share of the rows.  Then the last of a
whole checkpoint and nine increments is restored, in turn with a whole one, from the system's cache.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import headrace as tf
from benchmarks import _harness

INCREMENTS = 9


def main(argv=None):
    """Prints the table, and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the table (default: %(default)s)")
    parser.add_argument("--width", type=int, default=64, help="numbers in a row (default: %(default)s)")
    parser.add_argument(
        "--touched", type=float, default=1.0, help="percent of rows between saves (default: %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="restores of each (default: %(default)s)")
    parser.add_argument("--folder", help="on the disk to measure (default: where temporary files are)")
    parser.add_argument("--no-save", action="store_true", help="do not write the result file")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        result = measured(options, folder)
    print("\n" + _harness.table(*_lines(result)))
    if not options.no_save:
        print(f"saved to {_harness.save('increments', result)}")


def measured(options, folder):
    """The samples: seconds and bytes of saves, seconds of restores."""
    count = max(int(options.rows * options.touched / 100), 1)
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.get_variable("table", [options.rows, options.width], initializer=tf.random_uniform_initializer())
        ids = tf.placeholder(tf.int64, [count])
        touch = tf.scatter_add(table, ids, tf.ones([count, options.width])).op
        savers = {
            "whole": tf.train.Saver(max_to_keep=1),
            "increment": tf.train.Saver(max_to_keep=None, incremental=INCREMENTS + 1),
        }
        sess.run(tf.global_variables_initializer())
        random = np.random.default_rng(1)
        paths = {name: _save(saver, sess, folder, name, 0)[0] for name, saver in savers.items()}
        result = {"options": vars(options), "save_s": {}, "bytes": {}, "restore_s": {}}
        for number in range(1, INCREMENTS + 1):
            sess.run(touch, {ids: random.choice(options.rows, count, replace=False)})
            for name, saver in savers.items():
                paths[name], seconds, size = _save(saver, sess, folder, name, number)
                result["save_s"].setdefault(name, []).append(seconds)
                result["bytes"].setdefault(name, []).append(size)
            print(".", end="", flush=True)
        expected = sess.run(table)
        for _ in range(options.rounds + 1):  # the first warms up
            for name, saver in savers.items():
                begin = time.perf_counter()
                saver.restore(sess, paths[name])
                result["restore_s"].setdefault(name, []).append(time.perf_counter() - begin)
            print(".", end="", flush=True)
        if not np.array_equal(sess.run(table), expected):
            raise SystemExit("what was restored is not what was saved")
    for name in savers:
        del result["restore_s"][name][0]
    return result


def _save(saver, sess, folder, name, number):
    os.sync()  # what the disk has to do for the save before
    begin = time.perf_counter()
    path = saver.save(sess, f"{folder}/{name}", global_step=number, latest_filename=name, write_meta_graph=False)
    seconds = time.perf_counter() - begin
    files = Path(folder).glob(os.path.basename(path) + ".*")
    return path, seconds, sum(file.stat().st_size for file in files)


def _lines(result):
    header = ("", "bytes of a save", "save", f"restore, of 1 or {INCREMENTS + 1} files")
    lines = []
    for name in ("whole", "increment"):
        seconds = [statistics.median(result[what][name]) for what in ("save_s", "restore_s")]
        lines.append(
            (name, f"{statistics.median(result['bytes'][name]) / 2**20:.2f} MB", *(f"{s:.3f} s" for s in seconds))
        )
    return header, lines


if __name__ == "__main__":
    main()
