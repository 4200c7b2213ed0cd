"""Configuration: TF1's ConfigProto family as plain, typed, checked Python objects.

Owns the fields and their defaults; how fields are checked is in `message`. Does not know what the settings do (the
session, the planner and the devices read them). Field names are TensorFlow's, apart from
`ConfigProto.compile`, which is ours.
"""

from __future__ import annotations

import enum
from typing import Any, Literal

from headrace.core.message import Message, nested

__all__ = [
    "ConfigProto",
    "GPUOptions",
    "GraphOptions",
    "OptimizerOptions",
    "RPCOptions",
    "RewriterConfig",
    "RunMetadata",
    "RunOptions",
    "ThreadPoolOptionProto",
]


class ThreadPoolOptionProto(Message):
    """One pool of threads that steps may run on."""

    num_threads: int = 0
    global_name: str = ""


class GPUOptions(Message):
    """How a session uses the GPUs of its process."""

    class Experimental(Message):
        """Settings of GPUs that may change."""

        class VirtualDevices(Message):
            """How one physical GPU is split into several."""

            memory_limit_mb: list[float] = nested()
            priority: list[int] = nested()

        virtual_devices: list[VirtualDevices] = nested()
        use_unified_memory: bool = False
        num_dev_to_dev_copy_streams: int = 0
        collective_ring_order: str = ""
        timestamped_allocator: bool = False
        kernel_tracker_max_interval: int = 0
        kernel_tracker_max_bytes: int = 0
        kernel_tracker_max_pending: int = 0

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    allocator_type: str = ""
    deferred_deletion_bytes: int = 0
    visible_device_list: str = ""
    polling_active_delay_usecs: int = 0
    polling_inactive_delay_msecs: int = 0
    force_gpu_compatible: bool = False
    experimental: Experimental = nested()


class OptimizerOptions(Message):
    """Which optimisations are applied to a graph."""

    class Level(enum.IntEnum):
        """How much is optimised: L1 (the default) common subexpressions and constants, L0 nothing."""

        L1 = 0
        L0 = -1

    class GlobalJitLevel(enum.IntEnum):
        """Whether graphs are compiled."""

        DEFAULT = 0
        OFF = -1
        ON_1 = 1
        ON_2 = 2

    L1 = Level.L1
    L0 = Level.L0
    DEFAULT = GlobalJitLevel.DEFAULT
    OFF = GlobalJitLevel.OFF
    ON_1 = GlobalJitLevel.ON_1
    ON_2 = GlobalJitLevel.ON_2

    do_common_subexpression_elimination: bool = False
    do_constant_folding: bool = False
    max_folded_constant_in_bytes: int = 0
    do_function_inlining: bool = False
    opt_level: Level = Level.L1
    global_jit_level: GlobalJitLevel = GlobalJitLevel.DEFAULT
    cpu_global_jit: bool = False


