"""Every test file has the name of the module or room it tests, or the table here says why not.

``tests/passes/test_place.py`` tests ``headrace/passes/place.py``, and so does ``test_place_bodies.py``.  A file named after its
own folder tests the whole room: ``tests/library/rnn/test_rnn_golden.py``.
"""

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parent
ROOT: Final = TESTS.parent
HOMES: Final = {  # the tests of what is not in headrace/
    "benchmarks": ROOT / "benchmarks", "conformance": TESTS / "conformance", "docs": ROOT / "docs",
    "examples": ROOT / "examples", "scripts": ROOT / "scripts",
}  # fmt: skip

EXCEPTIONS: Final = {
    "the public names, and `import headrace` as a whole": "api/test_face.py api/test_introspection.py"
    " test_import.py test_index.py",
    "all that uses torch's private names": "runtime/compiler/torch_door/test_names.py",
    "the pages, taken together": "test_docs.py docs/test_docstrings.py docs/test_words.py docs/test_figures.py docs/test_map.py"
    " docs/test_mistakes.py docs/test_pages.py docs/test_runnable.py docs/test_site.py docs/test_tutorials.py",
    "several benchmarks": "benchmarks/test_full_length.py",
    "whole programs": "tensorflow/test_alias.py tensorflow/test_old_tests.py tensorflow/test_programs.py"
    " examples/test_several_devices.py",
    "every op, by its samples": "ops/test_opcheck.py ops/test_samples_golden.py ops/test_drawn_golden.py"
    " ops/test_invalid_inputs.py ops/test_partial_shapes.py ops/test_resource_form.py",
    "one property of kernels in many families": "ops/test_array_kernels.py ops/test_axis_argument.py"
    " ops/test_choose_rows.py ops/test_every_processor.py ops/test_fixed_phrases.py ops/test_images.py"
    " ops/test_many_numbers.py ops/test_pool_gather.py ops/test_together.py ops/test_wrong_values.py"
    " runtime/code/test_arrays.py runtime/code/test_arrays_corners.py runtime/code/test_deterministic.py",
    "several passes together": "passes/test_loops.py passes/test_op_names.py passes/test_pinned.py"
    " passes/test_products.py passes/test_state_order.py",
    "several modules against TensorFlow's results": "library/tensor/test_search_golden.py"
    " library/testing/test_same_as_tensorflow.py library/testing/test_test_tools.py",
    "a feature of the library that several modules carry": "eager/test_variable.py library/control/test_state_flow.py"
    " library/control/test_tokens.py library/input/test_fullness.py library/tensor/test_unknown_rank.py",
    "what a running program shows of the runtime": "runtime/compiler/test_as_interpreted.py"
    " runtime/planning/test_hot_steps.py runtime/drive/test_loop_memory.py runtime/session/test_concurrent_steps.py"
    " runtime/session/test_freed.py runtime/session/test_reports.py",
    "tasks that talk to each other": "cluster/test_bytes.py cluster/test_cut.py"
    " cluster/test_cut_faults.py cluster/test_faults.py cluster/test_fence.py"
    " cluster/test_hooked_device.py cluster/test_namespaces.py cluster/test_partial_run.py"
    " cluster/test_primitives.py cluster/test_random_graphs.py"
    " cluster/test_shared_state.py cluster/test_short_steps.py"
    " cluster/test_replicated_training.py"
    " cluster/test_session_policy.py cluster/test_state_of_other_tasks.py cluster/test_synchronous_training.py"
    " cluster/test_trace.py cluster/test_watch.py"
    " cluster/test_two_moments.py cluster/test_wiring.py cluster/ray_engine/test_ray.py",
    "endpoints that talk to each other": "cluster/transport/test_dialing.py cluster/transport/test_failures.py"
    " cluster/transport/test_open.py cluster/transport/test_processes.py cluster/transport/test_strangers.py",
}
PATTERNS: Final = [pattern for patterns in EXCEPTIONS.values() for pattern in patterns.split()]
FILES: Final = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


def subject(file: Path) -> Path | None:
    """The module or room that a test file is named after: the longest name that its own begins with."""
    top, *rest = [*file.parts[:-1], ""]
    folder = HOMES.get(top, ROOT / "headrace" / top).joinpath(*rest[:-1]) if top else TESTS
    words = file.stem.removeprefix("test_").split("_")
    for count in range(len(words), 0, -1):
        name = "_".join(words[:count])
        for path in _places(folder, name):
            if path.exists():
                return path
        if name == folder.name:
            return folder
    return None


def _places(folder: Path, name: str) -> Iterator[Path]:
    yield folder / f"{name}.py"
    yield folder / name / "__init__.py"
    yield folder / f"_{name}.py"
    yield folder / f"{name}.md"
    yield folder / f"{name}.ipynb"


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_test_file_is_named_after_what_it_tests(file: Path) -> None:
    listed = any(fnmatch(str(file), pattern) for pattern in PATTERNS)
    found = subject(file)
    assert listed or found is not None, f"no module is named so; rename tests/{file}, or say why not in EXCEPTIONS"
    assert not listed or found is None, f"tests/{file} is named after {found}: take it out of EXCEPTIONS"


def test_every_exception_is_there() -> None:
    assert [pattern for pattern in PATTERNS if not any(fnmatch(str(file), pattern) for file in FILES)] == []


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("passes/test_place.py", "headrace/passes/place.py"), ("passes/test_place_bodies.py", "headrace/passes/place.py"),
        ("library/rnn/test_rnn_golden.py", "headrace/library/rnn"), ("passes/test_placed.py", None),
        ("benchmarks/test_harness.py", "benchmarks/_harness.py"), ("test_leaks.py", "tests/leaks.py"),
        ("library/train/test_optimizer_errors.py", "headrace/library/train/optimizer/__init__.py"),
    ],
)  # fmt: skip
def test_names(file: str, found: str | None) -> None:
    assert subject(Path(file)) == (None if found is None else ROOT / found)
