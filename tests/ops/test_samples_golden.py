"""Every op's samples against what real TensorFlow made of them: values, dtypes, shapes, errors and gradients.

TensorFlow is not needed: its results are in tests/golden/sample_results, made by tests/golden/make_samples.py.
"""

import pytest
from conformance.call import blank, compare, precision, run
from conformance.differences import read, unlisted
from conformance.wire import digest
from golden import sample_results

from headrace.core.registry import REGISTRY
from headrace.library.testing.opcheck import Sample

SAMPLES = {(f, n): s for f in sample_results.FAMILIES for n, s in sample_results.samples(f).items()}
KNOWN = read()
DEFAULT = Sample().rtol


@pytest.fixture(scope="module")
def kept():
    return {family: sample_results.load(sample_results.FOLDER, family) for family in sample_results.FAMILIES}


def problems(name, sample, call, theirs):
    ours = run(call)
    if sample_results.random(name, sample):
        ours = blank(ours)
    rtol = max(precision(call), sample.rtol if sample.rtol != DEFAULT else 0.0)
    return unlisted(call, compare(ours, theirs, rtol=rtol), KNOWN)


@pytest.mark.parametrize(("family", "name"), sorted(SAMPLES))
def test_op_gives_what_tensorflow_gives(kept, family, name):
    entries = kept[family].get(name)
    assert entries is not None, (
        f"no results of TensorFlow for {name}; run {sample_results.UPDATE}. An op that TensorFlow lacks, or that cannot be "
        "called by itself, is listed in NOT_COMPARED of tests/golden/sample_results.py with the reason"
    )
    given = list(sample_results.calls(name, SAMPLES[family, name]))
    stale = [c is not None and e["call"] != digest(c) for (_, c), e in zip(given, entries, strict=False)]
    assert len(given) == len(entries) and not any(stale), (
        f"the samples of {name} have changed; run {sample_results.UPDATE}"
    )
    found = [
        f"sample {i} {sample.note}: {problem}"
        for i, ((sample, call), entry) in enumerate(zip(given, entries, strict=True))
        if call is not None
        for problem in problems(name, sample, call, entry["result"])
    ]
    assert not found, "\n".join(found)


def test_results_are_kept_for_what_is_sampled_only(kept):
    extra = [(f, n) for f, ops in kept.items() for n in ops if (f, n) not in SAMPLES]
    assert not extra, f"results without samples; run {sample_results.UPDATE}"


@pytest.mark.parametrize("name", sorted(sample_results.NOT_COMPARED))
def test_exceptions_are_still_needed(name):
    assert name in REGISTRY and sample_results.NOT_COMPARED[name]
