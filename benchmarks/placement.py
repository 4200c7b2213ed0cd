"""Where nodes go: each placement heuristic against the exact answer on random graphs, against the default on models over several
CPUs (predicted and measured), against its own worst case; what wrong costs cost; and how long planning takes.

`--markdown docs/placement.md` puts the tables into the page.
"""

import argparse
import os
import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random

import numpy as np

from benchmarks import _harness

NODES, DEVICES = 12, 3
LATENCIES = (0.5, 10.0)  # seconds of a transfer beside nodes of 1 to 40 seconds and values of up to 8
ERRORS = (1.0, 1.5, 2.0, 4.0)  # by which factor costs are wrong at most, up or down
LARGEST, PLAN_DEVICES, LIMIT_S = 36000, 8, 6.0
PARTS = ("small", "errors", "worst", "models", "planning")
OPEN, CLOSE = "<!-- table: {} -->", "<!-- end of {} -->"


def main(argv=None):
    """Prints the tables and saves the samples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=40, help="random graphs of each kind (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each model (default: %(default)s)")
    parser.add_argument("--cpus", type=int, default=min(4, os.cpu_count() or 1), help="(default: %(default)s)")
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS, help="(default: all)")
    parser.add_argument("--markdown", help="a page with room for the tables")
    options = parser.parse_args(argv)
    measures = {
        "small": lambda: _small(options.graphs),
        "errors": lambda: _errors(options.graphs),
        "worst": _worst,
        "models": lambda: _models(options.cpus, options.rounds),
        "planning": _planning,
    }
    result = {}
    for part in options.parts:
        samples, header, rows = measures[part]()
        result[part] = samples
        print(f"\n{part}\n{_harness.table(header, rows)}", flush=True)
        if options.markdown:
            _put(Path(options.markdown), part, _markdown(header, rows))
    print(f"saved to {_harness.save('placement', result)}")


def _markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _put(page, part, text):
    opening, closing = OPEN.format(part), CLOSE.format(part)
    before, _, rest = page.read_text().partition(opening)
    page.write_text(f"{before}{opening}\n\n{text}\n\n{closing}{rest.partition(closing)[2]}")


# ---- random graphs


def random_problem(seed, latency=0.5, wrong=1.0):
    """A graph of twelve nodes; some take twice as long on some devices.  ``wrong``: costs are off by up to this factor."""
    from headrace.passes.placement.problem import Problem, Site

    draw, error = Random(seed), Random(-seed - 1)
    sites = [Site(f"/job:localhost/replica:0/task:0/device:GPU:{i}", "GPU") for i in range(DEVICES)]
    apart = [[float(a != b) for b in range(DEVICES)] for a in range(DEVICES)]
    problem = Problem(sites, [[latency * one for one in row] for row in apart], apart)
    values = []
    for i in range(NODES):
        base = draw.uniform(1, 20)
        seconds = [base * draw.choice((1, 1, 2)) * wrong ** error.uniform(-1, 1) for _ in range(DEVICES)]
        inputs = draw.sample(range(i), min(i, draw.choice((0, 1, 1, 2, 3))))
        node = problem.add_node(problem.add_unit(range(DEVICES)), seconds, [values[k] for k in inputs])
        values.append(problem.add_value(node, draw.uniform(0, 8) * wrong ** error.uniform(-1, 1)))
    return problem


def _small(graphs):
    """Seconds of each heuristic's answer over the best there is."""
    from headrace.passes.placement.exact import exact
    from headrace.passes.placement.policy import HEURISTICS
    from headrace.passes.placement.schedule import simulate

    found, rows = {}, []
    for latency in LATENCIES:
        ratios = {name: [] for name in HEURISTICS}
        for seed in range(graphs):
            problem = random_problem(seed, latency)
            best = simulate(problem, exact(problem)).seconds
            for name, heuristic in HEURISTICS.items():
                ratios[name].append(simulate(problem, heuristic(problem)).seconds / best)
        found[str(latency)] = ratios
        for name, one in ratios.items():
            exactly = sum(ratio < 1 + 1e-9 for ratio in one) / len(one)
            rows.append([f"{latency:g}", name, *_spread(one), f"{exactly:.0%}"])
    return found, ["latency", "heuristic", "median", "90 %", "worst", "found the best"], rows


