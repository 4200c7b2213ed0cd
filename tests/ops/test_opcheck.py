"""Every registered op, checked with the samples of its family (tests/samples/*.py)."""

import importlib
from pathlib import Path

import pytest

import headrace as tf  # noqa: F401 - registers the ops
from headrace.core.registry import REGISTRY
from headrace.library.testing.opcheck import Sample, opcheck

DATASETS = "gives or takes a dataset or an iterator; tests/library/data runs it"
FAMILIES = sorted(p.stem for p in (Path(__file__).parent.parent / "samples").glob("*.py") if p.stem != "__init__")

REPLICAS = "needs workers; tests/library/train/replica/test_replicas.py runs it"
WITHOUT_SAMPLES = {
    **{d.name: DATASETS for d in REGISTRY if "/headrace/ops/dataset/" in d.location},
    **{d.name: REPLICAS for d in REGISTRY if "/headrace/ops/replicas.py" in d.location},
    "_CheckNumbers": "beside nodes of a step whose numbers are checked; tests/passes/test_check_numbers.py runs it",
    "_Observe": "keeps a copy of a value of an observed step; tests/passes/test_observe.py runs it",
    "_Observed": "gives the copies of an observed step; tests/passes/test_observe.py runs it",
    "BytesInUse": "differs between machines; tests/ops/test_memory_stats.py runs it",
    "BytesLimit": "differs between machines; tests/ops/test_memory_stats.py runs it",
    "MaxBytesInUse": "accelerators have it; tests/gpu_check.py runs it",
    "Placeholder": "runs only when fed, and then its kernel does not run",
    "_SendMany": "needs a step of several partitions; tests/runtime/session/test_partitioned.py runs it",
    "_RecvMany": "needs a step of several partitions; tests/runtime/session/test_partitioned.py runs it",
    "_Arg": "an argument of a body, replaced by a feed when the body is planned",
    "If": "holds bodies; tests/library/control/test_control_flow.py runs it",
    "PartitionedCall": "holds a body; tests/library/function/test_function.py runs it",
    "StatefulPartitionedCall": "holds a body; tests/library/function/test_function.py runs it",
    "StatelessIf": "holds bodies; tests/library/control/test_control_flow.py runs it",
    "While": "holds bodies; tests/library/control/test_while_loop.py runs it",
    "StatelessWhile": "holds bodies; tests/library/control/test_while_loop.py runs it",
    "_Repeat": "holds a body; made for the gradient of a loop, tests/autodiff/test_control_flow.py runs it",
    "_StatelessRepeat": "holds a body; made for the gradient of a loop, tests/autodiff/test_control_flow.py runs it",
    "_EmptyStash": "a stash is no array; tests/autodiff/test_control_flow.py runs it",
    "_PushStash": "a stash is no array; tests/autodiff/test_control_flow.py runs it",
    "_PopStash": "a stash is no array; tests/autodiff/test_control_flow.py runs it",
    "_PushRow": "what it makes is no array; tests/passes/test_loops.py runs it",
    "_JoinRows": "what it takes is no array; tests/passes/test_loops.py runs it",
    "_SwapOut": "its result is no array; tests/autodiff/test_control_flow.py runs it",
    "_SwapIn": "its input is no array; tests/autodiff/test_control_flow.py runs it",
    "_ZerosVariant": "a stash is no array; tests/autodiff/test_control_flow.py runs it",
    "_AddVariants": "a stash is no array; tests/autodiff/test_control_flow.py runs it",
    "TensorArrayV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "TensorArrayWriteV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "TensorArrayReadV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "TensorArrayGatherV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "TensorArrayScatterV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "TensorArrayConcatV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "TensorArraySplitV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "TensorArraySizeV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "TensorArrayCloseV3": "takes or gives an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "EmptyTensorList": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListReserve": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListFromTensor": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListStack": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListGather": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListGetItem": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListLength": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListSetItem": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListPushBack": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListPopBack": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "TensorListResize": "takes or gives a list of tensors; tests/ops/test_tensor_list.py runs it",
    "_ArrayOf": "takes or gives the gradient of an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "_ArrayItem": "takes or gives the gradient of an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "_ArrayUnstacked": "takes or gives the gradient of an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "_ArrayStacked": "takes or gives the gradient of an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "_ElementShape": "takes an array of tensors; tests/library/control/test_tensor_array_gradient.py runs it",
    "_ArraySplit": "takes or gives the gradient of an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "_ArrayConcat": "takes or gives the gradient of an array of tensors; tests/library/control/test_tensor_array.py runs it",
    "Switch": "a primitive of control flow; tests/runtime/drive/test_framed.py runs it",
    "Merge": "a primitive of control flow; tests/runtime/drive/test_framed.py runs it",
    "Enter": "a primitive of control flow; tests/runtime/drive/test_framed.py runs it",
    "Exit": "a primitive of control flow; tests/runtime/drive/test_framed.py runs it",
    "NextIteration": "a primitive of control flow; tests/runtime/drive/test_framed.py runs it",
    **dict.fromkeys(
        ("RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration", "RefIdentity", "RefSelect"),
        "passes a variable on; tests/library/control/test_while_loop.py runs it",
    ),
    **dict.fromkeys(
        (
            "_TensorArrayV3",
            "_TensorArrayGradV3",
            "_TensorArrayWriteV3",
            "_TensorArrayReadV3",
            "_TensorArrayGatherV3",
            "_TensorArrayScatterV3",
            "_TensorArrayConcatV3",
            "_TensorArraySplitV3",
            "_TensorArraySizeV3",
            "_TensorArrayCloseV3",
        ),
        "an array that is written in place, of an imported graph; tests/ops/test_mutable_array.py runs it",
    ),
    "ControlTrigger": "a primitive of control flow; tests/passes/test_raise_primitives.py runs it",
    "LoopCond": "a primitive of control flow; tests/runtime/drive/test_framed.py runs it",
    "RecordInput": "reads files; tests/library/input/test_record_input.py runs it",
    "Unstage": "has no input that could wait for a put; tests/library/queue/test_staging.py runs it",
    "_Feed": "made by the passes in place of a fed tensor",
    "DisableCopyOnRead": "takes the handle of a variable; tests/library/saved_model/test_saved_model_golden.py runs it",
    "DestroyResourceOp": "leaves a variable without a value; tests/library/state/test_resource_variable.py runs it",
    "GetSessionHandle": "its result is of one session; tests/client/test_tensor_handle.py runs it",
    "GetSessionHandleV2": "its result is of one session; tests/client/test_tensor_handle.py runs it",
    "GetSessionTensor": "takes what another step kept; tests/client/test_tensor_handle.py runs it",
    "DeleteSessionTensor": "takes what another step kept; tests/client/test_tensor_handle.py runs it",
    **dict.fromkeys(
        ("MergeV2Checkpoints", "Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2", "_SaveRows"),
        "reads or writes files; tests/ops/test_checkpoint.py runs it",
    ),
    **dict.fromkeys(
        ("Stack", "StackPush", "StackPop", "StackClose", "StackV2", "StackPushV2", "StackPopV2", "StackCloseV2"),
        "takes or makes a stack, which is no array; tests/ops/test_stack.py runs it",
    ),
    **dict.fromkeys(
        (
            "CloseSummaryWriter",
            "CreateSummaryFileWriter",
            "FlushSummaryWriter",
            "ImportEvent",
            "SummaryWriter",
            "WriteAudioSummary",
            "WriteGraphSummary",
            "WriteHistogramSummary",
            "WriteImageSummary",
            "WriteRawProtoSummary",
            "WriteScalarSummary",
            "WriteSummary",
        ),
        "writes to a file; tests/library/contrib/test_summary.py runs it",
    ),
    "TemporaryVariable": "its output is the state itself; tests/ops/test_stack.py runs it",
    "DestroyTemporaryVariable": "takes what one step made; tests/ops/test_stack.py runs it",
    "VariableV2": "its output is the state itself; every op with a ref input is sampled on one",
    **dict.fromkeys(
        ("_NodeStates", "_RestoreNodeStates"),
        "is about other nodes; tests/library/train/saver/test_exact_state.py runs it",
    ),
    **dict.fromkeys(
        ("_LeaseSeat", "_JoinLease", "_LeaseChange", "_CheckLease"),
        "belongs to a session on a task; tests/library/train/session/test_chief_lease.py runs it",
    ),
    **dict.fromkeys(
        (
            "_CopyShare",
            "_RowMarks",
            "_NewRows",
            "_KeepCopy",
            "_CopyGenerations",
            "_TakeCopy",
            "_TakeNewRows",
            "_DropCopies",
        ),
        "belongs to a session on a task; tests/library/train/session/test_server_copies.py runs it",
    ),
    **dict.fromkeys(
        ("_AttentionForward", "_AttentionBackward"),
        "has kernels on CUDA only; tests/gpu_check.py runs them, tests/ops/internal/test_attention.py their shapes",
    ),
    "_Region": "made by the compiler in place of the nodes it takes; tests/runtime/compiler/test_compile.py runs it",
    "_Vjp": "made by the gradient sweep, with another op's attributes; every op without a rule is differentiated by it",
}


