"""Where variables go that ask for no device, by the whole graph, once."""

import pytest
from passes.placement.policies import MACHINE, PREFIX, TASKS, policy_of

import headrace as tf
from headrace.core.errors import ResourceExhaustedError
from headrace.passes.choose_device import Chooser
from headrace.passes.whole_graph import WholeGraph


def whole_of(policy, lasting=None):
    """The whole of the default graph."""
    chooser = Chooser([site.name for site in policy.sites], lambda node, kind: True, False)
    return WholeGraph(tf.get_default_graph(), chooser, lasting=lasting, policy=policy)


def homes(whole):
    """Variable -> short device name."""
    whole.settle()
    return {
        op.name: whole.home(op).device.removeprefix(PREFIX)
        for op in tf.get_default_graph().get_operations()
        if op.op_def.traits.handle
    }


def towers(size=512):
    """Two towers of a network, each with its own variables, and their training."""
    x = tf.placeholder(tf.float32, [size, size])
    ends = []
    for i in range(2):
        hidden = x
        for j in range(3):
            hidden = tf.nn.relu(tf.matmul(hidden, tf.get_variable(f"w{i}_{j}", [size, size])))
        ends.append(tf.reduce_mean(hidden))
    return tf.train.GradientDescentOptimizer(0.1).minimize(tf.add_n(ends))


def test_state_goes_with_the_work_on_it_and_stays_there():
    towers()
    found = homes(whole_of(policy_of()))
    assert len({found[f"w{i}_0"] for i in range(2)}) == 2
    lasting = {}
    whole = whole_of(policy_of(), lasting)
    assert homes(whole) == found
    tf.get_variable("more", [512, 512]) + 1.0
    assert {name: where for name, where in homes(whole).items() if name != "more"} == found
    assert homes(whole_of(policy_of("round_robin", forced=True), lasting)).items() >= found.items()


def test_what_asks_for_a_device_is_there():
    with tf.device("/gpu:1"):
        pinned = tf.get_variable("pinned", [512, 512])
    towers()
    follower = tf.get_variable("follower", [512, 512], use_resource=True)
    with tf.device("/cpu:0"):
        follower.assign_add(tf.ones([512, 512]))
    found = homes(whole_of(policy_of("round_robin", forced=True)))
    assert found["pinned"] == "GPU:1" and found["follower"] == "CPU:0" and pinned is not None


def test_state_is_not_moved_for_little():
    x = tf.placeholder(tf.float32, [4, 4])
    tf.matmul(x, tf.get_variable("a", [4, 4])) + tf.matmul(x, tf.get_variable("b", [4, 4]))
    assert homes(whole_of(policy_of())) == {"a": "GPU:0", "b": "GPU:0"}


def test_initial_values_and_savers_cost_nothing():
    """What runs once does not decide where the training's variables are."""
    tf.get_variable("v", initializer=tf.matmul(tf.ones([2048, 2048]), tf.ones([2048, 2048])))
    tf.get_variable("w", initializer=tf.matmul(tf.ones([2048, 2048]), tf.ones([2048, 2048])))
    tf.train.Saver()
    assert homes(whole_of(policy_of())) == {"v": "GPU:0", "w": "GPU:0"}


def test_variables_that_are_too_large_for_one_device_are_split():
    for i in range(4):
        tf.get_variable(f"v{i}", [1024]) + 1.0
    found = homes(whole_of(policy_of(memory=9000)))
    assert max(map(list(found.values()).count, found.values())) <= 2  # of 4096 bytes each
    with tf.Graph().as_default():
        for i in range(8):
            tf.get_variable(f"v{i}", [1024])
        with pytest.raises(
            ResourceExhaustedError, match="variables of the graph do not fit: those on .* take .* of its 9000"
        ):
            homes(whole_of(policy_of(memory=9000)))


def test_queues_and_tables_stay_on_the_first_device():
    queues = [tf.FIFOQueue(3, tf.float32, shapes=[[]], name=f"queue{i}") for i in range(3)]
    assert len(queues) == 3
    found = homes(whole_of(policy_of("round_robin", forced=True)))
    assert len({found[f"queue{i}"] for i in range(3)}) == 1


def test_sessions_that_share_state_decide_by_the_same_rates():
    """What one process has measured must not decide where another finds a variable."""
    towers()
    slow = policy_of(devices=TASKS, machine=MACHINE).machine
    expected = homes(whole_of(policy_of(devices=TASKS, lasting=slow)))
    other = type(slow)(slow.rates, {k: type(v)(1e3, 1.0) for k, v in slow.links.items()})
    assert homes(whole_of(policy_of(devices=TASKS, machine=other, lasting=slow))) == expected
    assert homes(whole_of(policy_of(devices=TASKS, machine=other))) != expected