def _errors(graphs):
    """What it costs to place by wrong costs: the answer for costs that are off, taken for the true ones."""
    from headrace.passes.placement.exact import exact
    from headrace.passes.placement.policy import HEURISTICS
    from headrace.passes.placement.schedule import simulate

    names = ("greedy", "look_ahead", "refine")
    found, rows = {name: {} for name in names}, []
    problems = [random_problem(seed) for seed in range(graphs)]
    best = [simulate(problem, exact(problem)).seconds for problem in problems]
    for name in names:
        for wrong in ERRORS:
            answers = [HEURISTICS[name](random_problem(seed, wrong=wrong)) for seed in range(graphs)]
            seconds = [simulate(problem, answer).seconds for problem, answer in zip(problems, answers, strict=True)]
            found[name][str(wrong)] = [a / b for a, b in zip(seconds, best, strict=True)]
        rows.append([name, *(f"{statistics.median(found[name][str(wrong)]):.2f}" for wrong in ERRORS)])
    return found, ["heuristic", *(f"off by {wrong:g}" for wrong in ERRORS)], rows


def _worst():
    """A node that is a little faster elsewhere makes a value that is needed here."""
    from headrace.passes.placement.exact import exact
    from headrace.passes.placement.policy import HEURISTICS
    from headrace.passes.placement.problem import Problem, Site
    from headrace.passes.placement.schedule import simulate

    found, rows = {}, []
    for size in (1.0, 10.0, 100.0):
        sites = [Site(f"/job:localhost/replica:0/task:0/device:GPU:{i}", "GPU") for i in range(2)]
        apart = [[0.0, 1.0], [1.0, 0.0]]
        problem = Problem(sites, apart, apart)
        value = problem.add_value(problem.add_node(problem.add_unit((0, 1)), [2.0, 1.9]), size)
        problem.add_node(problem.add_unit((0,)), [1.0, 1.0], [value])
        best = simulate(problem, exact(problem)).seconds
        found[str(size)] = {name: simulate(problem, one(problem)).seconds / best for name, one in HEURISTICS.items()}
        rows.append([f"{size:g}", *(f"{ratio:.1f}" for ratio in found[str(size)].values())])
    return found, ["seconds of the transfer", *HEURISTICS], rows


def _spread(ratios):
    ordered = sorted(ratios)
    return [f"{one:.2f}" for one in (statistics.median(ordered), ordered[int(len(ordered) * 0.9)], ordered[-1])]


# ---- models


def towers(tf, count, batch=256, width=512, layers=4):
    """Independent towers over one batch, each with its own variables, and their training; nobody asks for a device."""
    x = tf.placeholder(tf.float32, [batch, width])
    ends = []
    for i in range(count):
        hidden = x
        for j in range(layers):
            hidden = tf.nn.relu(tf.matmul(hidden, tf.get_variable(f"w{i}_{j}", [width, width])))
        ends.append(tf.reduce_mean(hidden))
    loss = tf.add_n(ends)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return {x: np.ones((batch, width), np.float32)}, loss, train


def _of_zoo(name, batch, **more):
    from importlib import import_module

    def build(tf):
        module = import_module(f"headrace.models.{name}")
        model = module.build(batch, **more)
        given = {k: v for k, v in more.items() if k in ("size", "steps", "vocabulary")}
        inputs, labels = module.example(batch, **given)
        return {model.inputs: inputs, model.labels: labels}, model.loss, model.train_op

    return build


MODELS = {
    "two towers": lambda tf: towers(tf, 2),
    "four towers": lambda tf: towers(tf, 4),
    "mlp": _of_zoo("mlp", 256, hidden=512),
    "lenet": _of_zoo("lenet", 32),
    "googlenet / 4": _of_zoo("googlenet", 4, size=112, divide=4),
    "lstm_lm": _of_zoo("lstm_lm", 16, steps=8, hidden=128, vocabulary=1000),
    "transformer": _of_zoo("transformer", 4, steps=32, width=128, layers=2, heads=4, vocabulary=1000),
}


def _models(cpus, rounds):
    """Each model with each heuristic over CPUs that have a part of the cores each; all in turn, the best of each."""
    found, rows = {}, []
    for name, build in MODELS.items():
        found[name] = one = _model(build, cpus, rounds)
        base = one["first"]["measured"]
        for policy, figures in one.items():
            ratio = statistics.median([a / b for a, b in zip(figures["samples"], one["first"]["samples"], strict=True)])
            predicted = figures["predicted"]
            rows.append([
                name, policy, "" if predicted is None else _harness.duration(predicted), _harness.duration(figures["measured"]),
                f"{ratio:.2f}", figures["kept"],
            ])  # fmt: skip
        print(f"{name}: first {_harness.duration(base)}", flush=True)
    return found, ["model", "heuristic", "predicted", "measured", "beside first", "kept"], rows


