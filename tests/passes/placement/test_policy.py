"""Whose answer is taken, and when."""

from dataclasses import replace

import pytest
from passes.placement.policies import DEVICES, TASKS, policy_of
from passes.placement.problems import problem_of

from headrace.core.config import ConfigProto
from headrace.core.errors import ResourceExhaustedError
from headrace.passes.placement.policy import GAIN, HEURISTICS, STATE_GAIN


def two(seconds):
    """Two nodes that could run at the same time, beside one that cannot be moved."""
    return problem_of([(seconds, [], 0), (seconds, [], 0), (10, [], 0, [0])], 2, latency=0.0)


def test_an_answer_is_taken_if_it_gains_enough():
    for seconds, gain, moved in ((10, GAIN, True), (0.2, GAIN, False), (1.5, GAIN, True), (1.5, STATE_GAIN, False)):
        decision = policy_of("refine").decide(two(seconds), gain)
        assert any(map(decision.is_moved, range(3))) is moved, (seconds, gain)
        assert decision.outcome.seconds <= decision.plain.seconds == 10 + 2 * seconds


def test_a_graph_that_does_not_fit_is_split_whatever_that_costs():
    problem = problem_of([(1, [], 8), (1, [], 8), (1, [0, 1], 0)], 2, latency=100.0, memory=12)
    problem.state = [8.0, 8.0, 0.0]
    decision = policy_of("refine").decide(problem, STATE_GAIN)
    assert decision.outcome.over < decision.plain.over and decision.outcome.seconds > decision.plain.seconds
    with pytest.raises(ResourceExhaustedError, match="take 16 bytes of its 12"):
        policy_of("first").decide(problem).check_state()


def test_what_a_step_would_take_elsewhere():
    decision = policy_of("refine").decide(two(10))
    unit = next(filter(decision.is_moved, range(3)))
    assert decision.device(unit).endswith("GPU:1")
    ((name, seconds),) = decision.elsewhere(unit)
    assert name.endswith("GPU:0") and seconds > decision.outcome.seconds


def test_of_devices_in_one_partition_the_first_is_taken():
    policy = replace(policy_of(), part_of=lambda device: device.rpartition("/device:")[2][:3])
    assert policy.candidates(DEVICES) == [0, 2]
    assert policy.candidates(DEVICES[1:]) == [1, 2]
    assert policy_of(devices=TASKS).candidates(TASKS) == [0, 1]


def test_each_heuristic_has_a_name_in_the_config():
    for name in HEURISTICS:
        assert ConfigProto(placement=name).placement == name


def test_state_stays_among_devices_that_share_their_cores():
    """Only a prediction would say that it is better elsewhere, and memory and cores are the same."""
    cpus = [
        f"{task}/device:CPU:{i}" for task in ("/job:a/replica:0/task:0", "/job:a/replica:0/task:1") for i in range(2)
    ]
    policy = policy_of(devices=[*cpus, *DEVICES[:2]])
    assert policy.candidates(cpus) == [0, 1, 2, 3]
    assert policy.homes(cpus) == [0, 2, 3]
    assert policy.homes(DEVICES[:2]) == [4, 5]
    assert policy.homes([DEVICES[0], cpus[0], cpus[1]]) == [4, 0, 1]
