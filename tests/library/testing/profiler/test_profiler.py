"""What traced steps took, by names, types, lines of the program and what takes what; and advice."""

import json
from pathlib import Path
from typing import Any

import pytest

import headrace as tf
from headrace.core.proto import protos

BUILDER = tf.profiler.ProfileOptionBuilder
CPU, GPU = (f"/job:localhost/replica:0/task:0/device:{name}:0" for name in ("CPU", "GPU"))
QUIET = BUILDER(BUILDER.time_and_memory()).with_empty_output().build()
ALL = ("ExpensiveOperationChecker", "AcceleratorUtilizationChecker", "OperationChecker", "JobChecker")


def network() -> Any:
    x, w = tf.placeholder(tf.float32, [3, 20], name="x"), tf.get_variable("w", [20, 5], use_resource=True)
    with tf.name_scope("layer"):
        return tf.nn.relu(tf.matmul(x, w, name="product"), name="act")


def trace(product: int, act: int, device: str = CPU, began: int = 100) -> tf.RunMetadata:
    """A step of the network: the microseconds of its two nodes."""
    stats = protos().StepStats()
    for name, label, micros, taken in (("product", "MatMul", product, 60), ("act", "Relu", act, 0)):
        node = stats.dev_stats.add(device=device).node_stats.add(node_name=f"layer/{name}")
        node.timeline_label = f"layer/{name} = {label}(x, w)"
        node.all_start_micros, node.all_end_rel_micros = began, micros
        node.memory.add(total_bytes=taken, peak_bytes=taken, live_bytes=taken)
        description = node.output.add().tensor_description
        description.allocation_description.requested_bytes = 60
    return tf.RunMetadata(step_stats=stats)


@pytest.fixture
def profiler() -> Any:
    """Two steps of the network, and their mean: 30 and 10 microseconds."""
    network()
    made = tf.profiler.Profiler(tf.get_default_graph())
    made.add_step(0, trace(20, 8))
    made.add_step(5, trace(40, 12))
    return made


def test_by_names(profiler: Any) -> None:
    root = profiler.profile_name_scope(QUIET)
    (layer,) = root.children
    (product,) = layer.children  # the other one took no memory
    assert (product.exec_micros, product.cpu_exec_micros, product.accelerator_exec_micros) == (30, 30, 0)
    assert (product.requested_bytes, product.peak_bytes, product.residual_bytes, product.output_bytes) == (60,) * 4
    assert (product.float_ops, product.run_count, product.devices) == (600, 2, [CPU])
    assert (layer.exec_micros, layer.total_exec_micros, root.total_output_bytes) == (0, 30, 60)  # what is shown
    everything = profiler.profile_name_scope({**QUIET, "min_bytes": 0, "account_displayed_op_only": False})
    assert everything.total_exec_micros == 40


