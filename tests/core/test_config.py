"""Field names and enum numbers were checked against TensorFlow's config_pb2."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format, text_format

from headrace.core import config
from headrace.core.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RewriterConfig,
    RunMetadata,
    RunOptions,
    ThreadPoolOptionProto,
)


def test_defaults() -> None:
    made = ConfigProto()
    assert made.device_count == {} and made.device_filters == [] and made.session_inter_op_thread_pool == []
    assert made.intra_op_parallelism_threads == 0 and made.allow_soft_placement is False
    assert made.cluster_def is None and made.compile == "auto"
    assert made.gpu_options.per_process_gpu_memory_fraction == 0.0
    assert made.graph_options.optimizer_options.opt_level == OptimizerOptions.L1
    assert repr(made) == "ConfigProto()"


def test_a_tf1_program_can_say() -> None:
    made = ConfigProto(
        allow_soft_placement=True,
        log_device_placement=False,
        device_count={"GPU": 0},
        inter_op_parallelism_threads=2,
        gpu_options=GPUOptions(per_process_gpu_memory_fraction=1 / 3),
        graph_options=GraphOptions(optimizer_options=OptimizerOptions(opt_level=OptimizerOptions.L0)),
    )
    made.gpu_options.allow_growth = True
    made.gpu_options.visible_device_list = "0,1"
    made.graph_options.optimizer_options.global_jit_level = OptimizerOptions.ON_1
    made.graph_options.rewrite_options.constant_folding = RewriterConfig.OFF
    made.device_filters.append("/job:ps")
    made.device_filters.extend(["/job:worker/task:0"])
    made.device_count["CPU"] = 4
    pool = made.session_inter_op_thread_pool.add(num_threads=3)  # type: ignore[attr-defined]
    pool.global_name = "shared"
    assert made.device_count == {"GPU": 0, "CPU": 4}
    assert made.device_filters == ["/job:ps", "/job:worker/task:0"]
    assert made.session_inter_op_thread_pool == [ThreadPoolOptionProto(num_threads=3, global_name="shared")]
    assert made.graph_options.optimizer_options.opt_level == -1
    assert repr(made.gpu_options).startswith("GPUOptions(per_process_gpu_memory_fraction=0.333")


def test_constants() -> None:
    assert (OptimizerOptions.L1, OptimizerOptions.L0) == (0, -1)
    jit = (OptimizerOptions.DEFAULT, OptimizerOptions.OFF, OptimizerOptions.ON_1, OptimizerOptions.ON_2)
    assert jit == (0, -1, 1, 2)
    trace = (RunOptions.NO_TRACE, RunOptions.SOFTWARE_TRACE, RunOptions.HARDWARE_TRACE, RunOptions.FULL_TRACE)
    assert trace == (0, 1, 2, 3)
    assert (RewriterConfig.DEFAULT, RewriterConfig.ON, RewriterConfig.OFF, RewriterConfig.AGGRESSIVE) == (0, 1, 2, 3)
    assert (RewriterConfig.DEFAULT_NUM_ITERS, RewriterConfig.ONE, RewriterConfig.TWO) == (0, 1, 2)
    assert (RewriterConfig.NO_MEM_OPT, RewriterConfig.HEURISTICS, RewriterConfig.SCHEDULING_HEURISTICS) == (1, 3, 6)


def test_run_options_and_metadata() -> None:
    options = RunOptions(trace_level=RunOptions.FULL_TRACE, timeout_in_ms=100)
    assert options.trace_level is RunOptions.TraceLevel.FULL_TRACE and not options.debug_options.debug_tensor_watch_opts
    metadata = RunMetadata()
    assert metadata.step_stats is metadata.cost_graph is None and metadata.partition_graphs == []
    metadata.step_stats = stats = object()
    assert metadata.step_stats is stats


@pytest.mark.parametrize(
    ("field", "given", "stored"),
    [
        ("allow_soft_placement", 1, True),
        ("allow_soft_placement", np.bool_(True), True),
        ("intra_op_parallelism_threads", np.int64(3), 3),
        ("intra_op_parallelism_threads", None, 0),
        ("gpu_options", {"allow_growth": True}, GPUOptions(allow_growth=True)),
        ("gpu_options", None, GPUOptions()),
        ("device_filters", ("/job:ps", b"/job:w"), ["/job:ps", "/job:w"]),
        ("compile", "always", "always"),
    ],
)
def test_conversion(field: str, given: Any, stored: Any) -> None:
    made = ConfigProto(**{field: given})
    value = getattr(made, field)
    assert value == stored and isinstance(value, type(stored))
    later = ConfigProto()
    setattr(later, field, given)
    assert later == made


def test_floats_take_any_number_and_enums_take_names() -> None:
    assert GPUOptions(per_process_gpu_memory_fraction=1).per_process_gpu_memory_fraction == 1.0
    assert GPUOptions(per_process_gpu_memory_fraction=np.float32(0.5)).per_process_gpu_memory_fraction == 0.5
    assert OptimizerOptions(opt_level="L0").opt_level == -1  # type: ignore[arg-type]
    assert OptimizerOptions(global_jit_level=2).global_jit_level is OptimizerOptions.ON_2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("intra_op_parallelism_threads", "x", "int"),
        ("intra_op_parallelism_threads", 1.5, "int"),
        ("allow_soft_placement", "yes", "bool"),
        ("gpu_options", 3, "GPUOptions"),
        ("gpu_options", GraphOptions(), "GPUOptions"),
        ("device_count", {"GPU": "a"}, "int"),
        ("device_count", {1: 1}, "str"),
        ("device_count", [("GPU", 1)], "mapping"),
        ("device_filters", "/job:ps", "sequence"),
        ("device_filters", [None], "str"),
        ("session_inter_op_thread_pool", [3], "ThreadPoolOptionProto"),
    ],
)
def test_wrong_types_name_field_received_and_accepted(field: str, value: Any, accepted: str) -> None:
    with pytest.raises(TypeError) as error:
        ConfigProto(**{field: value})
    message = str(error.value)
    assert f"ConfigProto.{field}" in message and "received" in message and accepted in message
    with pytest.raises(TypeError):
        setattr(ConfigProto(), field, value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ConfigProto(compile="sometimes"), ["ConfigProto.compile", "'sometimes'", "'auto', 'off', 'always'"]),
        (lambda: OptimizerOptions(opt_level=7), ["OptimizerOptions.opt_level", "7", "L1=0", "L0=-1"]),
        (lambda: OptimizerOptions(opt_level="L7"), ["OptimizerOptions.opt_level", "'L7'"]),
        (lambda: RunOptions(trace_level=9), ["RunOptions.trace_level", "FULL_TRACE=3"]),
    ],
)
def test_values_outside_a_choice(make: Any, words: list[str]) -> None:
    with pytest.raises(ValueError) as error:
        make()
    assert all(word in str(error.value) for word in words)


def test_unknown_fields_are_named_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match="ConfigProto has no field 'alow_soft_placement'.*'allow_soft_placement'"):
        ConfigProto(alow_soft_placement=True)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="GPUOptions has no field 'allow_grow'.*'allow_growth'.*allocator_type"):
        ConfigProto().gpu_options.allow_grow = True  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        ConfigProto().no_such_field  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(TypeError):
        ConfigProto(True)  # type: ignore[misc]
    with pytest.raises(ValueError, match="no field"):
        ConfigProto().HasField("nothing")


def test_mistakes_end_with_the_line_that_made_them() -> None:
    made = ConfigProto()
    filters: Any = made.device_filters
    for mistake in (
        lambda: ConfigProto(no_such_field=1),  # type: ignore[call-arg]
        lambda: setattr(made, "no_such_field", 1),
        lambda: ConfigProto(allow_soft_placement="yes"),  # type: ignore[arg-type]
        lambda: setattr(made.gpu_options, "allow_growth", "yes"),
        lambda: ConfigProto(gpu_options={"allow_grow": True}),  # type: ignore[arg-type]
        lambda: ConfigProto(compile="sometimes"),  # type: ignore[arg-type]
        lambda: ConfigProto(control_flow="v1"),  # type: ignore[arg-type]
        lambda: ConfigProto(precision="low"),  # type: ignore[arg-type]
        lambda: RunOptions(trace_level=9),  # type: ignore[arg-type]
        lambda: filters.append(3),
        lambda: filters.add(),
        lambda: made.MergeFrom(GPUOptions()),
        lambda: made.HasField("no_such_field"),
    ):
        with pytest.raises((TypeError, ValueError, AttributeError)) as error:
            mistake()
        assert str(error.value).endswith(f"(at {__file__}:{mistake.__code__.co_firstlineno})")
        assert str(error.value).count("(at ") == 1


def test_containers_check_what_is_put_in() -> None:
    made = ConfigProto(device_filters=["a", "b"], device_count={"CPU": 1})
    filters: Any = made.device_filters
    count: Any = made.device_count
    for wrong in (
        lambda: filters.append(3),
        lambda: filters.extend(["c", 3]),
        lambda: filters.insert(0, 3),
        lambda: filters.__setitem__(0, 3),
        lambda: filters.__setitem__(slice(0, 1), [3]),
        lambda: filters.__iadd__([3]),
        lambda: filters.add(),
        lambda: count.update(GPU="x"),
        lambda: count.__ior__({"GPU": "x"}),
        lambda: count.setdefault("GPU", "x"),
    ):
        with pytest.raises(TypeError):
            wrong()
    assert made == ConfigProto(device_filters=["a", "b"], device_count={"CPU": 1})
    filters[0:1] = ["x", "y"]
    filters += ["z"]
    count.update({"GPU": 2})
    assert filters == ["x", "y", "b", "z"] and count == {"CPU": 1, "GPU": 2} and count.setdefault("CPU", 9) == 1


def test_objects_share_nothing() -> None:
    options = GPUOptions()
    first, second = ConfigProto(gpu_options=options), ConfigProto(gpu_options=options)
    first.gpu_options.allow_growth = True
    first.device_filters.append("a")
    assert not options.allow_growth and second == ConfigProto()


def test_has_field_and_clear() -> None:
    made = ConfigProto()
    assert not made.HasField("gpu_options") and not made.HasField("device_count")
    made.gpu_options.allow_growth = True
    made.device_count["GPU"] = 1
    assert made.HasField("gpu_options") and made.HasField("device_count")
    assert [field.name for field, _ in made.ListFields()] == ["device_count", "gpu_options"]
    made.ClearField("gpu_options")
    assert not made.gpu_options.allow_growth
    made.Clear()
    assert made == ConfigProto()


def test_merge_and_copy() -> None:
    ours = ConfigProto(device_filters=["a"], device_count={"CPU": 1}, placement_period=3)
    ours.gpu_options.allow_growth = True
    theirs = ConfigProto(device_filters=["b"], device_count={"GPU": 2}, allow_soft_placement=True)
    theirs.gpu_options.visible_device_list = "1"
    ours.MergeFrom(theirs)
    assert ours.device_filters == ["a", "b"] and ours.device_count == {"CPU": 1, "GPU": 2}
    assert ours.placement_period == 3 and ours.allow_soft_placement
    assert ours.gpu_options == GPUOptions(allow_growth=True, visible_device_list="1")
    ours.CopyFrom(theirs)
    assert ours == theirs
    ours.CopyFrom(ours)
    ours.gpu_options.visible_device_list = "2"
    assert theirs.gpu_options.visible_device_list == "1"
    with pytest.raises(TypeError, match="Expected a ConfigProto; received"):
        ours.CopyFrom(GPUOptions())


def test_equality_copying_and_text() -> None:
    made = ConfigProto(device_filters=["a"], gpu_options=GPUOptions(allow_growth=True))
    assert repr(made) == "ConfigProto(device_filters=['a'], gpu_options=GPUOptions(allow_growth=True))"
    for same in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), eval(repr(made), vars(config))):
        assert same == made
        same.device_filters.append("b")
        assert same != made and made.device_filters == ["a"]
        with pytest.raises(TypeError):
            same.device_filters.append(3)
    assert made != GPUOptions() and made != "made"
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_virtual_devices() -> None:
    options = GPUOptions()
    options.experimental.virtual_devices.add(memory_limit_mb=[100, 200])  # type: ignore[attr-defined]
    assert options.experimental.virtual_devices[0].memory_limit_mb == [100.0, 200.0]


def _filled() -> ConfigProto:
    config = ConfigProto(device_count={"GPU": 1}, allow_soft_placement=True)
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[1, 2])
    config.graph_options.optimizer_options.opt_level = OptimizerOptions.L0
    config.session_inter_op_thread_pool.add(num_threads=3)
    return config


# What TensorFlow writes for `_filled`.
TENSORFLOW = (
    b"\n\x07\n\x03GPU\x10\x012\x0eJ\x0c\n\n\n\x08\x00\x00\x80?\x00\x00\x00@8\x01R\r\x1a\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff"
    b"\xff\x01b\x02\x08\x03"
)


def test_as_a_protocol_buffer() -> None:
    config = _filled()
    assert config.SerializeToString() == TENSORFLOW
    assert config.ByteSize() == len(TENSORFLOW)
    assert ConfigProto.FromString(TENSORFLOW) == config
    other = ConfigProto(log_device_placement=True)
    other.ParseFromString(TENSORFLOW)
    assert other == config
    assert text_format.Parse(text_format.MessageToString(config), ConfigProto()) == config
    assert json_format.ParseDict(json_format.MessageToDict(config), ConfigProto()) == config
    assert json_format.MessageToDict(config)["graphOptions"] == {"optimizerOptions": {"optLevel": "L0"}}
    assert "allow_soft_placement" in ConfigProto.DESCRIPTOR.fields_by_name


def test_what_no_message_holds() -> None:
    assert ConfigProto(compile="off").SerializeToString() == b""  # a setting of ours
    with pytest.raises(TypeError, match=r"RunMetadata.step_stats holds a object, which is not a protocol buffer"):
        RunMetadata(step_stats=object()).SerializeToString()
