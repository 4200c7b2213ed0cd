"""What must hold on a GPU, without pytest: ``python tests/gpu_check.py`` on a machine with CUDA.  Exits 1 on any failure."""

import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

import headrace as tf
from headrace import extend


def _classifier():
    tf.set_random_seed(3)
    x, y = tf.placeholder(tf.float32, [None, 20]), tf.placeholder(tf.int32, [None])
    logits = tf.layers.dense(tf.layers.dense(x, 32, tf.nn.relu), 5)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    return x, y, loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)


def _losses(mode, steps=8, feed_device=None):
    rng = np.random.RandomState(0)
    with tf.Graph().as_default():
        x, y, loss, train = _classifier()
        with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
            session.run(tf.global_variables_initializer())
            return [
                session.run([loss, train], {x: rng.randn(16, 20), y: rng.randint(0, 5, 16)})[0] for _ in range(steps)
            ]


def check_compiled_and_captured_as_interpreted():
    np.testing.assert_allclose(_losses("always"), _losses("off"), rtol=2e-3)


IN_THE_BACKGROUND = """
import logging, sys
sys.path.insert(0, {root!r})
import numpy as np
import torch
import headrace as tf
from headrace.runtime.compiler import background

logging.basicConfig(level=logging.INFO, format="        %(message)s", stream=sys.stdout)
asked, ask = [], background.queue.process.ask
background.queue.process.ask = lambda request: asked.append(request) or ask(request)


def classifier():  # with a pool and a large product, of which compiled code calls ops of ours
    tf.set_random_seed(3)
    x, y = tf.placeholder(tf.float32, [None, 20]), tf.placeholder(tf.int32, [None])
    h = tf.layers.conv2d(tf.reshape(x, [-1, 4, 5, 1]), 32, 3, padding="same", activation=tf.nn.relu)
    h = tf.layers.dense(tf.layers.flatten(tf.layers.max_pooling2d(h, 2, 1)), 1024, tf.nn.relu)
    h = tf.layers.dense(h, 1024, tf.nn.relu, name="large")
    loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(h, 5))
    return x, y, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def losses(mode):
    rng = np.random.RandomState(0)
    with tf.Graph().as_default():
        x, y, loss, train = classifier()
        with tf.Session(config=tf.ConfigProto(compile=mode, precision="highest")) as session:
            session.run(tf.global_variables_initializer())
            found = []
            for step in range(120):
                if step == 60:
                    background.queue.wait(300)
                found.append(session.run([loss, train], {{x: rng.randn(16, 20), y: rng.randint(0, 5, 16)}})[0])
            steps = session._master.plan((x, y), (loss,), (train,)).variants
            return found, steps


(ours, steps), (expected, _) = losses("auto"), losses("off")
assert any(n.type == "_ApplyProduct" for n in steps._plan.graph.nodes)
np.testing.assert_allclose(ours, expected, rtol=2e-3)
assert steps.state in ("compiled", "interpreted") and steps._tier._asked, "nothing was compiled"
assert not {{"triton", "torch._dynamo", "torch._inductor"}} & sys.modules.keys(), "the program has imported the compiler"
"""
FIRST_PROGRAM = """
assert asked, "no process has compiled"
background.queue.rest()
assert not background.queue.process.running
"""
SECOND_PROGRAM = """
assert not asked, "the code of the first program was not found"
"""


