"""What a step costs besides its arithmetic: `Session.run`, callables, small feeds, tiny ops, building the graph.

Side by side with TensorFlow (compat.v1) in an environment of its own: give its Python with `--tf-python` or
$HEADRACE_TF_PYTHON, else one is made in `.bench`. Headrace interprets here (HEADRACE_COMPILE=off): compiling would hide
the overhead that is to be measured.
"""

import argparse

import numpy as np

from benchmarks import _harness

CHAIN = 1000
NODES = 10_000
TARGETS = {
    "run, no-op": 0.25,
    "run, read a scalar": 0.25,
    "run, feed 4 floats": 0.25,
    "callable, no-op": 0.5,
    "callable, read a scalar": 0.5,
    "callable, feed 4 floats": 0.5,
}


# ---- workloads: each prepares a session and returns what is timed


def run_no_op(tf):
    session, fetch = _session(tf, lambda: tf.no_op())
    return lambda: session.run(fetch)


def run_read(tf):
    session, fetch = _session(tf, lambda: tf.Variable(1.0))
    return lambda: session.run(fetch)


def run_feed(tf):
    session, (x, y) = _session(tf, lambda: _doubled(tf))
    value = np.ones(4, np.float32)
    return lambda: session.run(y, {x: value})


def callable_no_op(tf):
    session, fetch = _session(tf, lambda: tf.no_op())
    return session.make_callable(fetch)


def callable_read(tf):
    session, fetch = _session(tf, lambda: tf.Variable(1.0))
    return session.make_callable(fetch)


def callable_feed(tf):
    session, (x, y) = _session(tf, lambda: _doubled(tf))
    function = session.make_callable(y, feed_list=[x])
    value = np.ones(4, np.float32)
    return lambda: function(value)


def run_chain(tf):
    """A thousand ops one after the other, of two kinds that no optimiser can merge."""

    def chain():
        start = value = tf.placeholder(tf.float32, [8])
        other = tf.Variable(np.full(8, 0.5, np.float32))
        for i in range(CHAIN):
            value = tf.sin(value) if i % 2 else value * other
        return start, value

    session, (start, value) = _session(tf, chain)
    feed = np.ones(8, np.float32)
    return lambda: session.run(value, {start: feed})


def build_graph(tf):
    """Ten thousand nodes, half of them named by the user."""

    def build():
        with tf.Graph().as_default():
            a = b = tf.constant(np.ones([4, 4], np.float32))
            for i in range(NODES // 4):
                a = tf.add(a, b, name="a")
                b = tf.multiply(a, b)
                b = tf.tanh(b, name=f"layer{i % 100}")
                a = tf.matmul(a, b)

    return build


CASES = {
    "run, no-op": run_no_op,
    "run, read a scalar": run_read,
    "run, feed 4 floats": run_feed,
    "callable, no-op": callable_no_op,
    "callable, read a scalar": callable_read,
    "callable, feed 4 floats": callable_feed,
    f"run, {CHAIN} tiny ops": run_chain,
    f"build {NODES} nodes": build_graph,
}


def _session(tf, build):
    """A session on a graph of its own, initialised, and what `build` gives."""
    with tf.Graph().as_default() as graph:
        made = build()
        initialise = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(initialise)
    return session, made


def _doubled(tf):
    x = tf.placeholder(tf.float32, [4])
    return x, x + x


# ---- the comparison


def main(argv=None):
    """Prints the table and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tf-python", help="a Python that has TensorFlow")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each case (default: %(default)s)")
    options = parser.parse_args(argv)
    tf_python = _harness.tensorflow_python(options.tf_python)
    module = "benchmarks.session_overhead"
    ours, theirs, found = _harness.compare(module, list(CASES), options.rounds, tf_python, HEADRACE_COMPILE="off")
    print(f"Headrace {ours} (interpreted), TensorFlow {theirs}; interleaved; best times, median and range of ratios")
    header = ("", "Headrace", "TensorFlow", "ratio", "range", "target", "")
    print(_harness.table(header, map(_row, found)))
    samples = {c.case: {"headrace": c.ours, "tensorflow": c.theirs, "ratio": c.ratio} for c in found}
    print(f"saved to {_harness.save('session_overhead', {'headrace': ours, 'tensorflow': theirs, 'cases': samples})}")


def _row(found):
    target = TARGETS.get(found.case)
    verdict = "" if target is None else "met" if found.ratio <= target else "MISSED"
    return (
        found.case,
        _harness.duration(min(found.ours)),
        _harness.duration(min(found.theirs)),
        f"{found.ratio:.2f}",
        f"{min(found.ratios):.2f}-{max(found.ratios):.2f}",
        "" if target is None else f"<= {target}",
        verdict,
    )


if __name__ == "__main__":
    main()
