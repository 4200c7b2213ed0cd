"""Fig. 8(c) of the paper: the time of a synchronous step of 50 workers and their backups, modelled.

What decides is the aggregator of `tf.train.replicas` itself.  A worker's time is drawn from a log-normal law.
The two numbers of that law are fitted to the paper's step without backups alone, its median and its upper tenth; the
other points are what follows.
"""

import heapq
import random
import statistics

from headrace.resources.state.replicas import machine as m

WORKERS, STEPS = 50, 400
PAPER = {0: 2.264, 1: 2.105, 2: 2.069, 3: 1.951, 4: 1.936, 5: 1.967}  # seconds, medians


def times_of_steps(backups, draw, seed=0):
    """Seconds of each update of 50 workers and their backups; ``draw(random)``: seconds of one worker's step."""
    rule = m.Rule(WORKERS + backups, gathers=True, needed=WORKERS)
    aggregator, source = m.Aggregator(rule), random.Random(seed)
    clock, events, begun, steps = 0.0, [], 0.0, []
    computing = {}

    def follow(instructions):
        nonlocal begun
        for one in instructions:
            if isinstance(one, m.Release):
                computing[one.member] = one.step
                heapq.heappush(events, (clock + draw(source), one.member))
            elif isinstance(one, m.Lead):
                follow(aggregator.take(m.Ready(one.member), clock))
            elif isinstance(one, m.Update):
                steps.append(clock - begun)
                begun = clock
                follow(aggregator.take(m.Updated(one.ticket), clock))
                follow(aggregator.take(m.Ready(one.by), clock))

    for number in range(rule.workers):
        follow(aggregator.take(m.Join(number, f"{number:02d}"), clock))
        computing[number] = 0
        heapq.heappush(events, (draw(source), number))
    follow(aggregator.take(m.Stand(0), clock))
    while len(steps) < STEPS:
        clock, member = heapq.heappop(events)
        follow(aggregator.take(m.Arrive(member, computing[member]), clock))
    return steps[20:]


def law(middle, spread):
    """Log-normal: the middle, and the standard deviation of the logarithm."""
    return lambda source: middle * source.lognormvariate(0.0, spread)


def curve():
    """The paper's points and ours."""
    best = min(
        ((middle / 100, spread / 1000) for middle in range(150, 226, 3) for spread in range(20, 141, 10)),
        key=lambda numbers: _distance(times_of_steps(0, law(*numbers))),
    )
    points = []
    for backups, paper in PAPER.items():
        steps = times_of_steps(backups, law(*best))
        points.append({"backups": backups, "paper_s": paper, "modelled_s": statistics.median(steps)})
        print(points[-1], flush=True)
    return {"workers": WORKERS, "law": {"middle_s": best[0], "spread": best[1]}, "points": points}


def _distance(steps):
    """From the paper's step without backups: 2.264 s, and 2.449 for the slowest tenth."""
    tenths = statistics.quantiles(steps, n=10)
    return abs(statistics.median(steps) - 2.264) + abs(tenths[8] - 2.449) + abs(tenths[0] - 2.181)
