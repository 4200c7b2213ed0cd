"""tf.config.experimental: the devices of sessions that are given no ConfigProto."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace as tf
from headrace.runtime.host import device as host

CONFIG = tf.config.experimental


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Three GPUs, which have no memory."""
    monkeypatch.setitem(host._types, "GPU", host.DeviceType("GPU", "meta", lambda: 3, 100))
    monkeypatch.setattr(host, "configure", lambda *_: None)
    yield CONFIG.list_physical_devices("GPU")


@pytest.fixture
def cpu() -> Any:
    (one,) = CONFIG.list_physical_devices("CPU")
    return one


def session_devices(config: tf.ConfigProto | None = None) -> list[str]:
    """The devices of a session: the ends of their names, and the devices behind them."""
    with tf.Session(graph=tf.Graph(), config=config) as sess:
        return [f"{d.name[-5:]} {d.torch_device}" for d in sess._master.devices]


def test_the_lists(gpus: list[Any], cpu: Any) -> None:
    assert cpu == ("/physical_device:CPU:0", "CPU") and (cpu.name, cpu.device_type) == cpu
    assert [one.name for one in gpus] == [f"/physical_device:GPU:{i}" for i in range(3)]
    assert CONFIG.get_visible_devices("GPU") == gpus
    assert CONFIG.list_logical_devices("CPU") == [("/device:CPU:0", "CPU")]
    assert [one.name for one in CONFIG.list_logical_devices("GPU")] == [f"/device:GPU:{i}" for i in range(3)]
    assert tf.config.experimental_list_devices()[0] == "/job:localhost/replica:0/task:0/device:CPU:0"


def test_sessions_have_the_visible_gpus(gpus: list[Any]) -> None:
    CONFIG.set_visible_devices([gpus[2], gpus[0]], "GPU")
    assert CONFIG.get_visible_devices("GPU") == [gpus[2], gpus[0]]
    assert session_devices() == ["GPU:0 meta:2", "GPU:1 meta:0", "CPU:0 cpu"]
    assert session_devices(tf.ConfigProto(device_count={"GPU": 1})) == ["GPU:0 meta:0", "CPU:0 cpu"], "as in TensorFlow"
    CONFIG.set_visible_devices([], "GPU")
    assert session_devices() == ["CPU:0 cpu"]


def test_a_configuration_names_gpus_itself(gpus: list[Any]) -> None:
    CONFIG.set_visible_devices(gpus[:1], "GPU")
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="1"))
    assert session_devices(config) == ["GPU:0 meta:1", "CPU:0 cpu"]


def test_all_visible_devices_may_be_given(gpus: list[Any], cpu: Any) -> None:
    CONFIG.set_visible_devices([cpu, gpus[1]])
    assert CONFIG.get_visible_devices() == [cpu, gpus[1]]
    assert CONFIG.list_logical_devices() == [("/device:CPU:0", "CPU"), ("/device:GPU:0", "GPU")]


def test_a_mirrored_strategy_takes_the_visible_gpus(gpus: list[Any]) -> None:
    from headrace.library.distribute.mirrored import accelerators

    CONFIG.set_visible_devices(gpus[1:], "GPU")
    assert accelerators() == ["/device:GPU:0", "/device:GPU:1"]


def test_a_cpu_may_be_several(cpu: Any) -> None:
    assert CONFIG.get_virtual_device_configuration(cpu) is None
    CONFIG.set_virtual_device_configuration(cpu, [CONFIG.VirtualDeviceConfiguration()] * 2)
    assert CONFIG.get_virtual_device_configuration(cpu) == [(None,), (None,)]
    with tf.device("/cpu:1"):
        x = tf.constant(1.0)
    with tf.Session() as sess:
        assert sess.run(x) == 1.0
    assert session_devices(tf.ConfigProto(device_count={"CPU": 1}))[-1] == "CPU:0 cpu"


