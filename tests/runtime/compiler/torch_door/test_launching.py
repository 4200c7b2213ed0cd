"""Kernels for a GPU without their compiler, and without a GPU: a stand-in of torch's launcher runs them on the CPU."""

import copy
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch._inductor.runtime.triton_heuristics import StaticTritonCompileResult, TritonCompileResult
from torch._inductor.utils import align_inputs_from_check_idxs
from torch.fx.experimental.proxy_tensor import make_fx

from headrace.runtime.compiler.compile import OPTIONS
from headrace.runtime.compiler.torch_door import generated_module, launching
from headrace.runtime.compiler.torch_door.launching import NeedsCompiler

MODULE = """
import torch
from torch._inductor.select_algorithm import extern_kernels
from torch._C import _cuda_getCurrentRawStream as get_raw_stream
empty_strided_cpu = torch._C._dynamo.guards._empty_strided_cpu


class Runner:
    def __init__(self, partitions):
        self.partitions = partitions

    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
        buf0 = empty_strided_cpu((4, 4), (4, 1), torch.float32)
        extern_kernels.mm(arg0_1, arg1_1, out=buf0)
        stream0 = get_raw_stream(0)
        triton_poi_fused_add_0.run(buf0, arg1_1, 16, stream=stream0)
        return (buf0, )
"""


class StandIn:
    """Torch's launcher, for kernels that are files with lines of Python."""

    launched: list = []

    @staticmethod
    def _load_kernel(path, name, shared, device):
        with open(path) as file:
            StandIn.kernels = {7: compile(file.read(), name, "exec")}
        return (99, 7, 20, 0)  # the module, the function, registers, spills; torch 2.11 leaves the first out

    @staticmethod
    def _launch_kernel(function, x, y, z, warps, shared, types, arguments, stream):
        StandIn.launched.append((x, y, z, warps, shared, types, stream))
        exec(StandIn.kernels[function], dict(zip("abcdef", arguments, strict=False)))


@pytest.fixture(autouse=True)
def launcher(monkeypatch):
    monkeypatch.setattr(torch._C, "_StaticCudaLauncher", StandIn, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 5, raising=False)
    monkeypatch.setattr(torch.cuda, "device", lambda index: torch.no_grad())
    monkeypatch.setattr(launching, "_enter_context", lambda: None)
    launching._load.cache_clear()
    StandIn.launched = []
    yield
    launching._load.cache_clear()


class CachingAutotuner:
    """What torch's compiler keeps of a kernel: its variants, and the launchers of those that are left to choose from."""

    def __init__(self, results, left):
        self.inductor_meta = {"kernel_name": "triton_poi_fused_add_0"}
        self.compile_results = results
        self.launchers = [SimpleNamespace(config=r.config) for r in left]


def variant(path, block):
    """A real result of the compiler around a stand-in of the machine code: an addition in place, in blocks."""
    kernel = SimpleNamespace(
        name="triton_poi_fused_add_0", hash="0" * 64, cubin_path=None, cubin_raw=None, shared=32, num_warps=4,
        arg_names=["in_out_ptr0", "in_ptr0", "xnumel", "XBLOCK"], declared_constexprs=[3], full_constexprs=[3],
        arg_tys="OOi", has_global_scratch=True, has_profile_scratch=True,
    )  # fmt: skip
    config = SimpleNamespace(kwargs={"XBLOCK": block}, num_warps=4, num_stages=1, pre_hook=None)
    meta = {"device": 0, "device_type": "cuda", "constants": {"XBLOCK": block}, "signature": {}}
    result = StaticTritonCompileResult(kernel, config, meta, {"grid_type": "Grid1D"})
    result.reload_cubin_path = lambda: setattr(kernel, "cubin_path", str(path))
    return result


@pytest.fixture
def grids(monkeypatch):
    """Triton, which is not installed here, would say what a configuration is."""
    from torch._inductor.runtime import triton_heuristics

    monkeypatch.setattr(triton_heuristics, "Config", SimpleNamespace)
    monkeypatch.setattr(triton_heuristics, "config_to_dict", lambda config: config.kwargs)
    monkeypatch.setattr(triton_heuristics, "triton_version_uses_attrs_dict", lambda: True)