def check_the_program_imports_no_compiler():
    """A hot step is compiled by another process, its kernels are loaded here, and the losses are the interpreted ones."""
    root = str(Path(__file__).parent.parent)
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": cache}
        for code in (FIRST_PROGRAM, SECOND_PROGRAM):
            code = (IN_THE_BACKGROUND + code).format(root=root)
            ended = subprocess.run(
                [sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, text=True
            )
            print(ended.stdout, end="")
            assert ended.returncode == 0, ended.stderr[-3000:]


def check_convolutions_whose_filters_are_laid_out_anew():
    def losses(mode):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x = tf.constant(np.random.RandomState(0).randn(4, 12, 12, 3).astype(np.float32))
            h = tf.layers.max_pooling2d(tf.layers.conv2d(x, 8, 3, activation=tf.nn.relu, padding="same"), 3, 2)
            h = tf.concat([tf.layers.conv2d(h, 4, 1), tf.layers.conv2d(h, 4, 3, padding="same")], 3)
            loss = tf.reduce_mean(tf.square(h - 1.0))
            train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                found = [session.run([loss, train])[0] for _ in range(6)]
                return found, session.run(tf.trainable_variables())

    (compiled, values), (interpreted, others) = losses("always"), losses("off")
    np.testing.assert_allclose(compiled, interpreted, rtol=2e-3)
    for a, b in zip(values, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-3)


def check_max_pools_of_many_kinds_and_their_gradients():
    def gradients(mode):
        rng = np.random.RandomState(0)
        with tf.Graph().as_default():
            found = []
            for size, window, stride, padding in (
                ((9, 10), (3, 3), (2, 2), "VALID"),
                ((9, 10), (3, 3), (2, 2), "SAME"),
                ((7, 5), (2, 2), (2, 2), "SAME"),
                ((6, 6), (3, 2), (1, 1), "SAME"),
                ((8, 7), (2, 3), (3, 2), "VALID"),
                ((11, 9), (5, 4), (2, 3), "SAME"),
            ):
                for layout in ("NHWC", "NCHW"):
                    # few different values: a window often has its maximum twice
                    x = tf.constant(rng.randint(0, 4, (2, *size, 3) if layout == "NHWC" else (2, 3, *size)), tf.float32)
                    ksize, strides = ((1, *n, 1) if layout == "NHWC" else (1, 1, *n) for n in (window, stride))
                    y = tf.nn.max_pool(x * 1.5, ksize, strides, padding, layout)
                    found += [y, *tf.gradients(y * tf.constant(rng.randn(*y.shape.as_list()), tf.float32), x)]
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                return session.run(found)

    for compiled, interpreted in zip(gradients("always"), gradients("off"), strict=True):
        np.testing.assert_allclose(compiled, interpreted, rtol=1e-5, atol=1e-5)


def check_a_large_product_is_accumulated_in_place():
    def values(mode):
        with tf.Graph().as_default():
            x = tf.constant(np.random.RandomState(0).randn(8, 1024).astype(np.float32))
            w = tf.get_variable(
                "w", initializer=tf.constant(np.random.RandomState(1).randn(1024, 1024) * 0.01, tf.float32)
            )
            train = tf.train.GradientDescentOptimizer(0.01).minimize(
                tf.reduce_sum(tf.square(tf.nn.relu(tf.matmul(x, w))))
            )
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                before = torch.cuda.max_memory_allocated()
                for _ in range(5):
                    session.run(train)
                return session.run(w), before

    np.testing.assert_allclose(values("always")[0], values("off")[0], rtol=2e-2, atol=2e-4)


def check_fetching_nothing_does_not_wait():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4096, 4096])
        total = tf.get_variable("total", [4096, 4096], initializer=tf.zeros_initializer())
        value = x
        for _ in range(40):
            value = tf.matmul(value, x) * 1e-4
        step = total.assign_add(value).op
        with tf.Session(config=tf.ConfigProto(compile="always")) as session:
            session.run(tf.global_variables_initializer())
            fed = np.random.RandomState(0).randn(4096, 4096).astype(np.float32)
            for _ in range(4):
                session.run(step, {x: fed})
            torch.cuda.synchronize()
            start = time.perf_counter()
            session.run(step, {x: fed})
            returned = time.perf_counter() - start
            torch.cuda.synchronize()
            whole = time.perf_counter() - start
            print(f"   returned after {returned * 1e3:.1f} ms of {whole * 1e3:.1f}")
            assert returned < 0.7 * whole


