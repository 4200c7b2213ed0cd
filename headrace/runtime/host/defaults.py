"""What sessions are made with where their own configuration says nothing: the settings of ``tf.config``.

Owns these settings, which are the process's, and how they read as a ConfigProto.  Does not know who sets them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from headrace.core.config import ConfigProto, RewriterConfig
from headrace.runtime.host.device import Device, configured, local_devices, physical_devices

TOGGLES = (
    "layout_optimizer", "constant_folding", "shape_optimization", "remapping", "arithmetic_optimization",
    "dependency_optimization", "loop_optimization", "function_optimization", "debug_stripper",
    "scoped_allocator_optimization", "pin_to_host_optimization", "implementation_selector", "auto_mixed_precision",
)  # fmt: skip
FLAGS = ("disable_model_pruning", "disable_meta_optimizer")


@dataclass
class Settings:
    """What was set; None: nothing."""

    intra_op_threads: int | None = None
    inter_op_threads: int | None = None
    soft_placement: bool | None = None
    log_placement: bool | None = None
    jit: bool | None = None
    rewrites: dict[str, int] = field(default_factory=dict)
    visible: dict[str, list[int]] = field(default_factory=dict)  # by the type of device, those that were chosen
    growth: dict[tuple[str, int], bool] = field(default_factory=dict)  # by type and index
    virtual: dict[tuple[str, int], list[int | None]] = field(default_factory=dict)  # MB of each, None: no limit
    functions_eagerly: bool = False  # whether a tf.function calls its Python function
    initialized: bool = False  # whether somebody has seen the devices as they will be

    def config(self) -> ConfigProto:
        """The settings as a ConfigProto, in which only what was set differs from the default."""
        config = ConfigProto()
        if self.intra_op_threads is not None:
            config.intra_op_parallelism_threads = self.intra_op_threads
        if self.inter_op_threads is not None:
            config.inter_op_parallelism_threads = self.inter_op_threads
        config.allow_soft_placement = bool(self.soft_placement)
        config.log_device_placement = bool(self.log_placement)
        optimizer = config.graph_options.optimizer_options
        if self.jit is not None:
            optimizer.global_jit_level = optimizer.ON_1 if self.jit else optimizer.OFF
        rewrites = config.graph_options.rewrite_options
        for name, on in self.rewrites.items():
            toggled = RewriterConfig.ON if on else RewriterConfig.OFF
            setattr(rewrites, name, toggled if name in TOGGLES else on)
        self._put_devices(config)
        return config

    def seen(self, device_type: str) -> list[int]:
        """The indices of the physical devices of one type that sessions use."""
        chosen = self.visible.get(device_type)
        return [i for t, i in physical_devices() if t == device_type] if chosen is None else chosen

    def _put_devices(self, config: ConfigProto) -> None:
        for device_type in {*self.visible, *(t for t, _ in self.virtual)}:
            of_each = [len(self.virtual.get((device_type, i), [None])) for i in self.seen(device_type)]
            config.device_count[device_type] = sum(of_each)
        gpu = config.gpu_options
        if "GPU" in self.visible:
            gpu.visible_device_list = ",".join(map(str, self.visible["GPU"]))
        gpu.allow_growth = any(self.growth.values())
        limits = [self.virtual.get(("GPU", i)) for i in self.seen("GPU")]
        if any(limits):
            one = gpu.experimental.VirtualDevices
            gpu.experimental.virtual_devices = [one(memory_limit_mb=[mb for mb in s or () if mb]) for s in limits]


_settings = [Settings()]
_lock = threading.Lock()


def settings() -> Settings:
    """What is set now."""
    return _settings[0]


def reset() -> None:
    """Forgets all settings: sessions are made as in a fresh process."""
    with _lock:
        _settings[0] = Settings()


def session_defaults() -> ConfigProto | None:
    """The configuration of a session that is given none; None: the defaults of ConfigProto."""
    now = _settings[0]
    nothing = Settings(initialized=now.initialized, functions_eagerly=now.functions_eagerly)
    return None if now == nothing else now.config()


def default_devices() -> list[Device]:
    """The devices of a session of this process without a configuration of its own."""
    config = session_defaults() or ConfigProto()
    visible = config.gpu_options.visible_device_list
    return configured(local_devices(dict(config.device_count), visible=visible), config)
