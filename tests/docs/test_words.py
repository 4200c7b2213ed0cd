"""The words of CONTRIBUTING's glossary have one meaning in names: each is at home in some modules, and others do not use it.

A name contains a word if it is one of its parts: ``find_regions`` and ``Region`` contain *region*.
"""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
HEADRACE: Final = ROOT / "headrace"
TENSORFLOW: Final = "TensorFlow's name"


@dataclass(frozen=True)
class Word:
    """Where a word of the glossary is at home: folders and modules.  ``elsewhere`` has a reason for each other module."""

    homes: str
    elsewhere: dict[str, str] = field(default_factory=dict)
    held: tuple[type[ast.AST], ...] = (ast.AST,)  # a common word: only names of these are held to it


WORDS: Final = {
    "record": Word(
        "core/record.py core/file_limits.py library/input/ library/text/ ops/decode.py ops/reader.py ops/record_input.py"
        " library/contrib/slim/ resources/file/event_file.py resources/state/reader/ resources/state/record_input.py"
        " resources/data/files.py library/data/readers.py library/data/tables.py ops/dataset/files.py tools/inspect.py",
        {
            "library/contrib/summary.py": TENSORFLOW,
            "library/train/hook/step_counter.py": TENSORFLOW,
            "library/estimator/tpu/estimator.py": TENSORFLOW,
            "runtime/code/script.py": "by a Recorder: a step with RunOptions.trace_level",
        },
    ),
    "region": Word(
        "passes/region.py ops/internal/region.py runtime/compiler/ runtime/drive/plans.py runtime/planning/ runtime/explain/",
        {
            f"cluster/transport/{name}.py": "of memory that tasks share"
            for name in ("bulk", "link", "message", "segments")
        },
    ),
    "kind": Word(
        "core/signature.py graph/attr_value.py graph/build.py graph/graph_def.py graph/import_node.py"
        " library/testing/numeric_gradient.py runtime/session/partition_graph.py",
        {
            "core/example.py": "Feature.kind",
            "tools/inspect.py": "Feature.kind",
            "ops/parsing.py": "Feature.kind",
            "library/train/saver/collection_def.py": "CollectionDef.kind",
            "library/state/variable_store.py": "inspect.Parameter.kind",
            "runtime/compiler/blocks.py": "torch's name",
            "cluster/connection.py": "of a device",
            "passes/cost/rates.py": "of a link",
            "cluster/ray_engine/cluster.py": "of a task",
        },
    ),  # fmt: skip
    "part": Word(
        "runtime/drive/plans.py runtime/planning/ runtime/session/ runtime/explain/ passes/partition/",
        held=(ast.ClassDef,),
    ),
    "trace": Word(
        "library/function/ library/data/function.py graph/graph.py runtime/compiler/ runtime/code/kernel_problems.py"
        " library/testing/opcheck.py",
        {
            **dict.fromkeys(
                "core/config.py library/contrib/slim_learning.py library/testing/benchmark.py"
                " library/linalg/linear_operator.py library/linalg/matrix.py library/testing/profiler/timeline.py"
                " library/testing/profiler/op_log.py"
                " library/train/hook/profiler.py library/train/session/wrapped_session.py".split(),
                TENSORFLOW,
            ),
            **dict.fromkeys(
                "cluster/remote.py cluster/request.py cluster/service.py cluster/step_traces.py cluster/trace_request.py"
                " runtime/session/partition_worker.py library/train/replica/replicas_hook.py"
                " library/testing/profiler/findings.py tools/cli.py tools/trace.py tools/trace_cluster.py tools/train.py".split(),
                "a step with RunOptions.trace_level",
            ),
        },
    ),
    "lower": Word(
        "passes/lower.py passes/pipeline.py runtime/planning/ runtime/compiler/",
        {
            "library/text/string.py": TENSORFLOW,
            "library/linalg/linear_operator.py": TENSORFLOW,
            "library/distribution/mixture.py": TENSORFLOW,
            "library/estimator/early_stopping.py": TENSORFLOW,
        },
        held=(ast.ClassDef, ast.FunctionDef),
    ),  # fmt: skip
    "lease": Word("resources/state/lease.py ops/lease.py library/train/"),
    "explain": Word("runtime/explain/ client/inspection.py tools/", {"cluster/remote.py": "an error, with its node"}),
    "strand": Word("passes/ runtime/ library/simulation/"),
    "stash": Word("autodiff/ graph/graph_def.py library/system/graph_util.py ops/stash.py passes/"),
    "tier": Word("runtime/"),
    "recipe": Word("eager/"),
    "tape": Word("eager/ graph/context.py library/function/ library/keras/ library/train/optimizer/optimizer.py"),
}


def parts(name: str) -> set[str]:
    """The words of a name, without the endings of plurals and participles."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
    return {
        form
        for word in words
        for form in (word, word.removesuffix("s"), word.removesuffix("ed"), word.removesuffix("es"))
    }


def names(tree: ast.AST) -> Iterator[tuple[str, type[ast.AST]]]:
    """The names that a module gives to things, each with the class of its node."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, type(node)
        elif isinstance(node, ast.arg):
            yield node.arg, ast.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, ast.Name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, ast.Attribute


EMPTY: Final = {"wanted", "held", "kept"}  # these say nothing of the thing


@functools.cache
def modules() -> dict[str, set[tuple[str, type[ast.AST]]]]:
    """The names in each module, with what they are names of."""
    return {
        path.relative_to(HEADRACE).as_posix(): set(names(ast.parse(path.read_text())))
        for path in HEADRACE.rglob("*.py")
    }


def users(word: str) -> dict[str, list[str]]:
    """The modules outside the word's homes that have names with it, and the names."""
    rule, found = WORDS[word], {}
    for module, listed in modules().items():
        if not module.startswith(tuple(rule.homes.split())):
            if used := sorted({n for n, node in listed if word in parts(n) and issubclass(node, rule.held)}):
                found[module] = used
    return found


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_used_where_it_is_at_home(word: str) -> None:
    found, elsewhere = users(word), WORDS[word].elsewhere
    assert {module: used for module, used in found.items() if module not in elsewhere} == {}
    assert [module for module in elsewhere if module not in found] == [], "take these out of the table"
    homes = WORDS[word].homes.split()
    assert [home for home in homes if not any(module.startswith(home) for module in modules())] == []


def test_every_word_is_in_the_glossary() -> None:
    glossary = (ROOT / "CONTRIBUTING.md").read_text()
    assert [word for word in WORDS if not re.search(rf"^\| (?:\w+, )*{word}\b[^|]*\|", glossary, re.MULTILINE)] == []


def test_a_name_says_what_the_thing_is() -> None:
    assert {m: bad for m, listed in modules().items() if (bad := EMPTY & {n for n, _ in listed})} == {}


def test_words_of_a_name() -> None:
    assert (
        {"find", "region"} <= parts("find_regions") and "part" in parts("_Part") and "trace" not in parts("_traceback")
    )
