"""A simulated step, by hand."""

import pytest
from passes.placement.problems import TASK, problem_of

from headrace.passes.placement.problem import Problem, Site
from headrace.passes.placement.schedule import Schedule, simulate, walk


def test_a_node_begins_when_its_device_is_free_and_its_inputs_are_there():
    problem = problem_of([(2, [], 3), (4, [0], 0), (1, [0], 0)], 2)
    assert simulate(problem, [0, 0, 0]).seconds == 7
    outcome = simulate(problem, [0, 0, 1])
    assert outcome.seconds == 2 + 1 + 3 + 1  # the last node: after one second of latency and three bytes
    assert (outcome.busy, outcome.sent) == ([6, 1], 3)


def test_a_value_is_sent_to_a_device_once():
    outcome = simulate(problem_of([(1, [], 5), (1, [0], 0), (1, [0], 0)], 2), [0, 1, 1])
    assert (outcome.sent, outcome.seconds) == (5, 1 + 6 + 2)


def test_one_interpreter_launches_the_nodes_of_a_task():
    sites = [Site(f"/job:a/task:{task}/device:GPU:{i}", "GPU") for task in range(2) for i in range(2)]
    problem = Problem(sites, [[0.0] * 4] * 4, [[0.0] * 4] * 4)
    for _ in range(2):
        problem.add_node(problem.add_unit(range(4)), [1.0] * 4, (), [2.0] * 4)
    assert simulate(problem, [0, 1]).seconds == 5  # the second is launched from 2 to 4
    assert simulate(problem, [0, 2]).seconds == 3


@pytest.mark.parametrize(("assignment", "seconds"), [([0, 0], 4), ([0, 1], 4), ([0, 2], 2)])
def test_the_cpus_of_a_task_share_its_cores(assignment, seconds):
    names = [f"{TASK}/device:CPU:0", f"{TASK}/device:CPU:1", "/job:other/task:0/device:CPU:0"]
    sites = [Site(names[0], "CPU", 0, 1.0, 0.5), Site(names[1], "CPU", 0, 1.0, 0.5), Site(names[2], "CPU")]
    problem = Problem(sites, [[0.0] * 3] * 3, [[0.0] * 3] * 3)
    for _ in range(2):
        problem.add_node(problem.add_unit(range(3)), [2.0] * 3)
    assert simulate(problem, assignment).seconds == seconds


def test_memory_is_let_go_after_the_last_use():
    problem = problem_of([(1, [], 10), (1, [0], 20), (1, [1], 30), (1, [2], 0)], 1, memory=45)
    outcome = simulate(problem, [0] * 4)
    assert outcome.memory == [50] and outcome.over == 5  # the second and third value; the first is gone
    problem.state[0] = 100.0
    assert simulate(problem, [0] * 4).memory == [150]


def test_what_was_sent_takes_memory_on_both_sides():
    problem = problem_of([(1, [], 10), (1, [0], 1), (1, [1, 0], 0)], 2)
    assert simulate(problem, [0, 1, 0]).memory == [11, 11]


def test_the_walk_takes_what_is_ready_first_or_most_urgent():
    problem = problem_of([(1, [], 0), (5, [], 0), (1, [0], 0)], 1)
    for urgency, order in ((None, [0, 1, 2]), ((0, -1, 0).__getitem__, [1, 0, 2])):
        schedule, seen = Schedule(problem), []
        walk(problem, lambda n, s=schedule, o=seen: (o.append(n), s.run(n, 0))[1], urgency)
        assert seen == order
