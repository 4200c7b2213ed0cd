"""``Session.explain``: the whole story of a step, told without running it."""

import json

import pytest

import headrace as tf
from headrace import extend
from headrace.runtime.explain.explanation import ExplainedNode, Explanation
from headrace.runtime.planning import tier, variants

CPU = "/job:localhost/replica:0/task:0/device:CPU:"


def session(cpus: int = 2, **more):  # type: ignore[no-untyped-def]
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": cpus, "GPU": 0}, **{"compile": "off", **more}))


def by_name(step: Explanation) -> dict[str, ExplainedNode]:
    return {n.name: n for n in step.nodes}


def two_towers():  # type: ignore[no-untyped-def]
    """A product on the first CPU, of a variable on the second, goes back there."""
    with tf.device("/cpu:1"):
        v = tf.Variable(tf.ones([3]), name="v")
    x = tf.placeholder(tf.float32, [3], name="x")
    with tf.device("/cpu:0"):
        y = tf.multiply(v, x, name="y")
    return x, y, tf.assign_add(v, y, name="update")


def test_where_nodes_are_and_why() -> None:
    x, y, update = two_towers()
    with session() as sess:
        nodes = by_name(sess.explain([y, update], feeds=[x]))
    assert {name: n.device for name, n in nodes.items() if name in ("v", "y", "update")} == {
        "v": f"{CPU}1", "y": f"{CPU}0", "update": f"{CPU}1"
    }  # fmt: skip
    assert nodes["v"].why.startswith(f"asked for by tf.device at {__file__}:")
    assert nodes["update"].why == "follows the resource v"
    assert nodes["x"].cause == "fed"
    assert nodes["x"].op == "Placeholder"
    assert nodes["y"].partitions == (f"{CPU}0",)
    assert nodes["y"].source.startswith(f"{__file__}:")


def test_transfers_with_their_bytes_and_rounds() -> None:
    x, y, update = two_towers()
    with session() as sess:
        step = sess.explain(update, {x: [1.0, 2.0, 3.0]})
    assert [(t.source[-1], t.destination[-1], t.round, t.bytes) for t in step.transfers] == [
        ("1", "0", 1, 12), ("0", "1", 2, 12)
    ]  # fmt: skip
    assert [v.name for t in step.transfers for v in t.values] == ["v/read", "y"]
    assert [(p.name[-1], p.sends, p.takes) for p in step.partitions] == [("1", 1, 1), ("0", 1, 1)]


def test_bytes_are_unknown_where_the_shape_is_open() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/cpu:1"):
        y = tf.exp(x)
    with tf.device("/cpu:0"):
        z = tf.sin(y)
    with session() as sess:
        step = sess.explain(z, feeds=["x:0"])
    (transfer,) = step.transfers
    assert transfer.bytes is None
    assert transfer.values[0].type == "float32[?,3]"
    assert " ?  " in str(step)


def test_strands_and_what_they_wait_for() -> None:
    x, y, update = two_towers()
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[3]], name="queue")
    z = tf.exp(queue.dequeue(name="take"), name="z")
    with session() as sess:
        step = sess.explain([update, z], feeds=[x])
    strands = {s.nodes: s for s in step.strands}
    (take,) = [s for s in step.strands if "take" in s.nodes]
    assert take.waits_for.startswith("take (QueueDequeueV2, made at ")
    (after,) = [s for s in step.strands if "z" in s.nodes]
    assert after.after == (take.index,)
    (back,) = [s for s in step.strands if "update" in s.nodes]
    waits = {s.index: s.waits_for for s in strands.values() if s.partition == back.partition and s.waits_for}
    assert [waits[i] for i in back.after if i in waits] == [f"takes message 1 from {CPU}0"]
    assert by_name(step)["z"].strand == after.index
    assert back.tier == "interpreted"