def test_the_memory_of_a_gpu(gpus: list[Any]) -> None:
    assert CONFIG.get_memory_growth(gpus[1]) is None
    CONFIG.set_memory_growth(gpus[1], True)
    assert CONFIG.get_memory_growth(gpus[1]) is True
    CONFIG.set_virtual_device_configuration(gpus[2], [CONFIG.VirtualDeviceConfiguration(memory_limit=100)])
    with tf.Session(graph=tf.Graph()) as sess:
        options = sess._config.gpu_options
    assert options.allow_growth
    assert [list(one.memory_limit_mb) for one in options.experimental.virtual_devices] == [[], [], [100.0]]
    mine = tf.GPUOptions(experimental=tf.GPUOptions.Experimental(virtual_devices=[{"memory_limit_mb": [7]}]))
    with tf.Session(graph=tf.Graph(), config=tf.ConfigProto(gpu_options=mine)) as sess:
        (one,) = sess._config.gpu_options.experimental.virtual_devices
    assert one.memory_limit_mb == [7.0]


def test_devices_stay_once_they_are_known(gpus: list[Any], cpu: Any) -> None:
    CONFIG.list_logical_devices()
    CONFIG.set_visible_devices(gpus, "GPU")  # as they are
    for change in (
        lambda: CONFIG.set_visible_devices(gpus[:1], "GPU"),
        lambda: CONFIG.set_memory_growth(gpus[0], True),
        lambda: CONFIG.set_virtual_device_configuration(cpu, [CONFIG.VirtualDeviceConfiguration()] * 2),
    ):
        with pytest.raises(RuntimeError, match=r"cannot be modified after being initialized.*\(at .*test_physical_d"):
            change()


def one(limit: Any = None) -> list[Any]:
    return [CONFIG.VirtualDeviceConfiguration(limit)]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c, g: CONFIG.set_visible_devices(g[:1]), ValueError, "leaves no CPU"),
        (lambda c, g: CONFIG.set_visible_devices(["/gpu:0"]), ValueError, "Unrecognized device: '/gpu:0'; accepted is"),
        (lambda c, g: CONFIG.set_visible_devices([c], "GPU"), ValueError, "Unrecognized device.*not of type 'GPU'"),
        (lambda c, g: CONFIG.set_visible_devices([g[0], g[0]], "GPU"), ValueError, "twice"),
        (lambda c, g: CONFIG.set_memory_growth(c, True), ValueError, "a setting of GPUs"),
        (lambda c, g: CONFIG.get_memory_growth(c), ValueError, "a setting of GPUs"),
        (lambda c, g: CONFIG.set_memory_growth(g[0], "yes"), ValueError, "True or False, got 'yes'"),
        (lambda c, g: CONFIG.set_virtual_device_configuration(c, one(3)), ValueError, "CPU.*not supported, got"),
        (lambda c, g: CONFIG.set_virtual_device_configuration(c, [3]), TypeError, "must be a list of"),
        (lambda c, g: CONFIG.set_virtual_device_configuration(g[0], one()), ValueError, "limit is required"),
        (
            lambda c, g: CONFIG.set_virtual_device_configuration(g[0], one(3) * 2),
            tf.errors.UnimplementedError,
            "cannot be split into 2 devices",
        ),
    ],
)
def test_what_is_refused(
    call: Callable[[Any, Any], Any], error: type[Exception], words: str, gpus: list[Any], cpu: Any
) -> None:
    with pytest.raises(error, match=rf"{words}.*\(at .*test_physical_device"):
        call(cpu, gpus)


def test_growth_and_limits_exclude_each_other(gpus: list[Any]) -> None:
    CONFIG.set_virtual_device_configuration(gpus[0], one(3))
    with pytest.raises(ValueError, match="when virtual devices are configured"):
        CONFIG.set_memory_growth(gpus[0], True)


@pytest.mark.parametrize("listed", ["3", "a", "0,0", "-1"])
def test_lists_of_gpus_that_are_not_there(gpus: list[Any], listed: str) -> None:
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list=listed))
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"visible_device_list = '{listed}'.*below 3"):
        tf.Session(config=config)


def test_a_list_of_gpus_means_nothing_where_there_are_none() -> None:
    """Programs that were written for a machine with GPUs run without them."""
    if tf.test.is_gpu_available():
        pytest.skip("there are GPUs")
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="0,3"))
    with tf.Session(config=config) as session:
        assert [device.device_type for device in session.list_devices()] == ["CPU"]