def test_one_of_the_steps(profiler: Any) -> None:
    options = BUILDER(QUIET).with_step(5).build()
    assert profiler.profile_name_scope(options).total_exec_micros == 40
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no step 3; the steps are 0, 5.*\(at .*test_profiler"):
        profiler.profile_name_scope(BUILDER(QUIET).with_step(3).build())


def test_by_types(profiler: Any, capsys: pytest.CaptureFixture[str]) -> None:
    options = BUILDER(BUILDER.time_and_memory(min_bytes=0)).build()
    product = profiler.profile_operations(options).children[0]
    assert (product.name, product.exec_micros, product.total_exec_micros) == ("MatMul", 30, 40)
    assert [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["node", "name | requested bytes | total execution time | accelerator execution time | cpu execution time"],
        ["MatMul", "60B (100.00%, 100.00%), 30us (100.00%, 75.00%), 0us (0.00%, 0.00%), 30us (100.00%, 75.00%)"],
        ["Relu", "0B (0.00%, 0.00%), 10us (25.00%, 25.00%), 0us (0.00%, 0.00%), 10us (25.00%, 25.00%)"],
    ]


def test_by_lines_of_the_program(profiler: Any) -> None:
    root = profiler.profile_python({**QUIET, "output": "none"})
    assert isinstance(root, tf.profiler.MultiGraphNodeProto)
    (line,) = root.children
    assert line.name.startswith("test_profiler.py:") and line.name.endswith(":network")
    assert (line.exec_micros, line.float_ops) == (40, 600)


def test_by_what_takes_what(profiler: Any, tmp_path: Path) -> None:
    options = BUILDER(QUIET).with_step(5).with_timeline_output(str(tmp_path / "timeline")).build()
    (act,) = profiler.profile_graph(options).children
    assert (act.name, [child.name for child in act.children]) == ("layer/act", ["layer/product"])
    assert (act.total_exec_micros, act.total_output_bytes) == (52, 120)
    events = json.loads((tmp_path / "timeline_5").read_text())["traceEvents"]
    assert {"layer/product", "layer/act"} <= {event.get("args", {}).get("name") for event in events}
    with pytest.raises(tf.errors.InvalidArgumentError, match="a timeline is of one step, and there are 2"):
        profiler.profile_graph({**options, "step": -1})


def test_long_chains_of_nodes() -> None:
    x = tf.constant(1.0)
    for _ in range(1500):
        x = tf.negative(x)
    root = tf.profiler.profile(cmd="graph", options=BUILDER(BUILDER.float_operation()).with_empty_output().build())
    assert root.total_float_ops == 1500


def test_the_report_by_names(capsys: pytest.CaptureFixture[str]) -> None:
    network()
    tf.profiler.profile(run_meta=trace(34670, 8), options=BUILDER.time_and_memory())
    assert capsys.readouterr().out.splitlines() == [  # as TensorFlow has it, for the same numbers
        "Profile:",
        "node name | requested bytes | total execution time | accelerator execution time | cpu execution time",
        "_TFProfRoot (--/60B, --/34.67ms, --/0us, --/34.67ms)",
        "  layer (0B/60B, 0us/34.67ms, 0us/0us, 0us/34.67ms)",
        "    layer/product (60B/60B, 34.67ms/34.67ms, 0us/0us, 34.67ms/34.67ms)",
    ]


def test_a_step_that_was_traced(interpreted: Any) -> None:
    y, metadata = network(), tf.RunMetadata()
    interpreted.run(tf.global_variables_initializer())
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    interpreted.run(y, {"x:0": [[1.0] * 20] * 3}, options=options, run_metadata=metadata)
    (line,) = tf.profiler.profile(run_meta=metadata, options={**QUIET, "show_name_regexes": [".*product"]}).children
    assert line.exec_micros > 0 and line.output_bytes == 60 and line.devices == [CPU]


def test_nodes_that_a_step_has_added(profiler: Any) -> None:
    meta = trace(1, 1)
    meta.step_stats.dev_stats[0].node_stats.add(node_name="_x", all_end_rel_micros=7, timeline_label="_x = Extra()")
    profiler.add_step(9, meta)
    options = {**QUIET, "step": 9, "min_bytes": 0, "select": ["micros", "occurrence"]}
    assert profiler.profile_operations(options).children[0].name == "Extra"


def test_a_metadata_may_be_filled_again(profiler: Any) -> None:
    meta = trace(1, 1)
    profiler.add_step(7, meta)
    meta.step_stats.Clear()
    assert profiler.profile_name_scope({**QUIET, "step": 7}).total_exec_micros == 1


def test_advice(profiler: Any, capsys: pytest.CaptureFixture[str]) -> None:
    profiler.add_step(1, trace(10, 0, GPU, began=100))
    found = profiler.advise(dict.fromkeys(ALL, {}))
    assert set(found.checkers) == set(ALL) - {"JobChecker"}
    types, scopes, lines = found.checkers["ExpensiveOperationChecker"].reports
    assert types.startswith("top 1 operation type: MatMul, cpu: 20us, accelerator: 3us, total: 23us (79.31%)\ntop 2 ")
    assert scopes.startswith("top 1 graph node: layer, cpu: 26us, accelerator: 3us, total: 29us")
    assert lines.startswith("test_profiler.py:")
    assert found.checkers["AcceleratorUtilizationChecker"].reports == [f"device: {GPU} utilization: 0.14"]
    assert found.checkers["OperationChecker"].reports == []
    assert capsys.readouterr().out.startswith("\nExpensiveOperationChecker:\ntop 1 operation type: MatMul, ")


def test_advice_on_ops() -> None:
    tf.identity(1.0, name="BatchNorm/out")
    found = tf.profiler.advise(options={"OperationChecker": {}})
    assert found.checkers["OperationChecker"].reports == ["Maybe use faster FusedBatchNorm instead of BatchNorm"]


def test_the_log_of_ops(tmp_path: Path) -> None:
    network()
    mine = tf.profiler.OpLogProto()
    mine.log_entries.add(name="layer/act", float_ops=7, types=["mine"])
    tf.profiler.write_op_log(tf.get_default_graph(), str(tmp_path), mine)
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    entries = {entry.name: entry for entry in log.log_entries}
    assert (entries["layer/product"].float_ops, entries["layer/act"].float_ops) == (600, 7)
    assert entries["w"].types == ["_trainable_variables"] and len(mine.log_entries) == 1
    (line,) = entries["layer/product"].code_def.traces
    assert log.id_to_string[line.function_id] == "network" and log.id_to_string[line.file_id] == __file__
    tf.profiler.write_op_log(tf.get_default_graph(), str(tmp_path), add_trace=False)
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    assert {entry.name for entry in log.log_entries if entry.float_ops or entry.types} == {
        entry.name for entry in log.log_entries
    }
    options = BUILDER(BUILDER.float_operation()).with_accounted_types(["mine"]).with_empty_output().build()
    assert tf.profiler.profile(op_log=mine, options=options).total_float_ops == 7


def test_all_of_it_as_a_message(profiler: Any) -> None:
    message = protos().ProfileProto.FromString(profiler.serialize_to_string())
    nodes = {node.name: node for node in message.nodes.values()}
    product = nodes["layer/product"]
    assert (product.op, product.float_ops, product.canonical_device) == ("MatMul", 600, CPU)
    assert list(message.steps) == [0, 5] and list(nodes["w"].shape) == [20, 5]
    assert message.nodes[product.inputs[0]].name == "x"
    assert product.execs[5].run_count == 1 and product.execs[5].memory_execs[0].requested_bytes == 60
    assert list(product.execs[5].cpu_execs[CPU].times[0].int64_values) == [100, 40]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda p: p.add_step(-1, trace(1, 1)), ValueError, "0 or more, got -1"),
        (
            lambda p: p.add_step(1, tf.RunMetadata()),
            ValueError,
            "add_step: run_meta must be a tf.RunMetadata of a traced",
        ),
        (lambda p: p.add_step(1, None), TypeError, "add_step: run_meta must be a tf.RunMetadata, got None"),
        (lambda p: p.advise({"Nonsense": {}}), ValueError, r"JobChecker.*got \['Nonsense'\]"),
        (lambda p: p.advise("x"), ValueError, "must be a dictionary.*got 'x'"),
        (lambda p: tf.profiler.advise(), tf.errors.InvalidArgumentError, "needs a traced step"),
        (lambda p: tf.profiler.write_op_log(None, "/nowhere"), FileNotFoundError, "a folder that is there"),
        (lambda p: tf.profiler.write_op_log(None, "/", {"a": 1}), TypeError, "tf.profiler.OpLogProto or None, got"),
        (
            lambda p: p.profile_name_scope(BUILDER(QUIET).with_timeline_output("t").build()),
            tf.errors.UnimplementedError,
            "a timeline is written by cmd='graph'",
        ),
        (
            lambda p: p.profile_python(BUILDER(QUIET).with_pprof_output("t").build()),
            tf.errors.UnimplementedError,
            "the output 'pprof' of 'code'",
        ),
    ],
)
def test_what_is_refused(profiler: Any, call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=rf"(?s){words}.*\(at .*test_profiler"):
        call(profiler)