def test_loops_over_partitions() -> None:
    def body(a):  # type: ignore[no-untyped-def]
        with tf.device("/cpu:1"):
            b = tf.sin(a, name="sin")
        with tf.device("/cpu:0"):
            return tf.exp(b)

    loop = tf.while_loop(lambda a: a < 3.0, body, [tf.placeholder_with_default(0.0, [], name="x")], name="loop")
    with session() as sess:
        step = sess.explain(loop, feeds=["x:0"])
    (span,) = step.spans
    assert span.name == "loop/While"
    assert set(span.partitions) == {f"{CPU}0", f"{CPU}1"}
    assert by_name(step)["loop/sin"].body == "body of loop/While"
    assert by_name(step)["loop/sin"].partitions == (f"{CPU}1",)
    assert {t.body for t in step.transfers} == {"", "body of loop/While"}
    assert "Loops and conditionals over several partitions" in str(step)


def test_one_partition_exchanges_nothing() -> None:
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.reduce_sum(tf.exp(x) + 1.0, name="y")
    with session(1) as sess:
        step = sess.explain(y, feeds=[x])
    assert len(step.partitions) == len(step.strands) == 1
    assert step.transfers == step.spans == step.passes == []
    assert step.strands[0].arrays == step.partitions[0].nodes == 3
    assert step.strands[0].threads == step.partitions[0].threads


def test_copies_inside_a_partition() -> None:
    extend.register_device("SIM", "meta", 1, priority=-5)
    try:
        x = tf.placeholder(tf.float32, [4, 5], name="x")
        with tf.device("/cpu:0"):
            y = tf.exp(x, name="y")
        with tf.device("/device:SIM:0"):
            z = tf.sin(y, name="z") + tf.cos(y)
        with session(1) as sess:
            step = sess.explain(z, feeds=[x])
    finally:
        extend.unregister_device("SIM")
    assert len(step.partitions) == 1
    assert [(t.source[-5:], t.destination[-5:], t.message, t.bytes) for t in step.transfers] == [
        ("CPU:0", "SIM:0", "", 80)
    ]  # fmt: skip


def test_nothing_is_run_and_the_plan_is_the_one_that_runs() -> None:
    calls = []
    v = tf.Variable(1.0, name="v")
    bump = tf.assign_add(v, 1.0)
    noted = tf.py_func(lambda a: calls.append(1) or a, [bump], tf.float32)
    with session() as sess:
        sess.run(v.initializer)
        sess.explain(noted, passes=True)
        sess.explain(noted)
        assert not calls
        assert sess.run(v) == 1.0
        plans = dict(sess._master._plans)
        assert sess.run(noted) == 2.0
        assert sess._master._plans == plans  # run needs no further plan
    assert calls == [1]


def test_random_numbers_go_on_as_if_nothing_was_explained() -> None:
    x = tf.random_uniform([3], seed=7)

    def drawn(explains: bool):  # type: ignore[no-untyped-def]
        with session() as sess:
            first = sess.run(x)
            if explains:
                sess.explain(x, passes=True)
            return [*first, *sess.run(x)]

    assert drawn(True) == drawn(False)


def test_passes() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.add(x * tf.constant(1.0), tf.constant(2.0) + tf.constant(3.0, name="three"), name="y")
    with session(1) as sess:
        step = sess.explain(y, feeds=[x], passes=True)
        some = sess.explain(y, feeds=[x], passes=["fold"])
        one = sess.explain(y, feeds=[x], passes="fold")
    assert {"prune", "fold", "place", "schedule"} <= {p.name for p in step.passes}
    assert {p.name for p in some.passes} == {"fold"}
    assert some.passes == one.passes
    fold = next(p for p in step.passes if p.name == "fold")
    assert fold.graph == "the step"
    assert fold.before > fold.after
    assert any(line.startswith("- %three = Const()") for line in fold.diff.splitlines())
    place = next(p for p in step.passes if p.name == "place")
    assert place.before == place.after
    assert f"@{CPU}0" in place.diff
    assert "fold: the step\n  - %" in str(step)