class RewriterConfig(Message):
    """Which graph rewrites run."""

    class Toggle(enum.IntEnum):
        """Whether one rewrite runs."""

        DEFAULT = 0
        ON = 1
        OFF = 2
        AGGRESSIVE = 3

    class NumIterationsType(enum.IntEnum):
        """How often the rewrites are repeated."""

        DEFAULT_NUM_ITERS = 0
        ONE = 1
        TWO = 2

    class MemOptType(enum.IntEnum):
        """How memory is saved."""

        DEFAULT_MEM_OPT = 0
        NO_MEM_OPT = 1
        MANUAL = 2
        HEURISTICS = 3
        SWAPPING_HEURISTICS = 4
        RECOMPUTATION_HEURISTICS = 5
        SCHEDULING_HEURISTICS = 6

    DEFAULT, ON, OFF, AGGRESSIVE = Toggle.DEFAULT, Toggle.ON, Toggle.OFF, Toggle.AGGRESSIVE
    DEFAULT_NUM_ITERS = NumIterationsType.DEFAULT_NUM_ITERS
    ONE, TWO = NumIterationsType.ONE, NumIterationsType.TWO
    DEFAULT_MEM_OPT, NO_MEM_OPT = MemOptType.DEFAULT_MEM_OPT, MemOptType.NO_MEM_OPT
    MANUAL, HEURISTICS = MemOptType.MANUAL, MemOptType.HEURISTICS
    SWAPPING_HEURISTICS = MemOptType.SWAPPING_HEURISTICS
    RECOMPUTATION_HEURISTICS = MemOptType.RECOMPUTATION_HEURISTICS
    SCHEDULING_HEURISTICS = MemOptType.SCHEDULING_HEURISTICS

    layout_optimizer: Toggle = Toggle.DEFAULT
    constant_folding: Toggle = Toggle.DEFAULT
    shape_optimization: Toggle = Toggle.DEFAULT
    remapping: Toggle = Toggle.DEFAULT
    common_subgraph_elimination: Toggle = Toggle.DEFAULT
    arithmetic_optimization: Toggle = Toggle.DEFAULT
    dependency_optimization: Toggle = Toggle.DEFAULT
    loop_optimization: Toggle = Toggle.DEFAULT
    function_optimization: Toggle = Toggle.DEFAULT
    debug_stripper: Toggle = Toggle.DEFAULT
    scoped_allocator_optimization: Toggle = Toggle.DEFAULT
    pin_to_host_optimization: Toggle = Toggle.DEFAULT
    implementation_selector: Toggle = Toggle.DEFAULT
    auto_mixed_precision: Toggle = Toggle.DEFAULT
    disable_model_pruning: bool = False
    disable_meta_optimizer: bool = False
    meta_optimizer_iterations: NumIterationsType = NumIterationsType.DEFAULT_NUM_ITERS
    meta_optimizer_timeout_ms: int = 0
    min_graph_nodes: int = 0
    memory_optimization: MemOptType = MemOptType.DEFAULT_MEM_OPT
    memory_optimizer_target_node_name_scope: str = ""
    fail_on_optimizer_errors: bool = False
    optimizers: list[str] = nested()
    custom_optimizers: list[Any] = nested()
    auto_parallel: Any = None
    scoped_allocator_opts: Any = None


class GraphOptions(Message):
    """How a graph is prepared for running."""

    enable_recv_scheduling: bool = False
    optimizer_options: OptimizerOptions = nested()
    build_cost_model: int = 0
    build_cost_model_after: int = 0
    infer_shapes: bool = False
    place_pruned_graph: bool = False
    enable_bfloat16_sendrecv: bool = False
    timeline_step: int = 0
    rewrite_options: RewriterConfig = nested()


class RPCOptions(Message):
    """How tasks of a cluster talk to each other."""

    use_rpc_for_inprocess_master: bool = False
    compression_algorithm: str = ""
    compression_level: int = 0
    cache_rpc_response: bool = False
    disable_session_connection_sharing: bool = False
    num_channels_per_target: int = 0


