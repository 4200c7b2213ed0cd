"""The framed flow as tables: what runs, in which iteration, for small graphs of primitives.  No threads, no kernels."""

import pytest

from headrace.runtime.drive.frame import DEAD, FlowNode, FramedFlow


def drive(nodes, functions, order=lambda queue: queue.pop(0)):
    """Runs the machine; returns [(node, tag, outputs)] in the order nodes ran."""
    flow = FramedFlow(nodes)
    queue, history = flow.start(), []
    while queue:
        ready = order(queue)
        kind = nodes[ready.node].primitive
        if kind == "switch":
            data, pred = ready.inputs
            outputs = [DEAD, data] if pred else [data, DEAD]
        elif kind == "merge":
            outputs = [ready.inputs[0], ready.chosen]
        elif kind in ("enter", "exit", "next"):
            outputs = list(ready.inputs)
        else:
            outputs = [functions[ready.node](*ready.inputs)]
        history.append((ready.node, repr(ready.tag), outputs))
        queue.extend(flow.done(ready, outputs))
    assert flow.finished
    return history


def value(history, node):
    return [outputs[0] for n, _, outputs in history if n == node]


ORDERS = [lambda q: q.pop(0), lambda q: q.pop()]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("pred", "expected", "ran"), [(True, 11, {3}), (False, 20, {4})])
def test_conditional(order, pred, expected, ran):
    nodes = [
        FlowNode(),  # 0: data
        FlowNode(),  # 1: predicate
        FlowNode("switch", ((0, 0), (1, 0)), outputs=2),
        FlowNode(inputs=((2, 1),)),  # 3: then
        FlowNode(inputs=((2, 0),)),  # 4: else
        FlowNode("merge", ((4, 0), (3, 0)), outputs=2),
    ]
    history = drive(nodes, {0: lambda: 10, 1: lambda: pred, 3: lambda x: x + 1, 4: lambda x: x * 2}, order)
    assert value(history, 5) == [expected]
    assert {n for n, _, _ in history} & {3, 4} == ran


def test_dead_values_spread_through_data_and_control():
    nodes = [
        FlowNode(),
        FlowNode(),
        FlowNode("switch", ((0, 0), (1, 0)), outputs=2),
        FlowNode(inputs=((2, 1),)),  # dead
        FlowNode(inputs=((0, 0), (3, 0))),  # dead by data
        FlowNode(inputs=((0, 0),), controls=(3,)),  # dead by control
        FlowNode("merge", ((4, 0), (5, 0)), outputs=2),  # all dead: dead
        FlowNode(inputs=((6, 0),)),
        FlowNode(controls=(2,)),  # waits for the switch, which did run
    ]
    history = drive(nodes, {0: lambda: 1, 1: lambda: False, 8: lambda: "ran"})
    assert {n for n, _, _ in history} == {0, 1, 2, 8}


def loop(limit, start=0, parallel=10, first=0, frame="loop", source=None):
    """while i < limit: i += 1; nodes numbered from ``first``; gives (nodes, functions, the exit's number)."""
    at = lambda k: first + k  # noqa: E731
    nodes = [
        FlowNode(inputs=(source,) if source else ()),
        FlowNode("enter", ((at(0), 0),), frame=frame, parallel=parallel),
        FlowNode("merge", ((at(1), 0), (at(6), 0)), outputs=2),
        FlowNode(inputs=((at(2), 0),)),  # condition
        FlowNode("switch", ((at(2), 0), (at(3), 0)), outputs=2),
        FlowNode(inputs=((at(4), 1),)),  # body
        FlowNode("next", ((at(5), 0),)),
        FlowNode("exit", ((at(4), 0),)),
    ]
    functions = {
        at(0): (lambda x: x) if source else (lambda: start), at(3): lambda i: i < limit, at(5): lambda i: i + 1
    }  # fmt: skip
    return nodes, functions, at(7)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("parallel", [1, 2, 10])
@pytest.mark.parametrize("limit", [0, 1, 7])
def test_loop(order, parallel, limit):
    nodes, functions, last = loop(limit, parallel=parallel)
    history = drive(nodes, functions, order)
    assert value(history, last) == [limit]
    assert [tag for n, tag, _ in history if n == 5] == [f"loop[{i}]" for i in range(limit)]


def test_a_dead_loop_gives_a_dead_exit():
    inner, functions, last = loop(3, first=3, source=(2, 1))
    nodes = [FlowNode(), FlowNode(), FlowNode("switch", ((0, 0), (1, 0)), outputs=2), *inner]
    nodes.append(FlowNode("merge", ((2, 0), (last, 0)), outputs=2))
    for pred, expected in ((False, 5), (True, 5)):
        history = drive(nodes, {**functions, 0: lambda: 5, 1: lambda p=pred: p})
        assert value(history, len(nodes) - 1) == [expected]
    assert value(drive(nodes, {**functions, 0: lambda: 1, 1: lambda: True}), len(nodes) - 1) == [3]