def _samples() -> tuple[dict[str, list[Sample]], dict[str, Exception]]:
    found: dict[str, list[Sample]] = {}
    failed: dict[str, Exception] = {}
    for family in FAMILIES:
        try:
            module = importlib.import_module(f"samples.{family}")
        except Exception as e:  # one broken family must not hide the others
            failed[family] = e
            continue
        for name, samples in module.SAMPLES.items():
            found.setdefault(name, []).extend(samples)
    return found, failed


SAMPLES, FAILED = _samples()


@pytest.mark.parametrize("family", FAMILIES)
def test_samples_of_a_family_load(family: str) -> None:
    if family in FAILED:
        raise FAILED[family]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_op(name: str) -> None:
    opcheck(name, SAMPLES[name])


def test_every_op_has_samples() -> None:
    # Tests may have registered others.  Forms on handles are compared with those on references in test_resource_form.py.
    ours = [d.name for d in REGISTRY if "/headrace/ops/" in d.location and not d.traits.by_ref]
    missing = sorted(n for n in ours if n not in SAMPLES and n not in WITHOUT_SAMPLES)
    assert not missing, f"ops without samples in tests/samples: {', '.join(missing)}"


def test_exceptions_are_still_needed() -> None:
    assert not [n for n in WITHOUT_SAMPLES if n not in REGISTRY or n in SAMPLES]