def check_large_feeds_do_not_wait_for_the_step_before():
    """An interpreted step copies its feed while the kernels of the step before still run."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4096, 4096])
        total = tf.get_variable("total", [4096, 4096], initializer=tf.zeros_initializer())
        value = x
        for _ in range(200):
            value = tf.matmul(value, x) * 1e-4
        step = total.assign_add(value).op
        with tf.Session(config=tf.ConfigProto(compile="off")) as session:
            session.run(tf.global_variables_initializer())
            batches = [np.random.RandomState(i).randn(4096, 4096).astype(np.float32) for i in range(2)]
            for batch in batches:
                session.run(step, {x: batch})
            torch.cuda.synchronize()
            start = time.perf_counter()
            for batch in batches:
                session.run(step, {x: batch})
            returned = time.perf_counter() - start
            torch.cuda.synchronize()
            whole = time.perf_counter() - start
            print(f"   two steps returned after {returned * 1e3:.1f} ms of {whole * 1e3:.1f}")
            assert returned < 0.5 * whole


def check_copies_run_beside_kernels_and_are_whole():
    from headrace.resources.calling.copies import to_device, to_host

    gpu = torch.device("cuda", 0)
    for _ in range(20):
        host = torch.randn(1 << 22)
        torch.cuda._sleep(100_000_000)  # some 50 ms
        start = time.perf_counter()
        there = to_device(host, gpu)
        begun = time.perf_counter() - start
        twice = there * 2.0
        del there  # its memory is not given away before the kernel has read it
        others = [torch.zeros(1 << 22, device=gpu) for _ in range(4)]
        (back, text) = to_host([twice, "text"])
        assert begun < 0.04, f"the copy waited for the kernels before it: {begun} s"
        assert text == "text" and torch.equal(back, host * 2.0)
        del others


def check_a_step_cut_between_host_and_device_is_the_same():
    def run(cut):
        rng = np.random.RandomState(0)
        with tf.Graph().as_default():
            with tf.device("/cpu:0"):
                table = tf.get_variable("table", initializer=rng.randn(1000, 64).astype(np.float32))
                ids = tf.placeholder(tf.int32, [512])
                rows = tf.nn.embedding_lookup(table, ids)
            with tf.device(ACCELERATOR):
                w = tf.get_variable("w", initializer=rng.randn(64, 64).astype(np.float32) * 0.1)
                loss = tf.reduce_mean(tf.square(tf.matmul(rows, w) - 1.0))
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            with tf.Session(config=tf.ConfigProto(compile="off", partition=cut, precision="highest")) as session:
                session.run(tf.global_variables_initializer())
                found = [session.run([loss, train], {ids: rng.randint(0, 1000, 512)})[0] for _ in range(20)]
                return found, session.run(table)

    (cut, cut_table), (whole, table) = run("always"), run("auto")
    np.testing.assert_allclose(cut, whole, rtol=1e-4)
    np.testing.assert_allclose(cut_table, table, rtol=1e-4, atol=1e-6)


def check_feeds_that_overlap_do_not_mix():
    """Many steps in flight, each with its own batch, in one array or in many: every one must be counted once."""
    for mode in ("always", "off"):
        for reused in (True, False):
            with tf.Graph().as_default():
                x = tf.placeholder(tf.float32, [256, 256])
                total = tf.get_variable("total", [256, 256], initializer=tf.zeros_initializer())
                step = total.assign_add(tf.tanh(x * 1e-3) * 1e3 * 0.0 + x * 1.0 + 0.0).op
                batch = np.zeros((256, 256), np.float32)
                with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                    session.run(tf.global_variables_initializer())
                    for i in range(200):
                        batch = batch if reused else np.zeros((256, 256), np.float32)
                        batch[:] = i
                        session.run(step, {x: batch})
                    np.testing.assert_array_equal(session.run(total), np.full((256, 256), sum(range(200)), np.float32))


def check_the_device_type_conforms():
    for mode in ("off", "always"):
        print(extend.devicecheck("GPU", config=tf.ConfigProto(compile=mode, precision="highest"), rtol=2e-3))


def check_memory_is_counted():
    with tf.Graph().as_default():
        with tf.device(ACCELERATOR):
            v = tf.get_variable("v", [1024, 1024])
            stats = tf.contrib.memory_stats
            asked = [stats.BytesInUse(), stats.MaxBytesInUse(), stats.BytesLimit()]
        with tf.Session() as session:
            session.run(v.initializer)
            in_use, most, limit = session.run(asked)
            assert 4 << 20 <= in_use <= most <= limit, (in_use, most, limit)
            (gpu,) = [s for name, s in session.device_stats().items() if name.endswith("GPU:0")]
            assert gpu.variable_bytes == 4 << 20 and gpu.bytes_limit == limit
            listed = next(d for d in session.list_devices() if d.device_type == "GPU")
            assert listed.memory_limit_bytes == limit == torch.cuda.get_device_properties(0).total_memory


def check_a_traced_step_has_the_device_and_its_memory():
    """The trace is left in $OUT, to be opened in Perfetto."""
    with tf.Graph().as_default() as graph:
        x, y, _, train = _classifier()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            feeds = {x: np.ones([16, 20]), y: np.zeros([16])}
            session.run(train, feeds, options=options, run_metadata=metadata)
    timeline = tf.profiler.Timeline(metadata.step_stats, graph)
    events = timeline.events(show_memory=True)
    (gpu,) = [e["pid"] for e in events if e["ph"] == "M" and e["args"]["name"].endswith("GPU:0 Compute")]
    slices = [e for e in events if e["ph"] == "X" and e["pid"] == gpu]
    products = [e for e in slices if e["name"] == "MatMul"]
    assert len(products) >= 2 and all(e["dur"] > 0 and "gpu_check.py" in e["args"]["source"] for e in products)
    assert any("cuda:0" in e["name"] and e["args"]["bytes"] > 0 for e in events if e["ph"] == "C")
    if "OUT" in os.environ:
        text = timeline.generate_chrome_trace_format(show_memory=True)
        Path(os.environ["OUT"], "gpu_step.json").write_text(text)


def check_a_limit_in_megabytes_is_honoured():
    config = tf.ConfigProto(compile="off")
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[2048])
    with tf.Graph().as_default():
        y = tf.reduce_sum(tf.ones([30_000, 30_000]) * tf.placeholder_with_default(2.0, []))  # 3.6 GB each
        with tf.Session(config=config) as session:
            limit = next(d for d in session.list_devices() if d.device_type == "GPU").memory_limit_bytes
            assert abs(limit - (2 << 30)) < 1 << 20, limit
            try:
                session.run(y)
            except tf.errors.ResourceExhaustedError:
                pass
            else:
                raise AssertionError("no limit was kept")
    torch.cuda.set_per_process_memory_fraction(1.0)


def check_concurrent_sessions_and_threads():
    expected = _losses("off")
    found, problems = {}, []

    def work(i):
        try:
            found[i] = _losses("always")
        except Exception as e:  # noqa: BLE001 - reported below
            problems.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems, problems
    for losses in found.values():
        np.testing.assert_allclose(losses, expected, rtol=2e-3)


def check_memory_is_not_grabbed_up_front():
    assert torch.cuda.memory_reserved() < 0.25 * torch.cuda.get_device_properties(0).total_memory


def check_memory_fraction_is_honoured():
    config = tf.ConfigProto(compile="off")
    config.gpu_options.per_process_gpu_memory_fraction = 0.05
    with tf.Graph().as_default():
        n = 60_000
        y = tf.reduce_sum(tf.ones([n, n]) * 2.0)  # 14 GB each
        with tf.Session(config=config) as session:
            try:
                session.run(y)
            except tf.errors.ResourceExhaustedError as e:
                assert "gpu_check.py" in str(e)
            else:
                raise AssertionError("no limit was kept")
    torch.cuda.set_per_process_memory_fraction(1.0)


ACCELERATOR = "/gpu:0"


def _config(mode, **options):
    kind = {"control_flow": "lowered"} if mode == "lowered" else {"compile": mode}
    return tf.ConfigProto(**kind, **options)


def _peak_of(run):
    """The result of a run, and by how many bytes it raised what the device holds."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = run()
    torch.cuda.synchronize()
    return result, torch.cuda.max_memory_allocated() - before