def test_nested_loops():
    """for i < 3: for j < i: total += 1, as frames inside frames."""
    nodes = [
        FlowNode(),  # 0: (i, total) = (0, 0)
        FlowNode("enter", ((0, 0),), frame="outer"),
        FlowNode("merge", ((1, 0), (13, 0)), outputs=2),
        FlowNode(inputs=((2, 0),)),  # 3: i < 3
        FlowNode("switch", ((2, 0), (3, 0)), outputs=2),
        FlowNode(inputs=((4, 1),)),  # 5: (i, total, j = 0)
        FlowNode("enter", ((5, 0),), frame="inner"),
        FlowNode("merge", ((6, 0), (11, 0)), outputs=2),
        FlowNode(inputs=((7, 0),)),  # 8: j < i
        FlowNode("switch", ((7, 0), (8, 0)), outputs=2),
        FlowNode(inputs=((9, 1),)),  # 10: total + 1, j + 1
        FlowNode("next", ((10, 0),)),
        FlowNode("exit", ((9, 0),)),
        FlowNode("next", ((14, 0),)),
        FlowNode(inputs=((12, 0),)),  # 14: i + 1
        FlowNode("exit", ((4, 0),)),
    ]
    functions = {
        0: lambda: (0, 0), 3: lambda s: s[0] < 3, 5: lambda s: (*s, 0), 8: lambda s: s[2] < s[0],
        10: lambda s: (s[0], s[1] + 1, s[2] + 1), 14: lambda s: (s[0] + 1, s[1]),
    }  # fmt: skip
    assert value(drive(nodes, functions), 15) == [(3, 3)]


def test_a_constant_enters_every_iteration():
    nodes = [
        FlowNode(), FlowNode(),
        FlowNode("enter", ((0, 0),), frame="f"),
        FlowNode("enter", ((1, 0),), frame="f", constant=True),
        FlowNode("merge", ((2, 0), (8, 0)), outputs=2),
        FlowNode(inputs=((4, 0),)),  # condition
        FlowNode("switch", ((4, 0), (5, 0)), outputs=2),
        FlowNode(inputs=((6, 1), (3, 0))),
        FlowNode("next", ((7, 0),)),
        FlowNode("exit", ((6, 0),)),
    ]  # fmt: skip
    functions = {0: lambda: 1, 1: lambda: 3, 5: lambda x: x < 50, 7: lambda x, k: x * k}
    for parallel in (1, 3):
        nodes[2] = FlowNode("enter", ((0, 0),), frame="f", parallel=parallel)
        nodes[3] = FlowNode("enter", ((1, 0),), frame="f", constant=True, parallel=parallel)
        assert value(drive(nodes, functions), 9) == [81]


@pytest.mark.parametrize(("parallel", "most"), [(1, 1), (3, 3), (100, 6)])
def test_iterations_overlap_up_to_the_limit(parallel, most):
    """A counter runs ahead of a slow node of the body; no more than the allowed iterations are under way."""
    nodes, functions, _ = loop(6, parallel=parallel)
    nodes.append(FlowNode(inputs=((4, 1),)))  # 8: slow, independent of the counter
    functions[8] = lambda i: i
    flow = FramedFlow(nodes)
    quick, slow, seen = flow.start(), [], 0
    while quick or slow:
        if not quick:
            seen = max(seen, len(slow))
            ready = slow.pop(0)
        else:
            ready = quick.pop(0)
        kind = nodes[ready.node].primitive
        if kind == "switch":
            outputs = [DEAD, ready.inputs[0]] if ready.inputs[1] else [ready.inputs[0], DEAD]
        elif kind == "merge":
            outputs = [ready.inputs[0], ready.chosen]
        elif kind == "plain":
            outputs = [functions[ready.node](*ready.inputs)]
        else:
            outputs = list(ready.inputs)
        for following in flow.done(ready, outputs):
            (slow if following.node == 8 else quick).append(following)
    assert seen == most


def test_a_dead_merge_in_a_later_iteration():
    """A Merge that joins branches in a loop is dead in the last iteration: an inner loop must not wait for it."""
    nodes, functions, last = loop(3)
    nodes += [
        FlowNode("switch", ((4, 1), (3, 0)), outputs=2),  # 8: in the body, by the condition once more
        FlowNode("merge", ((8, 0), (8, 1)), outputs=2),
        FlowNode("enter", ((9, 0),), frame="inner"),  # 10
        FlowNode("enter", ((2, 0),), frame="inner"),  # 11: alive in the last iteration, too
        FlowNode(inputs=((10, 0), (11, 0))),
    ]
    history = drive(nodes, {**functions, 12: lambda a, b: a + b})
    assert value(history, last) == [3]
    assert value(history, 12) == [0, 2, 4]
