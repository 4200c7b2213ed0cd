"""Expected names were checked against `tf.compat.v1.DeviceSpec`; our errors say more, and `*` is accepted anywhere."""

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core.device import (
    DeviceSpec,
    canonical_name,
    forget_device_type,
    merge_device,
    register_device_type,
    same_or_matches,
)

FULL = "/job:ps/replica:0/task:1/device:GPU:2"


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        (FULL, FULL),
        ("/job:ps/replica:0/task:1/gpu:2", FULL),
        ("/gpu:0", "/device:GPU:0"),
        ("/GPU:0", "/device:GPU:0"),
        ("gpu:0", "/device:GPU:0"),
        ("/cpu:0", "/device:CPU:0"),
        ("/device:gpu:0", "/device:GPU:0"),
        ("/device:CPU:*", "/device:CPU:*"),
        ("/cpu:*", "/device:CPU:*"),
        ("/GPU", "/device:GPU:*"),
        ("/mps:0", "/device:MPS:0"),
        ("/device:FOO:1", "/device:FOO:1"),
        ("/device:*:1", "/device:*:1"),
        ("/device:*:*", ""),
        ("/job:a-b_c.9/task:12", "/job:a-b_c.9/task:12"),
        ("/task:1/job:ps", "/job:ps/task:1"),
        ("/job:*/task:*/gpu:0", "/device:GPU:0"),
        ("/job:a/job:b", "/job:b"),
        ("/job:localhost/", "/job:localhost"),
        ("", ""),
    ],
)
def test_parsing(name: str, canonical: str) -> None:
    assert DeviceSpec.from_string(name).to_string() == str(DeviceSpec.from_string(name)) == canonical
    assert canonical_name(name) == canonical_name(DeviceSpec.from_string(name)) == canonical
    assert canonical_name(canonical) == canonical


@pytest.mark.parametrize(
    "name",
    ["/foo:1", "/gpu:0/cpu:0", "/gpu:0:1", "/device:GPU", "/device::0", "/task:a", "/task:", "/replica:-1", "/gpu:x",
     "/gpu:-1", "/gpu:\u0663", "/job:", "/job:1a", "/job:a b", "/job:a:b", "nonsense", "/device:GPU:0:1"],
)  # fmt: skip
def test_malformed_names(name: str) -> None:
    with pytest.raises(ValueError) as error:
        DeviceSpec.from_string(name)
    assert repr(name) in str(error.value)


def test_a_name_must_be_text() -> None:
    with pytest.raises(TypeError, match="3"):
        DeviceSpec.from_string(3)  # type: ignore[arg-type]
    assert DeviceSpec.from_string(None) == DeviceSpec() and canonical_name(None) == ""


def test_parts() -> None:
    spec = DeviceSpec.from_string(FULL)
    assert (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index) == ("ps", 0, 1, "GPU", 2)
    assert spec.parts == ("ps", 0, 1, "GPU", 2) and spec.is_full()
    assert not DeviceSpec(job="ps").is_full()
    assert DeviceSpec(job="ps", device_type="gpu").to_string() == "/job:ps/device:GPU:*"
    assert DeviceSpec(task="3").task == 3  # type: ignore[arg-type]
    assert repr(DeviceSpec(job="ps", task=0)) == "DeviceSpec(job='ps', task=0)"


@pytest.mark.parametrize(
    "parts", [{"job": "a/b"}, {"job": ""}, {"task": "x"}, {"task": -1}, {"replica": []}, {"device_index": -2}]
)
def test_bad_parts(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(parts)))):
        DeviceSpec(**parts)


def test_specs_are_values() -> None:
    spec = DeviceSpec(job="ps")
    assert spec == DeviceSpec(job="ps") and spec != DeviceSpec() and spec != "/job:ps"
    assert len({spec, DeviceSpec(job="ps")}) == 1
    copied = copy.copy(spec)
    copied.task = 4
    assert spec.task is None
    assert spec.replace(task=2).to_string() == "/job:ps/task:2" and spec.task is None
    with pytest.raises(TypeError, match="taks"):
        spec.replace(taks=2)


def test_parsing_in_place_forgets_what_was_there() -> None:
    spec = DeviceSpec.from_string("/job:a")
    assert spec.parse_from_string("/task:1") is spec and spec.to_string() == "/task:1"


def test_merging_lets_the_argument_win() -> None:
    spec = DeviceSpec.from_string("/job:a/task:1/cpu:0")
    merged = spec.make_merged_spec(DeviceSpec.from_string("/job:b/device:GPU:*"))
    assert merged.to_string() == "/job:b/task:1/device:GPU:0" and spec.job == "a"
    spec.merge_from(DeviceSpec(task=0))
    assert spec.to_string() == "/job:a/task:0/device:CPU:0"


def test_device_function_fills_the_gaps_only() -> None:
    spec = DeviceSpec.from_string("/job:ps/gpu:1")
    function = merge_device(spec)
    spec.job = "changed"
    cases = {"": "/job:ps/device:GPU:1", "/task:2": "/job:ps/task:2/device:GPU:1", "/cpu:0": "/job:ps/device:CPU:0"}
    for _ in range(2):
        for inner, merged in cases.items():
            assert function(SimpleNamespace(device=inner)) == merged
    assert function(SimpleNamespace(device=None)) == cases[""]
    assert function(SimpleNamespace(device=DeviceSpec(task=2))) == cases["/task:2"]
    assert merge_device("/cpu:0")(SimpleNamespace(device="/job:a")) == "/job:a/device:CPU:0"
    assert merge_device(None)(SimpleNamespace(device="/cpu:0")) == "/device:CPU:0"


def test_device_function_checks_at_once() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        merge_device("nonsense")


@pytest.mark.parametrize(
    ("partial", "matches"),
    [("", True), (None, True), (FULL, True), ("/gpu:2", True), ("/gpu:*", True), ("/job:ps/task:1", True),
     ("/gpu:1", False), ("/cpu:2", False), ("/job:worker", False), ("/device:*:2", True)],
)  # fmt: skip
def test_matching(partial: str | None, matches: bool) -> None:
    assert same_or_matches(partial, FULL) is matches
    assert same_or_matches(partial, DeviceSpec.from_string(FULL)) is matches


def test_a_missing_part_meets_no_constraint() -> None:
    assert not same_or_matches("/gpu:0", "/gpu") and same_or_matches("/gpu", "/gpu:0")


def test_registered_types_may_be_written_short() -> None:
    with pytest.raises(ValueError, match="npu"):
        DeviceSpec.from_string("/npu:0")
    register_device_type("npu")
    assert canonical_name("/npu:0") == "/device:NPU:0"
    forget_device_type("npu")
    with pytest.raises(ValueError, match="npu"):
        DeviceSpec.from_string("/npu:0")
