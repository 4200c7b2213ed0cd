"""How much of TensorFlow 1.15's interface Headrace has, by how many repositories use a name.

    python tests/api/figures.py             prints the figures
    python tests/api/figures.py --update    also rewrites docs/coverage.md and a line of the README

`tf1_api.tsv` lists the names that at least one of the public TF1 repositories surveyed uses, with the signatures of 1.15;
`tf1_names.txt` all public names, without the members of classes; `differences.tsv` the functions whose signature is not
TensorFlow's, each with its reason.
"""

from __future__ import annotations

import csv
import enum
import inspect
import math
import sys
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

import headrace as tf  # noqa: E402
from headrace.core.signature import REQUIRED  # noqa: E402
from headrace.tensorflow.gap import ADVICE, gap  # noqa: E402

NAMES = HERE / "tf1_names.txt"
DIFFERENCES = HERE / "differences.tsv"
PAGE = ROOT / "docs/coverage.md"
README = ROOT / "README.md"
MARKS = ("<!-- coverage: made by tests/api/figures.py -->\n", "<!-- end of coverage -->\n")
UPDATE = "python tests/api/figures.py --update"
THRESHOLDS = (10, 5, 2, 1)


class Symbol(NamedTuple):
    """One line of the table."""

    name: str
    kind: str
    signature: str
    repositories: int


def read(path: Path) -> list[list[str]]:
    """The lines of a table below its heading."""
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


def table() -> list[Symbol]:
    """Every name that some repository uses."""
    return [symbol for symbol in rows() if symbol.kind != "init"]


def rows() -> list[Symbol]:
    """The whole table: the names, and the constructors of the classes among them."""
    return [Symbol(name, kind, signature, int(count)) for name, kind, signature, count in read(HERE / "tf1_api.tsv")]


_nothing = object()


def find(name: str) -> Any:
    """What Headrace has under TensorFlow's name; `_nothing` if it has none."""
    found: Any = tf
    for part in name.split(".")[1:]:
        found = getattr(found, part, _nothing)
        if found is _nothing:
            return _nothing
    return found


def present(name: str) -> bool:
    """Whether Headrace has a name."""
    return name == "tf.newaxis" or find(name) is not _nothing


# ---- signatures


def expected_parameters(signature: str) -> list[tuple[str, str | None]]:
    """TensorFlow's parameters: name and default as text, None where there is none."""
    pieces: list[str] = []
    depth, current = 0, ""
    for letter in signature[1:-1]:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            pieces.append(current)
            current = ""
        else:
            current += letter
    pieces.append(current)
    found = []
    for piece in pieces:
        name, equals, default = piece.strip().partition("=")
        if name:
            found.append((name, default if equals else None))
        elif found and found[-1][1] == "":
            found[-1] = (found[-1][0], ",")  # a default that is a comma, which the table does not quote
    return found


def same_default(expected: str, ours: Any) -> bool:
    """Whether our default is the one TensorFlow's signature shows."""
    if expected.startswith("<function "):
        return getattr(ours, "__name__", None) == expected.split()[1]
    if expected.startswith("<"):
        known = expected.rpartition(".")[2].split()[0]
        return known == "object>" or "object object" in expected or type(ours).__name__ == known
    if isinstance(ours, tf.DType):
        return ours.name == expected
    if isinstance(ours, enum.Enum):
        return expected in (str(ours), f"{type(ours).__name__}.{ours.name}", str(ours.value))
    if isinstance(ours, (int, float)) and not isinstance(ours, bool):
        try:
            return math.isclose(float(expected), ours) or float(expected) == ours
        except ValueError:
            return False
    if isinstance(ours, tuple):
        return str(list(ours)) == expected or str(ours) == expected
    if isinstance(ours, str) and expected.endswith(f".{ours.upper()}"):
        return True  # an enumeration's member, by its value
    if isinstance(ours, type):
        return ours.__name__ == expected
    return str(ours) == expected


def parameters(function: Any) -> list[inspect.Parameter]:
    """What a function takes.  That of an op takes anything in Python's eyes; its signature says what."""
    op_def = getattr(function, "op_def", None)
    if op_def is None:
        return list(inspect.signature(function).parameters.values())
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    signature = op_def.signature
    return [
        *(inspect.Parameter(a.name, kind) for a in signature.inputs),
        *(
            inspect.Parameter(a.name, kind, default=empty if a.default is REQUIRED else a.default)
            for a in signature.attrs
        ),
        inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None),
    ]


