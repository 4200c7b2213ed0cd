"""devicecheck: the device types that are there pass, and one that does not do what it must is told why."""

from collections.abc import Iterator

import pytest
import torch

import headrace as tf
from headrace.core.registry import REGISTRY
from headrace.extend import (
    DeviceCheckError,
    DeviceReport,
    devicecheck,
    register_device,
    register_null_device,
    unregister_device,
)
from headrace.library.conformance.device_programs import CHECKS

NEED_VALUES = {
    "shapes that depend on values", "a value read before a write", "copies to and from the cpu", "gradients of loops",
    "decisions by values of the device", "a loop over the device and the cpu", "save and restore", "random numbers",
}  # fmt: skip
NEED_TWO = {"placement of a second device", "copies to another device of the type"}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register_null_device(count=2)
    register_device("META", "meta", 2, priority=-1)
    register_device("SIM", "cpu", 2, priority=-1)
    register_device("GONE", "cpu", 0)
    yield
    for name in ("NULL", "META", "SIM", "GONE"):
        unregister_device(name)


def check(device_type: str, **options: object) -> DeviceReport:
    return devicecheck(device_type, config=tf.ConfigProto(**{"compile": "off", **options}))


@pytest.mark.parametrize(
    ("device_type", "options", "skipped"),
    [
        ("CPU", {"device_count": {"GPU": 0}}, NEED_TWO),
        ("cpu", {"device_count": {"CPU": 2, "GPU": 0}}, set()),
        ("CPU", {"device_count": {"CPU": 2, "GPU": 0}, "control_flow": "lowered"}, set()),
        ("SIM", {}, set()),
        ("NULL", {}, NEED_VALUES),
        ("META", {}, NEED_VALUES),
    ],
    ids=["cpu", "virtual cpus", "primitives", "simulated on the cpu", "null", "meta"],
)
def test_types_that_pass(device_type: str, options: dict[str, object], skipped: set[str]) -> None:
    report = check(device_type, **options)
    assert not report.failed and set(report.skipped) == skipped
    assert sorted([*report.passed, *report.skipped]) == sorted(CHECKS)
    assert all(why in str(report) for why in report.skipped.values())


def test_all_failures_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is wrong on the device alone."""
    kernels = REGISTRY.get("Tanh").kernels
    wrong = kernels.by_device[-1].__class__(
        lambda x: torch.tanh(x) + 1 if x.ndim else x, None, (), wants_state=False, wants_device=False, wants_node=False
    )
    monkeypatch.setattr(kernels, "on_arrays", [])
    monkeypatch.setattr(kernels, "by_device", [wrong])
    with pytest.raises(DeviceCheckError) as e:
        devicecheck("SIM", config=tf.ConfigProto(compile="off"))
    report = e.value.report
    assert {"copies to and from the cpu", "copies to another device of the type"} <= set(report.failed)
    assert "names" in report.passed
    assert all(f"failed   {name}: " in str(e.value) for name in report.failed)


def test_a_kernel_that_is_missing() -> None:
    register_device("OTHER", "meta", 1, priority=-1)
    try:
        conv = REGISTRY.get("Conv2D").kernels
        before, conv.by_device = conv.by_device, [k for k in conv.by_device if k.device is not None]
        try:
            with pytest.raises(DeviceCheckError, match=r"failed   convolution: .*Cannot assign a device"):
                check("OTHER")
        finally:
            conv.by_device = before
    finally:
        unregister_device("OTHER")


def test_types_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="there is no device type 'NPU9'; registered are CPU, GONE, GPU"):
        check("NPU9")
    with pytest.raises(ValueError, match="no device of type GONE on this machine"):
        check("gone")
