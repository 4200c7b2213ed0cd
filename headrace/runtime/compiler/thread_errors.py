"""Errors in kernels for the CPU that run on several threads.

Torch's compiler writes checks of indices into its kernels.  A C++ exception that leaves a loop of OpenMP's ends the process, so
a user's bad index would.  Here the text of such a kernel is changed: each iteration catches its error, the first one is kept,
later loops are skipped, and the error is thrown when all threads are done.

Text without checks, and text of a form that this file does not know, stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

HEADER: Final = "#include <torch/csrc/inductor/cpp_prefix.h>"

_ERROR: Final = """
namespace {
class FirstError {  // of the threads of one parallel region
    std::exception_ptr error;
    std::atomic<int> place{std::numeric_limits<int>::max()};  // the number of the loop that failed

  public:
    // All threads get the same answer: each loop ends with a barrier, and no loop changes the answer for itself.
    bool none_before(int loop) const { return place.load(std::memory_order_relaxed) >= loop; }

    void keep(int loop) {
        int none = std::numeric_limits<int>::max();
        if (place.compare_exchange_strong(none, loop)) error = std::current_exception();
    }

    void rethrow() const {
        if (error) std::rethrow_exception(error);
    }
};
}
"""

_CHECK: Final = re.compile(r"\bTORCH_CHECK\(|\bAOTI_TORCH_CHECK\(")
_REGION: Final = re.compile(r"#pragma omp parallel(?: num_threads\(\w+\))?\n\s*(?=\{)")
_PRAGMA: Final = re.compile(r"#pragma\s+omp\b")
_SHARED: Final = re.compile(r"#pragma omp (?:for(?: collapse\((?P<depth>\d+)\))?|(?P<single>single))\n\s*")
_FOR: Final = re.compile(r"for\s*(?=\()")
_OPEN: Final = re.compile(r"\{\s*")
_SPACE: Final = re.compile(r"\s*")
_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|[{}()]', re.DOTALL)


class _UnknownForm(Exception):
    """The text is not what torch's compiler was seen to write."""


def carry_errors(source: str) -> str:
    """The text of a kernel in which a failed check throws an exception, on however many threads it runs."""
    if not _CHECK.search(source) or not _PRAGMA.search(source) or source.count(HEADER) != 1:
        return source
    try:
        text = _each_region(source)
    except _UnknownForm:
        return source
    return source if text == source else text.replace(HEADER, HEADER + "\n" + _ERROR)


def _each_region(source: str) -> str:
    parts, at = [], 0
    for pragma in _REGION.finditer(source):
        end = _end(source, pragma.end())
        region = source[pragma.end() : end]
        parts.append(source[at : pragma.start()])
        if _CHECK.search(region):
            region = _each_loop(region)
            parts.append(f"{{ FirstError first_error;\n{pragma[0]}{region}\nfirst_error.rethrow(); }}")
        else:
            parts.append(pragma[0] + region)
        at = end
    rest = source[at:]
    if any(_PRAGMA.search(outside) for outside in [*parts[::2], rest]):
        raise _UnknownForm
    return "".join([*parts, rest])


def _each_loop(region: str) -> str:
    """The text of a parallel region, in which no exception leaves what its threads share: loops and ``single`` blocks."""
    parts, outside, at = [], [], 0
    for number, pragma in enumerate(_SHARED.finditer(region)):
        start = _body(region, pragma.end(), 0 if pragma["single"] else int(pragma["depth"] or 1))
        end = _end(region, start)
        outside.append(region[at : pragma.start()])
        body = region[start:end]
        if _PRAGMA.search(body):
            raise _UnknownForm
        parts += [outside[-1], _guarded(region[pragma.start() : start], body, number)]
        at = end
    outside.append(region[at:])
    if any(_CHECK.search(text) or _PRAGMA.search(text) for text in outside):
        raise _UnknownForm
    return "".join([*parts, outside[-1]])


def _guarded(head: str, body: str, number: int) -> str:
    """A loop that does nothing after an error in an earlier one, and keeps its own.

    After its own error it goes on: to ask in each iteration made kernels up to 9 % slower, the rest costs 1 or 2 %.
    """
    if _CHECK.search(body):
        body = f"{{ try {body} catch (...) {{ first_error.keep({number}); }} }}"
    return f"if (first_error.none_before({number})) {{\n{head}{body}\n}}"


def _body(text: str, at: int, depth: int) -> int:
    """Where the block inside so many loops, one directly inside the other, begins."""
    for level in range(depth):
        if level:
            at = _after(_OPEN, text, at)
        at = _after(_SPACE, text, _end(text, _after(_FOR, text, at)))
    _after(_OPEN, text, at)
    return at


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    if match is None:
        raise _UnknownForm
    return match.end()


def _end(text: str, at: int) -> int:
    """The place behind the bracket that closes the one at ``at``."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += (token[0] in "{(") - (token[0] in "})")
        if depth == 0:
            return token.end()
    raise _UnknownForm
