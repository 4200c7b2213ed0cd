"""What `help` of public names lacks: ``python tests/api/help_gaps.py headrace.library.numeric`` lists it for a folder or file."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

ENTRY = re.compile(r"^  (\*{0,2}\w+(?:, \*{0,2}\w+)*): \S")


def gaps(names: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The module, the public name and what is missing, for each thing once."""
    seen = set()
    for name, value in names.items():
        if id(value) in seen or _says_enough_by_itself(value):
            continue
        seen.add(id(value))
        lacks = list(missing(value))
        if lacks:
            yield str(getattr(value, "__module__", "")), name, "; ".join(lacks)


def missing(value: Any) -> Iterator[str]:
    """The parts that the docstring of a function or class does not have."""
    text = inspect.getdoc(value) or ""
    expected = [p.name for p in inspect.signature(value).parameters.values()]
    told = arguments(text)
    if expected and told != expected:
        yield f"Args has {told}, not {expected}" if told else f"Args: {', '.join(expected)}"
    if not inspect.isclass(value) and "\nReturns:\n" not in text and not _returns_nothing(value):
        yield "Returns"
    if ">>> " not in text and "Example: " not in text:
        yield "an example"


def arguments(text: str) -> list[str]:
    """The names in the section ``Args:`` of a docstring, in their order."""
    _, found, rest = text.partition("\nArgs:\n")
    if not found:
        return []
    section = rest.partition("\n\n")[0]
    told = [match[1] for line in section.splitlines() if (match := ENTRY.match(line))]
    return [name.lstrip("*") for names in told for name in names.split(", ")]


def _returns_nothing(value: Any) -> bool:
    return getattr(value, "__annotations__", {}).get("return", "") in ("None", None)


def _says_enough_by_itself(value: Any) -> bool:
    """Errors, whose arguments are the same for all, and named tuples, which show their fields."""
    return inspect.isclass(value) and (issubclass(value, BaseException) or hasattr(value, "_fields"))


if __name__ == "__main__":
    from tests.api.test_introspection import NAMES, is_own

    prefixes = tuple(sys.argv[1:]) or ("",)
    lines = [one for one in gaps({n: v for n, v in NAMES.items() if is_own(v)}) if one[0].startswith(prefixes)]
    for module, name, lacks in sorted(lines):
        print(f"{module}  {name}  {lacks}")
    print(len(lines))
