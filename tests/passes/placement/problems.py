"""Problems for the tests of placement: built by hand, and random ones."""

from random import Random

from hypothesis import strategies as st

from headrace.passes.placement.problem import Problem, Site

TASK = "/job:localhost/replica:0/task:0"


def problem_of(nodes, devices, latency=1.0, pace=1.0, types="GPU", memory=0, lasts=()):
    """``nodes``: (seconds by device, the nodes it takes, bytes it gives[, feasible devices]).  Each is a unit of its own."""
    sites = [Site(f"{TASK}/device:{types}:{i}", types, memory) for i in range(devices)]
    apart = [[latency * (a != b) for b in range(devices)] for a in range(devices)]
    slow = [[pace * (a != b) for b in range(devices)] for a in range(devices)]
    problem = Problem(sites, apart, slow)
    values = []
    for i, (seconds, inputs, size, *feasible) in enumerate(nodes):
        unit = problem.add_unit(feasible[0] if feasible else range(devices), 0.0, i in lasts)
        work = [seconds] * devices if isinstance(seconds, (int, float)) else seconds
        node = problem.add_node(unit, work, [values[k] for k in inputs])
        values.append(problem.add_value(node, size))
    return problem


@st.composite
def problems(draw, most=8, devices=3):
    """Random graphs: costs differ by device, some nodes may not be everywhere."""
    count = draw(st.integers(1, most))
    number = draw(st.integers(1, devices))
    nodes = []
    for i in range(count):
        seconds = draw(st.lists(st.integers(0, 20), min_size=number, max_size=number))
        inputs = draw(st.lists(st.integers(0, i - 1), max_size=3, unique=True)) if i else []
        feasible = draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=number, unique=True))
        nodes.append((seconds, inputs, draw(st.integers(0, 10)), feasible))
    return problem_of(nodes, number, draw(st.integers(0, 5)), draw(st.sampled_from((0.0, 0.5, 2.0))))


def drawn(seed, count=12, devices=3):
    """A random graph whose nodes may be everywhere, and take twice as long on some devices."""
    draw = Random(seed)
    nodes = []
    for i in range(count):
        base = draw.uniform(1, 20)
        seconds = [base * draw.choice((1, 1, 2)) for _ in range(devices)]
        inputs = draw.sample(range(i), min(i, draw.choice((0, 1, 1, 2, 3))))
        nodes.append((seconds, inputs, draw.uniform(0, 8)))
    return problem_of(nodes, devices, 0.5)