def _model(build, cpus, rounds):
    import headrace as tf
    from headrace.passes.placement.policy import HEURISTICS
    from headrace.runtime.session.contest import PAIRS, WARM

    threads = max(1, (os.cpu_count() or 1) // cpus)
    with tf.Graph().as_default(), ExitStack() as stack:
        feeds, loss, train = build(tf)
        initial = tf.global_variables_initializer()
        runs, figures, decided = {}, {}, {}
        for policy in (*HEURISTICS, "greedy, kept", "refine, kept"):
            config = tf.ConfigProto(device_count={"CPU": cpus, "GPU": 0}, compile="off")
            config.placement = policy.partition(",")[0]
            config.device_threads.update({f"/cpu:{i}": threads for i in range(cpus)})
            session = stack.enter_context(tf.Session(config=config))
            decided[policy] = _watched(session._master, forced="kept" not in policy)
            session.run(initial)
            runs[policy] = run = session.make_callable([loss, train], list(feeds))
            for _ in range(2 * (WARM + PAIRS) if "kept" in policy else WARM):
                run(*feeds.values())
            figures[policy] = {"predicted": None, "samples": [], "kept": ""}
            if decided[policy]:  # the last one is the step's
                figures[policy]["predicted"] = decided[policy][-1].outcome.seconds
            if "kept" in policy:
                plan = session._master.plan(list(feeds), [loss], [train])
                moved = plan.rivals is not None and session._master.chosen(plan) is plan
                figures[policy]["kept"] = "moved" if moved else "first"
        if decided["greedy"]:
            figures["first"]["predicted"] = decided["greedy"][-1].plain.seconds
        for _ in range(rounds):
            for policy, run in runs.items():
                begin = time.perf_counter()
                run(*feeds.values())
                figures[policy]["samples"].append(time.perf_counter() - begin)
    for one in figures.values():
        one["measured"] = min(one["samples"])
    return figures


def _watched(master, forced):
    """The decisions of the session's policy, as it makes them.  ``forced``: they are taken whatever they cost."""
    from headrace.passes.placement.policy import GAIN, Policy

    policy, told = master.planner.policy, []
    if policy is None:
        return told

    class Watched(Policy):
        def decide(self, problem, gain=GAIN):
            told.append(super().decide(problem, gain))
            return told[-1]

    fields = (policy.name, policy.sites, policy.part_of, policy.machine, policy.measured, policy.lasting, forced)
    master.planner.policy = master.planner.whole.policy = Watched(*fields)
    return told


# ---- planning


def _planning():
    """Processor seconds to plan a training step in towers over eight CPUs, with and without wishes."""
    import headrace as tf
    from headrace.passes.placement.policy import HEURISTICS

    found, rows = {}, []
    for pinned in (True, False):
        graph, x, train = _wide(tf, pinned)
        for policy in HEURISTICS:
            config = tf.ConfigProto(device_count={"CPU": PLAN_DEVICES, "GPU": 0}, compile="off", placement=policy)
            with tf.Session(graph=graph, config=config) as session:
                begin = time.process_time()
                session._master.plan([x], [], [train])
                seconds = time.process_time() - begin
            case = f"{policy}, {'devices asked for' if pinned else 'free'}"
            found[case] = seconds
            rows.append([case, str(len(graph.get_operations())), f"{seconds:.2f} s"])
            if seconds > LIMIT_S:
                print(f"* {case} misses its target of {LIMIT_S:g} s")
    return found, ["case", "nodes", "processor time"], rows


def _wide(tf, pinned):
    layers = LARGEST * 10 // (PLAN_DEVICES * 115)  # 11.5 nodes for a layer in a tower
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:0" if pinned else None):
            variables = [(tf.Variable(tf.ones([4, 4])), tf.Variable(tf.ones([4]))) for _ in range(layers)]
        flat = [v for pair in variables for v in pair]
        x = tf.placeholder(tf.float32, [8 * PLAN_DEVICES, 4])
        slopes = []
        for i, hidden in enumerate(tf.split(x, PLAN_DEVICES)):
            with tf.device(f"/cpu:{i}" if pinned else None):
                for weights, bias in variables:
                    hidden = tf.tanh(tf.matmul(hidden, weights) + bias)
                slopes.append(tf.gradients(tf.reduce_sum(hidden), flat))
        with tf.device("/cpu:0" if pinned else None):
            sums = [tf.add_n(list(each)) for each in zip(*slopes, strict=True)]
            train = tf.train.GradientDescentOptimizer(0.1).apply_gradients(zip(sums, flat, strict=True))
    return graph, x, train


if __name__ == "__main__":
    main()