@pytest.fixture
def module(tmp_path, grids):
    """A module as torch's compiler writes it, with one kernel of two variants."""
    (tmp_path / "kernel.cubin").write_text("a += b")
    (tmp_path / "module.py").write_text(MODULE)
    results = [variant(tmp_path / "kernel.cubin", block) for block in (8, 16)]
    names = {
        "__file__": str(tmp_path / "module.py"),
        "triton_poi_fused_add_0": CachingAutotuner(results, results[:1]),
    }
    exec(MODULE, names)
    return names


def test_a_module_with_kernels_for_a_gpu_runs_without_its_compiler(module):
    code = module["Runner"]([]).call
    parts = json.loads(json.dumps(generated_module.take(code)))  # it travels as JSON
    assert "_inductor" not in parts["text"]
    assert parts["files"] == [parts["cubins"]["triton_poi_fused_add_0"]["path"]]
    a, b = torch.rand(4, 4), torch.rand(4, 4)
    (total,) = generated_module.put(parts)([a, b])
    torch.testing.assert_close(total, a @ b + b)
    # Two blocks of eight; two arguments for scratch memory, which newer kernels take.
    assert StandIn.launched == [(2, 1, 1, 4, 32, "OOiOO", 5)]


def test_the_function_around_the_method_is_left_out(module):
    """Torch wraps code for a GPU in a function that copies inputs which are not aligned."""
    code = module["Runner"]([]).call
    wrapped = align_inputs_from_check_idxs(code, [0], set())
    assert generated_module.take(wrapped)["text"] == generated_module.take(code)["text"]


def test_a_kernel_that_was_not_tuned_stays_with_its_compiler(module):
    kernel = module["triton_poi_fused_add_0"]
    kernel.launchers *= 2
    with pytest.raises(NeedsCompiler, match="triton_poi_fused_add_0 has 2 variants left to choose from"):
        launching.take(kernel)


def test_a_kernel_that_torch_cannot_launch_stays_with_its_compiler(module):
    kernel = module["triton_poi_fused_add_0"]
    kernel.compile_results = kernel.compile_results[1:]
    with pytest.raises(NeedsCompiler, match="none of those that torch compiled: .*'XBLOCK': 8"):
        launching.take(kernel)


def test_the_variant_that_was_chosen_may_be_described_by_a_copy(module):
    kernel = module["triton_poi_fused_add_0"]
    expected = launching.take(kernel)
    kernel.launchers[0].config = copy.deepcopy(kernel.launchers[0].config)
    assert launching.take(kernel) == expected


class TritonsKernel:
    """What Triton's compiler returns; torch leaves it in this form where it does not find the file of machine code."""

    launch_enter_hook = launch_exit_hook = None

    def __init__(self, **metadata):
        parameters = [SimpleNamespace(is_constexpr=i == 3, num=i) for i in range(4)]
        names = ["in_out_ptr0", "in_ptr0", "xnumel", "XBLOCK"]
        function = SimpleNamespace(
            __name__="triton_poi_fused_add_0", arg_names=names, params=parameters, constexprs=[3]
        )
        types = dict(zip(names, ["*fp32", "*fp32", "i32", "constexpr"], strict=True))
        self.src = SimpleNamespace(fn=function, signature=types, constants={(3,): 8})
        self.asm = {"ptx": "text", "cubin": b"a += b"}
        self.hash = "ab" * 32
        scratch = {"global_scratch_size": 0, "profile_scratch_size": 0}
        self.metadata = SimpleNamespace(**{"num_warps": 4, "shared": 32, "num_ctas": 1, **scratch, **metadata})


def in_tritons_form(kernel, **metadata):
    """Has the chosen variant in the form of Triton's compiler."""
    old = kernel.compile_results[0]
    kernel.compile_results[0] = TritonCompileResult.__new__(TritonCompileResult)
    kernel.compile_results[0].__dict__ |= {
        "kernel": TritonsKernel(**metadata), "config": old.config, "compile_meta": old.compile_meta,
        "inductor_meta": old.inductor_meta,
    }  # fmt: skip


