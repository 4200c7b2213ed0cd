"""One program over several devices: LeNet split between two virtual CPUs and trained in two towers, and what a step and an
iteration over two devices cost, beside TensorFlow; how long planning a large graph over eight devices takes; and what each way
for values to cross is worth (`--markdown docs/ablation.md` puts that table into the page).

TensorFlow runs in an environment of its own: give its Python with `--tf-python` or $HEADRACE_TF_PYTHON.
"""

import argparse
import time
from pathlib import Path

from benchmarks import _harness, _transfer_ablation
from benchmarks._peers import partition_tf1

MODULE = "benchmarks._peers.partition_tf1"
TOLERANCE = 1e-3
NODES, DEVICES = (4500, 9000, 18000, 36000), 8
LIMIT_S = 5.0  # for the largest
OPEN, CLOSE = "<!-- table: transfers -->", "<!-- end of transfers -->"


def main(argv=None):
    """Prints the tables and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=9, help="samples of each case (default: %(default)s)")
    parser.add_argument("--cases", nargs="*", default=tuple(partition_tf1.CASES), choices=tuple(partition_tf1.CASES))
    parser.add_argument("--compile", choices=("off", "auto", "always"), default="off")
    parser.add_argument("--parts", nargs="*", default=("beside", "planning", "ablation"), help="(default: all)")
    parser.add_argument("--markdown", help="a page with room for the table of the ablation")
    options = parser.parse_args(argv)
    result = {}
    if "beside" in options.parts:
        result["beside"] = _compare(options)
    if "planning" in options.parts:
        result["planning"] = _planning()
    if "ablation" in options.parts:
        result["ablation"] = _transfer_ablation.measure(4 * options.rounds)
        text = _transfer_ablation.markdown(result["ablation"])
        print(text)
        if options.markdown:
            page = Path(options.markdown)
            before, _, rest = page.read_text().partition(OPEN)
            page.write_text(f"{before}{OPEN}\n\n{text}\n\n{CLOSE}{rest.partition(CLOSE)[2]}")
    print(f"saved to {_harness.save('partitions', result)}")


# ---- planning


def _planning():
    """Processor seconds to plan a training step in towers over eight CPUs, by the nodes of its graph."""
    import headrace as tf

    found = {}
    for wanted in NODES:
        graph, x, train = _towers(tf, wanted)
        nodes = len(graph.get_operations())
        with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": DEVICES}, compile="off")) as session:
            begin, at = time.process_time(), time.perf_counter()
            session._master.plan([x], [], [train])
            found[nodes] = {"processor_s": time.process_time() - begin, "elapsed_s": time.perf_counter() - at}
        per_node = found[nodes]["processor_s"] / nodes * 1e6
        print(
            f"{nodes:6d} nodes over {DEVICES} devices: {found[nodes]['processor_s']:.2f} s, {per_node:.0f} us a node",
            flush=True,
        )
    if found[nodes]["processor_s"] > LIMIT_S:
        print(f"* misses its target of {LIMIT_S:g} s")
    return found


def _towers(tf, nodes):
    layers = nodes * 10 // (DEVICES * 95)  # 9.5 nodes for a layer in a tower
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0"):
            variables = [(tf.Variable(tf.ones([4, 4])), tf.Variable(tf.ones([4]))) for _ in range(layers)]
        flat = [v for pair in variables for v in pair]
        x = tf.placeholder(tf.float32, [8 * DEVICES, 4])
        slopes = []
        for i, hidden in enumerate(tf.split(x, DEVICES)):
            with tf.device(f"/cpu:{i}"):
                for weights, bias in variables:
                    hidden = tf.tanh(tf.matmul(hidden, weights) + bias)
                slopes.append(tf.gradients(tf.reduce_sum(hidden), flat))
        with tf.device("/cpu:0"):
            sums = [tf.add_n(list(each)) for each in zip(*slopes, strict=True)]
            train = tf.train.GradientDescentOptimizer(0.1).apply_gradients(zip(sums, flat, strict=True))
    return graph, x, train


# ---- beside TensorFlow


def _compare(options):
    found = {}
    environment = {"HEADRACE_COMPILE": options.compile}
    with _harness.side_by_side(MODULE, _harness.tensorflow_python(options.tf_python), **environment) as (ours, theirs):
        rows = []
        for case in options.cases:
            _agree(case, ours.values(case), theirs.values(case))
            one = _harness.interleave(ours, theirs, case, options.rounds)
            found[case] = {"ours": one.ours, "theirs": one.theirs}
            cells = (_harness.duration(min(one.ours)), _harness.duration(min(one.theirs)))
            rows.append((case, *cells, f"{one.ratio:.2f}", f"{min(one.ratios):.2f}-{max(one.ratios):.2f}"))
            for worker in (ours, theirs):
                worker.forget(case)
        print(_harness.table(("", "Headrace", "TensorFlow", "ratio", "range"), rows))
    return found


def _agree(case, ours, theirs):
    """Stops if the two libraries give other numbers."""
    for a, b in zip(ours, theirs, strict=True):
        if abs(a - b) > TOLERANCE * max(abs(a), abs(b), 1e-3):
            raise SystemExit(f"'{case}' gives {a} in Headrace and {b} in TensorFlow")


if __name__ == "__main__":
    main()