def _long_loop(swap, mode, steps=100, side=1024):
    """A loop that records values of four megabytes for its gradient -> the loss and the gradient, and the peak in bytes."""
    value = np.random.RandomState(0).randn(side, side).astype(np.float32)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [side, side])
        body = lambda i, h: (i + 1, tf.tanh(h) * 0.9 + tf.sin(h) * 0.2 + x * 0.1)  # noqa: E731 - as it is written in TF
        _, y = tf.while_loop(lambda i, h: i < steps, body, (0, x), swap_memory=swap)
        loss = tf.reduce_mean(y * y)
        (gradient,) = tf.gradients(loss, x)
        with tf.Session(config=_config(mode)) as session:
            session.run([loss, gradient], {x: value})  # plans, and compiles
            return _peak_of(lambda: session.run([loss, gradient], {x: value}))


def check_swapped_loops_keep_their_records_on_the_host():
    steps, side = 100, 1024
    recorded = steps * side * side * 4  # of one value in each iteration
    for mode, least in (("off", 0.9), ("always", 0.4)):  # compiled, of two values one is made again of the other
        (plain, there), (swapped, here) = (_long_loop(swap, mode, steps, side) for swap in (False, True))
        np.testing.assert_allclose(swapped[0], plain[0], rtol=1e-6)
        np.testing.assert_allclose(swapped[1], plain[1], rtol=1e-5, atol=1e-12)
        print(f"        {mode}: {there / 2**20:.0f} MiB at most without swapping, {here / 2**20:.0f} MiB with it")
        assert there > least * recorded, f"{mode}: {there} bytes at most, though {recorded} are recorded"
        assert here < 0.4 * there, f"{mode}: {here} bytes at most with swap_memory=True, {there} without"


