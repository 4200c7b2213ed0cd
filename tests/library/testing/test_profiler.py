"""Parameters and float operations, as TensorFlow counts them (tests/golden/make_profile.py)."""

import json
from pathlib import Path
from typing import Any

import pytest
from golden import profile_cases

import headrace as tf

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/profile.json").read_text())
BUILDER = tf.profiler.ProfileOptionBuilder


@pytest.mark.parametrize("case", profile_cases.CASES)
def test_counts_are_tensorflows(case: str) -> None:
    found, wanted = profile_cases.measure(tf, case), GOLDEN["graphs"][case]
    if case != "network":  # loops and gradients have fewer nodes here: Enter and Merge, or shapes that are known anyway
        found["types of parameters"], wanted["types of parameters"] = (
            of["types of parameters"][:5] for of in (found, wanted)
        )
    assert found == wanted


def test_options_are_tensorflows() -> None:
    found = {name: chosen for name, (_, chosen) in profile_cases.options(tf).items()}
    found |= {
        "time": BUILDER.time_and_memory(min_micros=3),
        "plain": BUILDER().build(),
        "chain": profile_cases.chain(tf),
    }
    assert found == GOLDEN["options"]


def test_a_builder_keeps_its_options_to_itself() -> None:
    start = BUILDER.float_operation()
    builder = BUILDER(start).with_max_depth(1)
    built = builder.build()
    built["select"].append("params")
    assert start["max_depth"] == 10000 and builder.build()["select"] == ["float_ops"]


def network() -> None:
    with tf.variable_scope("net"):
        w = tf.get_variable("w", [300, 4])
        s = tf.get_variable("s", [], trainable=False)
    tf.multiply(tf.matmul(tf.placeholder(tf.float32, [2, 300], name="x"), w, name="product"), s, name="scaled")


def test_the_report_by_names(capsys: Any, tmp_path: Path) -> None:
    network()
    options = BUILDER(BUILDER.trainable_variables_parameter()).with_file_output(str(tmp_path / "report")).build()
    assert tf.profiler.profile(options=options).total_parameters == 1200
    assert capsys.readouterr().out == ""
    assert (tmp_path / "report").read_text().splitlines() == [
        "Profile:",
        "node name | # parameters",
        "_TFProfRoot (--/1.20k params)",
        "  net (--/1.20k params)",
        "    net/w (300x4, 1.20k/1.20k params)",
    ]
    tf.profiler.profile()  # the same by default
    assert capsys.readouterr().out == (tmp_path / "report").read_text()
    both = BUILDER().select(["float_ops", "params"]).with_node_names(["net|product"], hide_name_regexes=["net/.*/.*"])
    tf.profiler.profile(options=both.build())
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "node name | # parameters | # float_ops"
    assert "  product (0/0 params, 4.80k/4.80k flops)" in lines
    assert "    net/s (1, 1/1 params, 0/3 flops)" in lines


def test_the_report_by_types(capsys: Any) -> None:
    network()
    found = tf.profiler.profile(
        cmd="op", options=BUILDER(BUILDER.float_operation()).with_accounted_types(["M.*"]).build()
    )
    assert isinstance(found, tf.profiler.MultiGraphNodeProto)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines[2:]] == [
        ["MatMul", "4.80k flops (100.00%, 79.88%)"],
        ["Mul", "1.21k flops (20.12%, 20.12%)"],
    ]


def test_the_graph_and_the_log_may_be_given() -> None:
    class Entry:
        name, types, float_ops = "product", ["mine"], 7

    class Log:
        log_entries = [Entry]

    with tf.Graph().as_default() as graph:
        network()
    mine = BUILDER(BUILDER.float_operation()).with_accounted_types(["mine"]).with_empty_output().build()
    assert tf.profiler.profile(graph, options=mine).total_float_ops == 0
    assert tf.profiler.profile(graph, op_log=Log, options=mine).total_float_ops == 7


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            {"options": BUILDER.time_and_memory()},
            tf.errors.InvalidArgumentError,
            "'micros', 'bytes', 'micros' needs a traced step",
        ),
        (
            {"run_meta": tf.RunMetadata(), "options": BUILDER.time_and_memory()},
            ValueError,
            "a tf.RunMetadata of a traced run",
        ),
        ({"run_meta": 3, "options": BUILDER.float_operation()}, TypeError, "a tf.RunMetadata, got 3"),
        (
            {"cmd": "all", "options": BUILDER.float_operation()},
            tf.errors.InvalidArgumentError,
            "'scope', 'op', 'code', 'graph'",
        ),
        (
            {"options": {**BUILDER.float_operation(), "select": ["tensor_value"]}},
            tf.errors.UnimplementedError,
            "tensor_value",
        ),
        ({"options": "float_ops"}, TypeError, "ProfileOptionBuilder; received 'float_ops'"),
        (
            {"options": BUILDER(BUILDER.float_operation()).with_timeline_output("t").build()},
            tf.errors.UnimplementedError,
            "timeline",
        ),
        ({"options": {**BUILDER.float_operation(), "output": "paper"}}, tf.errors.InvalidArgumentError, "'paper'"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=rf"{words}.*\(at .*test_profiler.py"):
        tf.profiler.profile(**arguments)


def test_options_that_lack_something() -> None:
    with pytest.raises(ValueError, match=r"received one without max_depth, .* \(at .*test_profiler.py:"):
        tf.profiler.profile(tf.Graph(), options={"nonsense": 1})
