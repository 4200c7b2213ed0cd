"""One framework running one workload: `python -m benchmarks._step_worker '{"framework": ..., "workload": ..., ...}'`.

Prints one line of JSON when the first three steps are done (their losses, and how long the first took), then one for each
line it reads from standard input: for a number of seconds the step times of a sample that long, for two numbers ("steps
seconds") when the step of that number was done, at most that many seconds later. Ends with its input.
"""

import gc
import importlib
import json
import os
import resource
import statistics
import sys
import time

from benchmarks._peers import tf1_peer, workload

FIRST = 3


def main(order):
    """Runs the workload until the input ends."""
    if order["threads"]:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: order["threads"]])
    chosen = getattr(workload, order["suite"])[order["workload"]]
    made = PREPARE[order["framework"]](chosen, order)
    step, batch = made.pop("step"), made.pop("batch")
    count = FIRST
    _answer(**made)
    for line in sys.stdin:
        if " " in line:
            last, seconds = line.split()
            times = sample(step, batch, float(seconds), int(last) - count)
            count += len(times)
            _answer(steps=count, at_s=time.time() - order["spawned"], recent_s=statistics.median(times[-100:]))
            continue
        times = sample(step, batch, float(line))
        _answer(
            steps=len(times), median_s=statistics.median(times), mean_s=statistics.fmean(times), least_s=min(times),
            peak_bytes=_peak_bytes(order["device"]),
        )  # fmt: skip


def sample(step, batch, seconds, most=sys.maxsize):
    """The times of steps run one after the other for this long, or that many; at least one."""
    gc.collect()
    times = []
    now = time.perf_counter()
    end = now + seconds
    while (now < end and len(times) < most) or not times:
        step(*batch)
        before, now = now, time.perf_counter()
        times.append(now - before)
    return times


def _start(version, batch, prepare):
    """Prepares and runs the first steps, timed; neither initial values nor their transfer are part of building."""
    step, build_s = prepare()
    begin = time.perf_counter()
    losses = [step(*batch)]
    first_s, first_at = time.perf_counter() - begin, time.time()
    losses += [step(*batch) for _ in range(FIRST - 1)]
    return {
        "version": version, "batch": batch, "step": step, "losses": losses, "build_s": build_s, "first_s": first_s,
        "first_at": first_at,
    }  # fmt: skip


# ---- the frameworks


def _headrace(mode):
    def prepare(chosen, order):
        tf = importlib.import_module("headrace")
        version = importlib.import_module("headrace.library.system.version").HEADRACE_VERSION
        config = tf.ConfigProto(compile=mode, intra_op_parallelism_threads=order["threads"])
        return _start(version, _fed(chosen, tf1_peer.example(chosen)), lambda: tf1_peer.prepare(tf, chosen, config))

    return prepare


def _tensorflow(chosen, order):
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    face = tf1_peer.stand_in(tf)
    count = order["threads"]
    config = tf.ConfigProto(intra_op_parallelism_threads=count, inter_op_parallelism_threads=count)
    return _start(
        tf.__version__, _fed(chosen, tf1_peer.example(chosen)), lambda: tf1_peer.prepare(face, chosen, config)
    )


def _torch(mode):
    def prepare(chosen, order):
        torch = importlib.import_module("torch")
        tf1_peer.stand_in(None)
        peer = importlib.import_module("benchmarks._peers.torch_peer")
        if order["threads"]:
            torch.set_num_threads(order["threads"])
        if order["device"] == "cuda":
            torch.set_float32_matmul_precision("high")
            torch.backends.cudnn.allow_tf32 = True
            torch.backends.cudnn.benchmark = True
        batch = peer.arrange(tf1_peer.example(chosen))
        return _start(
            torch.__version__, _fed(chosen, batch), lambda: peer.prepare(chosen, batch, order["device"], mode)
        )

    return prepare


def _jax(chosen, order):
    jax = importlib.import_module("jax")
    tf1_peer.stand_in(None)
    if order["device"] == "cuda":
        jax.config.update("jax_default_matmul_precision", "tensorfloat32")
    peer = importlib.import_module("benchmarks._peers.jax_peer")
    batch = tf1_peer.example(chosen)
    return _start(jax.__version__, _fed(chosen, batch), lambda: peer.prepare(chosen, batch))


PREPARE = {
    "headrace": _headrace("off"),
    "headrace-auto": _headrace("auto"),
    "headrace-compiled": _headrace("always"),
    "tensorflow": _tensorflow,
    "torch": _torch(None),
    "torch-compiled": _torch("default"),
    "torch-graphs": _torch("reduce-overhead"),
    "jax": _jax,
}


def _fed(chosen, batch):
    """What a step is given: nothing if its batch stays on the device."""
    return () if chosen.resident else batch


def _peak_bytes(device):
    """The most memory held so far: the process's on a CPU, the allocator's on a GPU."""
    if device == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if "jax" in sys.modules:
        return sys.modules["jax"].local_devices()[0].memory_stats()["peak_bytes_in_use"]
    return sys.modules["torch"].cuda.max_memory_allocated()


def _answer(**fields):
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