def _through_the_host(x, mixed):
    """A loop on the host between parts on the device; ``mixed`` puts a part of every iteration on the device, too."""
    with tf.device(ACCELERATOR):
        a = tf.sin(x) * 2.0

    def body(i, h):
        with tf.device("/cpu:0"):
            h = tf.tanh(h, name="on_host") + tf.cast(i, tf.float32) * 0.01
        if mixed:
            with tf.device(ACCELERATOR):
                h = tf.cos(h, name="on_device") + h * a
        return i + 1, h

    h = tf.while_loop(lambda i, h: i < 5, body, (0, a))[1]
    with tf.device(ACCELERATOR):
        return tf.reduce_sum(tf.cos(h) * a)


def _nodes(graph):
    """The nodes of a plan, those in bodies included."""
    for node in graph.nodes:
        yield node
        for attribute in node.attrs.values():
            if hasattr(attribute, "nodes"):
                yield from _nodes(attribute)


def _on_one_device(mixed, value):
    """The value, the gradient and the second one, computed on the host alone."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64])
        fetches = _with_gradients(_through_the_host(x, mixed), x)
        with tf.Session(config=_config("off", device_count={"GPU": 0}, allow_soft_placement=True)) as session:
            return session.run(fetches, {x: value})


def _with_gradients(y, x):
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(tf.reduce_sum(first * first), x)
    return [y, first, second]


def check_loops_on_the_host_between_parts_on_the_device():
    value = np.linspace(-1.5, 1.5, 64).astype(np.float32)
    for mixed in (False, True):
        expected = _on_one_device(mixed, value)
        for mode in ("off", "always", "lowered"):
            with tf.Graph().as_default():
                x = tf.placeholder(tf.float32, [64])
                fetches = _with_gradients(_through_the_host(x, mixed), x)
                with tf.Session(config=_config(mode)) as session:
                    found = [session.run(fetches, {x: value}) for _ in range(3)][-1]
                    plan = session._master.plan([x], fetches, [])
            for got, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-4, err_msg=f"{mode}, mixed {mixed}")
            nodes = list(_nodes(plan.graph)) + (plan.framed.nodes if plan.framed is not None else [])
            for name, kind in (("on_host", "CPU:0"), *((("on_device", ACCELERATOR[1:].upper()),) if mixed else ())):
                places = {n.device for n in nodes if n.name.endswith(name)}
                assert places and all(p.endswith(kind) for p in places), f"{mode}: {name} is on {places}, not on {kind}"


def check_an_error_in_a_loop_over_both_devices_has_its_line():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [])

        def body(i, h):
            with tf.device("/cpu:0"):
                found = tf.gather(tf.constant([1.0, 2.0]), x + i, name="look_up")
            with tf.device(ACCELERATOR):
                return i + 1, tf.sin(h) + found

        y = tf.while_loop(lambda i, h: i < 4, body, (0, 0.0))[1]
        with tf.Session(config=_config("off")) as session:
            try:
                session.run(y, {x: 0})
            except tf.errors.InvalidArgumentError as e:
                assert "look_up" in str(e) and "gpu_check.py" in str(e), str(e)
            else:
                raise AssertionError("no error for an index outside")


def check_loops_of_known_length_are_compiled_with_the_step_around_them():
    def losses(mode, cell, steps=5):
        rng = np.random.RandomState(0)
        with tf.Graph().as_default():
            tf.set_random_seed(3)
            x, y = tf.placeholder(tf.float32, [None, 7, 12]), tf.placeholder(tf.int32, [None])
            outputs, _ = tf.nn.dynamic_rnn(cell(24), x, dtype=tf.float32)
            summed = tf.scan(lambda total, row: 0.5 * total + tf.sin(row), tf.transpose(outputs, [1, 0, 2]))
            logits = tf.layers.dense(summed[-1] + outputs[:, 2], 5)
            loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
            train = tf.train.AdamOptimizer(0.01).minimize(loss)
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                found = [
                    session.run([loss, train], {x: rng.randn(6, 7, 12), y: rng.randint(0, 5, 6)})[0]
                    for _ in range(steps)
                ]
                plan = session._master.plan([x, y], [loss], [train])
                return found, plan.variants.regions if plan.variants is not None else 0

    for cell in (tf.nn.rnn_cell.LSTMCell, tf.nn.rnn_cell.GRUCell):
        (compiled, regions), (interpreted, _) = losses("always", cell), losses("off", cell)
        np.testing.assert_allclose(compiled, interpreted, rtol=2e-3)
        assert regions == 1, f"{cell.__name__}: {regions} regions"


def check_a_step_fed_by_a_queue_trains_as_a_fed_one():
    def losses(mode, queued, steps=8):
        rng = np.random.RandomState(0)
        with tf.Graph().as_default():
            tf.set_random_seed(3)
            x, y = tf.placeholder(tf.float32, [None, 20]), tf.placeholder(tf.int32, [None])
            with tf.device("/cpu:0"):
                queue = tf.FIFOQueue(4, [tf.float32, tf.int32])
                put = queue.enqueue([x, y])
                taken = queue.dequeue()
            inputs = taken if queued else (x, y)
            inputs[0].set_shape([None, 20])
            inputs[1].set_shape([None])
            logits = tf.layers.dense(tf.layers.dense(inputs[0], 32, tf.nn.relu), 5)
            loss = tf.losses.sparse_softmax_cross_entropy(inputs[1], logits)
            train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
            with tf.Session(config=tf.ConfigProto(compile=mode)) as session:
                session.run(tf.global_variables_initializer())
                found = []
                for _ in range(steps):
                    feed = {x: rng.randn(16, 20), y: rng.randint(0, 5, 16)}
                    if queued:
                        session.run(put, feed)
                    found.append(session.run([loss, train], {} if queued else feed)[0])
                return found

    expected = losses("off", False)
    for mode in ("off", "always"):
        np.testing.assert_allclose(losses(mode, True), expected, rtol=2e-3)


def check_values_of_the_device_pass_through_a_queue():
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=np.arange(6, dtype=np.float32))
        queue = tf.FIFOQueue(4, tf.float32, [[6]])
        put = [queue.enqueue(v), queue.enqueue(v * 2.0)]
        taken = tf.reduce_sum(queue.dequeue() * v)
        with tf.Session() as session:
            session.run(v.initializer)
            session.run(put)
            session.run(tf.assign(v, np.ones(6, np.float32)))
            assert sorted(session.run(taken) for _ in range(2)) == [15.0, 30.0]


def check_elements_are_prefetched_to_the_device():
    """The batches that steps get are whole, whatever the device does with the memory of those before."""
    rows = np.random.RandomState(0).randn(40, 1 << 16).astype(np.float32)
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.from_tensor_slices(rows).batch(4)
        iterator = dataset.apply(tf.data.experimental.prefetch_to_device("/gpu:0", 2)).make_initializable_iterator()
        batch = iterator.get_next()
        assert batch.device == "/device:GPU:0"
        sums = tf.reduce_sum(tf.cast(batch, tf.float64), 1)
        devices = ["/gpu:0", "/cpu:0"]
        dealt = tf.data.experimental.MultiDeviceIterator(dataset, devices)
        both = [tf.reduce_sum(tf.cast(one, tf.float64), 1) for one in dealt.get_next()]
        with tf.Session() as session:
            for _ in range(3):
                session.run(iterator.initializer)
                taken = np.concatenate([session.run(sums) for _ in range(10)])
                np.testing.assert_allclose(taken, rows.astype(np.float64).sum(1))
                session.run(dealt.initializer)
                taken = np.concatenate([np.concatenate(session.run(both)) for _ in range(5)])
                np.testing.assert_allclose(taken, rows.astype(np.float64).sum(1))


def check_each_step_draws_new_numbers():
    """Drawn in compiled code, also when a captured graph runs again: new in each step, session and op, the same in gradients."""
    masks = []
    for _ in range(2):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [64, 256])
            w = tf.get_variable("w", [256, 256], initializer=tf.glorot_uniform_initializer(seed=1))
            h = tf.tanh(tf.matmul(x, w)) + 2.0
            first, second = (tf.nn.dropout(h, rate=0.3) for _ in range(2))
            slope = tf.gradients(tf.reduce_sum(first * 3.0), h)[0]
            with tf.Session(config=tf.ConfigProto(compile="always")) as session:
                session.run(tf.global_variables_initializer())
                feed = {x: np.random.RandomState(0).rand(64, 256)}
                for _ in range(6):
                    one, other, back = session.run([first, second, slope], feed)
                    np.testing.assert_array_equal(one == 0.0, back == 0.0)
                    masks += [one == 0.0, other == 0.0]
    for i, mask in enumerate(masks):
        assert 0.25 < mask.mean() < 0.35
        assert all(0.4 < (mask == before).mean() < 0.75 for before in masks[:i])  # by chance 0.58


def _weights_and_gradients(mode, length, steps=6, rate=0.25, width=64):
    """For each step what dropout left of the weights, seen through values that are rows of an identity; and gradients."""
    rng, sizes = np.random.RandomState(1), [2, 3, length, width]
    hidden = np.where(np.arange(length) < length - 7, 0.0, -10000.0)
    arrays = [rng.randn(*sizes) for _ in range(2)] + [np.broadcast_to(np.eye(length, width), sizes)]
    arrays = [a.astype(np.float32) for a in (*arrays, rng.randn(*sizes), hidden)]
    with tf.Graph().as_default():
        query, key, value, grad, mask = (tf.placeholder(tf.float32, a.shape) for a in arrays)
        scores = tf.matmul(query, key, transpose_b=True) * 0.125 + mask
        mixed = tf.matmul(tf.nn.dropout(tf.nn.softmax(scores), rate=rate), value)
        slopes = tf.gradients(mixed, [query, key, value], grad)
        config = tf.ConfigProto(compile=mode, precision="bfloat16")
        with tf.Session(config=config) as session:
            seen = []
            session._master.after_each_pass = lambda name, graph: seen.append({node.type for node in graph.nodes})
            feed = dict(zip((query, key, value, grad, mask), arrays, strict=True))
            found = [session.run([mixed, *slopes], feed) for _ in range(steps)]
            assert any("_AttentionBackward" in types for types in seen)
    return arrays, found


def check_attention_with_dropout():
    """The weights are the softmax's, some dropped and the others scaled up; the gradients fit what was dropped; new each time."""
    rate, masks = 0.25, []
    for mode in ("always", "off"):
        for length in (64, 50):
            (query, key, value, grad, hidden), found = _weights_and_gradients(mode, length, rate=rate)
            scores = query @ key.swapaxes(2, 3) * 0.125 + hidden
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            for mixed, *slopes in found:
                kept = mixed[..., :length] != 0.0
                share = kept[..., : length - 7].mean()
                assert abs(share - (1 - rate)) < 0.02 and not kept[..., length - 7 :].any(), share
                scaled = kept / (1 - rate)
                np.testing.assert_allclose(mixed[..., :length], weights * scaled, rtol=0.05, atol=4e-3)
                back = grad @ value.swapaxes(2, 3) * scaled
                slope = weights * (back - (back * weights).sum(-1, keepdims=True)) * 0.125
                expected = slope @ key, slope.swapaxes(2, 3) @ query, (weights * scaled).swapaxes(2, 3) @ grad
                for one, other in zip(slopes, expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=0.1, atol=0.05)
                masks.append(kept[..., :40, :40])
    for i, mask in enumerate(masks):
        assert all((mask == before).mean() < 0.75 for before in masks[:i])  # by chance 0.625


def main() -> int:
    failed = 0
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            start = time.time()
            try:
                check()
                print(f"ok      {name[6:]} ({time.time() - start:.1f} s)", flush=True)
            except Exception:  # noqa: BLE001 - every failure is reported
                failed += 1
                print(f"FAILED  {name[6:]}", flush=True)
                traceback.print_exc()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