def test_passes_over_bodies_and_partitions() -> None:
    x, y, update = two_towers()
    loop = tf.while_loop(lambda a: a < 3.0, lambda a: tf.sin(a) + 1.0, [tf.reduce_sum(y)], name="loop")
    with session() as sess:
        step = sess.explain([update, loop], feeds=[x], passes=True)
    titles = {p.graph for p in step.passes}
    assert {"the step", "body of loop/While", f"{CPU}0", f"{CPU}1"} <= titles
    assert any(title.startswith("strand ") for title in titles)
    assert "a body" not in titles


def test_arguments() -> None:
    x, y, _ = two_towers()
    with session() as sess:
        with pytest.raises(ValueError, match=r"no pass called 'fuse'; passes may be True or some of .*cse"):
            sess.explain(y, feeds=[x], passes=["fuse"])
        with pytest.raises(ValueError, match="feed_dict or feeds, got both"):
            sess.explain(y, {x: [1.0] * 3}, [x])
        with pytest.raises(TypeError, match="feeds must be a list"):
            sess.explain(y, feeds=x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
            sess.explain(y)
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.explain(y, feeds=[x])


def test_sparse_feeds() -> None:
    x = tf.sparse_placeholder(tf.float32, [2, 2], name="x")
    y = tf.sparse_reduce_sum(x)
    with session(1) as sess:
        listed = sess.explain(y, feeds=[x])
        fed = sess.explain(y, {x: tf.SparseTensorValue([[0, 0]], [1.0], [2, 2])})
    assert listed.to_dict() == fed.to_dict()


def test_json_and_text() -> None:
    x, _, update = two_towers()
    with session() as sess:
        step = sess.explain(update, feeds=[x], passes=["place"])
    read = json.loads(json.dumps(step.to_dict()))
    assert set(read) == {"nodes", "partitions", "transfers", "spans", "strands", "passes"}
    assert read["transfers"][0]["values"] == [{"name": "v/read", "type": "float32[3]", "bytes": 12}]
    text = str(step)
    assert "in 2 partitions that exchange 2 messages" in text.splitlines()[0]
    for title in ("Partitions", "Nodes", "Transfers", "Strands", "Passes"):
        assert f"\n\n{title}" in text
    assert "/job:localhost" not in text


@pytest.mark.usefixtures("accelerator")
def test_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_COMPILE", raising=False)
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.exp(x)
    with session(1, compile="always") as sess:
        assert [s.tier for s in sess.explain(y, feeds=[x]).strands] == ["to be compiled"]
    with session(1, compile="auto") as sess:
        (strand,) = sess.explain(y, feeds=[x]).strands
        assert strand.tier == "interpreted"
        plan = sess._master.plan([x], [y], [])
        plan.variants.compiled[((4,),)] = plan
        assert [s.tier for s in sess.explain(y, feeds=[x]).strands] == [
            "interpreted"
        ]  # the compiler took no part of it
        plan.regions = 2
        (strand,) = sess.explain(y, feeds=[x]).strands
        assert (strand.tier, strand.regions) == ("compiled", 2)


@pytest.mark.usefixtures("accelerator")
def test_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADRACE_COMPILE", raising=False)
    jobs = []
    monkeypatch.setattr(variants.queue, "submit", jobs.append)
    monkeypatch.setattr(variants.queue, "prepare", lambda: None)
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.exp(x)
    with session(1, compile="auto") as sess:
        plan = sess._master.plan([x], [y], [])
        monkeypatch.setattr(plan.variants, "_install", lambda key: None)
        for _ in range(tier.RUNS):
            plan.variants.note(plan, [_Fed()], 1.0)
        assert [s.tier for s in sess.explain(y, feeds=[x]).strands] == ["being compiled"]
        (job,) = jobs
        job()
        assert [s.tier for s in sess.explain(y, feeds=[x]).strands] == ["interpreted"]


class _Fed:
    shape = (4,)