class ConfigProto(Message):
    """The configuration of a Session or Server.

    `compile` is Headrace's own: whether hot parts of a step are compiled in the background ("auto"), never ("off"),
    or before they first run ("always").  `control_flow` too: conditionals and loops run inside a strand unless their bodies
    block ("auto"), or always as primitives, whose iterations overlap ("lowered").  `partition`: whether a step is cut between
    a CPU and its only accelerator too ("always"), or only between other devices ("auto").  `deterministic` asks
    for bit-identical reruns, `precision` says what float32 products on CUDA are computed in: "high" (TF32), "highest" (full
    float32) or "medium" (bfloat16); these two are settings of the process, and the environment variables win over them.
    `precision="bfloat16"` or `"float16"` is mixed precision on every device: products and what stands between them are computed
    in 16 bits, sums, losses and variables in 32.
    `device_threads` says how many threads the kernels of a CPU use, by its full or partial name: `{"/cpu:0": 3, "/cpu:1": 1}`.
    The CPUs of a step that it does not name divide what is left of `intra_op_parallelism_threads`.
    `gather_transfers=False` lets each value that goes from one device to another travel by itself, so that what needs only
    some of them begins earlier.  `lossy_transfers` sends the upper 16 bits of float32 values (white paper 5.5).
    `late_transfers` sends large weights shortly before they are used, which needs less memory and more messages (5.2).
    `placement` says where nodes are that ask for no device and could be on several: on the first one ("first"), or where a
    simulated step is fastest (white paper 3.2.1): "greedy", "look_ahead", "refine"; "round_robin" takes devices in turn.
    Whether a step really is faster so is measured in its first runs, and the faster way is kept.
    """

    class Experimental(Message):
        """Settings of sessions that may change."""

        collective_group_leader: str = ""
        executor_type: str = ""
        recv_buf_max_chunk: int = 0
        use_numa_affinity: bool = False
        collective_deterministic_sequential_execution: bool = False
        collective_nccl: bool = False
        share_session_state_in_clusterspec_propagation: bool = False
        disable_thread_spinning: bool = False
        share_cluster_devices_in_session: bool = False
        session_metadata: Any = None
        optimize_for_static_graph: bool = False

    device_count: dict[str, int] = nested()
    intra_op_parallelism_threads: int = 0
    inter_op_parallelism_threads: int = 0
    use_per_session_threads: bool = False
    session_inter_op_thread_pool: list[ThreadPoolOptionProto] = nested()
    placement_period: int = 0
    device_filters: list[str] = nested()
    gpu_options: GPUOptions = nested()
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    graph_options: GraphOptions = nested()
    operation_timeout_in_ms: int = 0
    rpc_options: RPCOptions = nested()
    cluster_def: Any = None
    isolate_session_state: bool = False
    share_cluster_devices_in_session: bool = False
    experimental: Experimental = nested()
    compile: Literal["auto", "off", "always"] = "auto"
    control_flow: Literal["auto", "lowered"] = "auto"
    partition: Literal["auto", "always"] = "auto"
    gather_transfers: bool = True
    lossy_transfers: bool = False
    late_transfers: bool = False
    placement: Literal["first", "greedy", "look_ahead", "refine", "round_robin"] = "first"
    deterministic: bool = False
    precision: Literal["high", "highest", "medium", "bfloat16", "float16"] = "high"
    device_threads: dict[str, int] = nested()


class DebugTensorWatch(Message):
    """A tensor whose value a run leaves in files, as each of the debug ops gives it."""

    node_name: str = ""
    output_slot: int = 0
    debug_ops: list[str] = nested()
    debug_urls: list[str] = nested()
    tolerate_debug_op_creation_failures: bool = False


class DebugOptions(Message):
    """What tfdbg asks of a run."""

    debug_tensor_watch_opts: list[DebugTensorWatch] = nested()
    global_step: int = 0
    reset_disk_byte_usage: bool = False


class RunOptions(Message):
    """The configuration of one `Session.run`."""

    class TraceLevel(enum.IntEnum):
        """What is recorded about the step."""

        NO_TRACE = 0
        SOFTWARE_TRACE = 1
        HARDWARE_TRACE = 2
        FULL_TRACE = 3

    class Experimental(Message):
        """Settings of steps that may change."""

        collective_graph_key: int = 0
        use_run_handler_pool: bool = False

    NO_TRACE = TraceLevel.NO_TRACE
    SOFTWARE_TRACE = TraceLevel.SOFTWARE_TRACE
    HARDWARE_TRACE = TraceLevel.HARDWARE_TRACE
    FULL_TRACE = TraceLevel.FULL_TRACE

    trace_level: TraceLevel = TraceLevel.NO_TRACE
    timeout_in_ms: int = 0
    inter_op_thread_pool: int = 0
    output_partition_graphs: bool = False
    debug_options: DebugOptions = nested()
    report_tensor_allocations_upon_oom: bool = False
    experimental: Experimental = nested()


class RunMetadata(Message):
    """What was recorded about one `Session.run`; the runtime fills it in with objects of its own."""

    step_stats: Any = None
    cost_graph: Any = None
    partition_graphs: list[Any] = nested()