def difference(symbol: Symbol) -> str:
    """What is not TensorFlow's in the signature of a name Headrace has; empty if all is."""
    function = find(symbol.name)
    try:
        ours = parameters(function)
    except (TypeError, ValueError):
        return ""
    named = [p for p in ours if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = {p.name: p for p in ours if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    any_keyword = any(p.kind == p.VAR_KEYWORD for p in ours)
    wanted = expected_parameters(symbol.signature)
    if any(name.startswith("*") for name, _ in wanted):
        return ""  # TensorFlow's says nothing
    for place, (name, default) in enumerate(wanted):
        if name not in by_name:
            if any_keyword and default is not None:
                continue
            return f"no argument {name!r}"
        if place < len(named) and named[place].name != name:
            return f"argument {place + 1} is {named[place].name!r}, not {name!r}"
        if default is not None:
            if by_name[name].default is inspect.Parameter.empty:
                return f"argument {name!r} has no default, not {default}"
            if not same_default(default, by_name[name].default):
                return f"the default of {name!r} is {by_name[name].default!r}, not {default}"
    extra = [p.name for p in by_name.values() if p.name not in dict(wanted) and p.default is inspect.Parameter.empty]
    return f"argument {extra[0]!r} must be given" if extra else ""


def differences() -> dict[str, str]:
    """Every name Headrace has whose signature is not TensorFlow's: name -> how."""
    compared = [symbol for symbol in rows() if symbol.signature and present(symbol.name)]
    return {symbol.name: found for symbol in compared if (found := difference(symbol))}


# ---- what is missing


def missing() -> list[str]:
    """Every public name of TensorFlow 1.15 that Headrace lacks."""
    names = {*NAMES.read_text(encoding="utf-8").split(), *(symbol.name for symbol in table())}
    return sorted(name for name in names if not present(name))


def listed(path: Path) -> dict[str, str]:
    """A list of names and reasons."""
    return {line[0]: line[-1] for line in read(path)} if path.exists() else {}


def figures() -> list[tuple[int, int, int]]:
    """For each threshold: how many names that many repositories use, and how many of those Headrace has."""
    found = []
    for at_least in THRESHOLDS:
        names = [symbol for symbol in table() if symbol.repositories >= at_least]
        found.append((at_least, sum(present(symbol.name) for symbol in names), len(names)))
    return found


def page() -> str:
    """docs/coverage.md."""
    lines = [
        "# How much of TensorFlow 1's interface is here",
        "",
        "Public names of TensorFlow 1.15, contrib included, by how many of the public TF1 repositories surveyed use them.",
        f"Made by `{UPDATE}`; `tests/api/` checks presence and signatures.",
        "",
        "| used by at least | present | of | share |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for at_least, count, total in figures():
        who = f"{at_least} repositories" if at_least > 1 else "1 repository"
        lines.append(f"| {who} | {count} | {total} | {100 * count / total:.0f} % |")
    lines += [
        "",
        "## Missing",
        "",
        "What to use today, and the names in whose place; asking for one of them says the same.",
        "",
    ]
    by_advice: dict[str, list[str]] = {}
    for name in missing():
        by_advice.setdefault(ADVICE.get(gap(name), ""), []).append(f"`{name}`")
    lines += [f"- **{advice}**: {', '.join(names)}" for advice, names in sorted(by_advice.items())]
    families = sorted({name for name in ADVICE if name.count(".") == 2 and name.startswith("tf.contrib.")})
    lines += ["", f"Of contrib these parts are not here: {', '.join(f'`{name}`' for name in families)}."]
    lines += ["", "## Signatures that are not TensorFlow's", ""]
    lines += [f"- `{name}`: {why}" for name, why in sorted(listed(DIFFERENCES).items())] or ["None."]
    return "\n".join(lines) + "\n"


def readme_lines() -> str:
    """The README's figures: one sentence."""
    shares = {at_least: f"{100 * count / total:.1f} %" for at_least, count, total in figures()}
    count, total = next((c, t) for at_least, c, t in figures() if at_least == 1)
    return (
        f"Of TensorFlow 1.15's public names, contrib included, {shares[5]} of those that five or more of the surveyed public\n"
        f"repositories use are here, {shares[2]} of those that two or more use, and {count} of the {total} that any uses\n"
        f"([coverage](docs/coverage.md) lists the rest, with what to use today).\n"
    )


def readme() -> str:
    """The README with its figures as they are now."""
    before, mark, rest = README.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not mark or not end:
        raise ValueError(f"{README} has no lines {MARKS}")
    return before + mark + readme_lines() + end + after


def update() -> None:
    """Rewrites what is generated."""
    PAGE.write_text(page(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")


def main(argv: list[str]) -> int:
    """The command."""
    if "--update" in argv:
        update()
    for at_least, count, total in figures():
        print(f"used by >= {at_least:2}: {count:4} of {total:4}  {100 * count / total:5.1f} %")
    unlisted = {name: how for name, how in differences().items() if name not in listed(DIFFERENCES)}
    for name, how in unlisted.items():
        print(f"signature: {name}: {how}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