def test_a_kernel_in_tritons_form_is_launched_by_torch_too(module, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    expected = launching.take(module["triton_poi_fused_add_0"])
    in_tritons_form(module["triton_poi_fused_add_0"])
    parts = json.loads(json.dumps(generated_module.take(module["Runner"]([]).call)))
    taken = parts["cubins"]["triton_poi_fused_add_0"]
    (path,) = parts["files"]
    assert path == taken["path"] and path.startswith(str(tmp_path)) and taken == {**expected, "path": path}
    assert [f.name for f in Path(path).parent.iterdir()] == ["kernel.cubin"]  # nothing unfinished beside it
    a, b = torch.rand(4, 4), torch.rand(4, 4)
    torch.testing.assert_close(generated_module.put(parts)([a, b])[0], a @ b + b)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (
            {"launch_cooperative_grid": True},
            "torch's launcher cannot launch triton_poi_fused_add_0: launch_cooperative_grid",
        ),
        ({"global_scratch_size": 8}, "torch's launcher cannot launch triton_poi_fused_add_0: Global scratch not yet"),
        ({"num_ctas": 2}, "torch's launcher cannot launch triton_poi_fused_add_0: .*num_ctas == 1"),
    ],
)
def test_a_kernel_in_tritons_form_that_torch_cannot_launch_is_refused(module, monkeypatch, tmp_path, metadata, reason):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    in_tritons_form(module["triton_poi_fused_add_0"], **metadata)
    with pytest.raises(NeedsCompiler, match=reason):
        launching.take(module["triton_poi_fused_add_0"])


def test_a_kernel_without_machine_code_is_refused(module):
    in_tritons_form(module["triton_poi_fused_add_0"])
    del module["triton_poi_fused_add_0"].compile_results[0].kernel.asm["cubin"]
    with pytest.raises(NeedsCompiler, match="Triton made no machine code of triton_poi_fused_add_0, only ptx"):
        launching.take(module["triton_poi_fused_add_0"])


def test_kernels_have_short_names(monkeypatch):
    """Triton cuts the name of its file after 150 letters, torch looks for the whole name, and then has no launcher for it."""
    from torch._inductor import utils

    graph = make_fx(lambda x: x.exp().tanh().sigmoid().sin().cos().erf().floor().ceil().sign().log1p())(torch.ones(3))
    monkeypatch.setattr(utils, "aggregate_origins", lambda nodes: list(graph.graph.nodes))
    names = OPTIONS["triton.descriptive_names"]
    assert utils.get_fused_kernel_name([], names) == "fused"


def test_arguments_that_do_not_fit_are_refused(module):
    kernel = module["triton_poi_fused_add_0"]
    kernel.compile_results[0].kernel.arg_tys = "OOii"
    with pytest.raises(NeedsCompiler, match="takes 6 arguments, not 5"):
        launching.take(kernel)


def test_a_torch_without_a_launcher_needs_the_compiler(module, monkeypatch):
    parts = generated_module.take(module["Runner"]([]).call)
    monkeypatch.delattr(torch._C, "_StaticCudaLauncher")
    with pytest.raises(NeedsCompiler, match="this torch has no launcher of its own"):
        generated_module.put(parts)


def test_inputs_that_lie_awry_are_copied_and_written_back():
    seen = []

    def code(inputs):
        seen.append([t.data_ptr() % launching.ALIGNMENT for t in inputs])
        x, v = inputs
        inputs.clear()
        v += x
        return [x * 2.0]

    memory = torch.zeros(32)
    x, v = torch.ones(3, 2), memory[1:7].view(2, 3).t()  # four bytes behind where an allocation begins
    (twice,) = launching.aligned(code)([x, v])
    assert seen == [[0, 0]] and v.tolist() == [[1.0, 1.0]] * 3 and twice.tolist() == [[2.0, 2.0]] * 3
    assert memory[7:].abs().sum() == 0
