"""The public names as pages of Markdown, one for each module that users import from: signature and docstring of every name.

What has several names is described under the shortest; the pages of the others say where.  Names of the system below the face
are not here.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import headrace
import headrace.extend
import headrace.simulate
import headrace.tensorflow

LEFT_OUT = {"tf.compat.v1", "tf.raw_ops", "tf.examples"}
"""TensorFlow 2's name for all this, ops without their Python, and data."""


class Name(NamedTuple):
    """A public name and what it stands for."""

    module: str
    name: str
    thing: Any

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def rank(self) -> tuple[bool, int, str]:
        """The lower of two is the one to describe the thing under."""
        return self.module.startswith("tf.contrib"), self.path.count("."), self.path


def modules(path: str, module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """The module and those below it, as users write them."""
    yield path, module
    for name in dir(module):
        below = getattr(module, name)
        inside = isinstance(below, ModuleType) and below.__name__ == f"headrace.{path}.{name}".replace(".tf.", ".")
        if (inside or f"{path}.{name}" == "tf.errors") and f"{path}.{name}" not in LEFT_OUT:
            yield from modules(f"{path}.{name}", below)


def names(path: str, module: ModuleType) -> Iterator[Name]:
    """The names of a module that are neither modules nor what it imports for its own use."""
    for name in dir(module):
        thing = getattr(module, name)
        origin = (getattr(thing, "__module__", None) or "").partition(".")[0]
        if not name.startswith("_") and not isinstance(thing, ModuleType) and origin not in ("typing", "collections"):
            yield Name(path, name, thing)


def signature(thing: Any) -> str:
    """The parameters without their types; ``(...)`` for what Python cannot say."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    text = str(found.replace(parameters=plain, return_annotation=found.empty))
    return re.sub(r"<(?:function|class|object)? ?'?([\w.]+)[^<>]*>", r"\1", text)


def markdown(doc: str | None) -> str:
    """A docstring as Markdown: examples become blocks, arguments a list, and double backticks are plain code."""
    text = re.sub(r"^Args:\n((?: +.*\n?)+)", lambda found: f"Args:\n\n{_listed(found[1])}", doc or "", flags=re.M)
    text = re.sub(
        r"(?:^>>> .*(?:\n(?!\n).*)*\n?)", lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text, flags=re.M
    )
    return text.strip()


def _listed(arguments: str) -> str:
    return re.sub(r"^  (\*{0,2}\w+(?:, \*{0,2}\w+)*): ", r"- `\1`: ", arguments, flags=re.M)


def entry(kind: str, title: str, doc: str | None, below: str = "") -> str:
    """The description of one name as a directive of Sphinx."""
    return f"`````{{py:{kind}}} {title}\n\n{markdown(doc)}\n{below}\n`````\n"


def members(cls: type) -> Iterator[str]:
    """The methods and properties that the class itself declares and describes."""
    for name, raw in vars(cls).items():
        thing = getattr(cls, name, None)
        if name.startswith("_") or not inspect.getdoc(thing):
            continue
        if isinstance(raw, property):
            yield entry("property", name, inspect.getdoc(raw)).replace("`````", "````")
        elif inspect.isroutine(thing):
            text = signature(thing)
            own = text if isinstance(raw, staticmethod | classmethod) else re.sub(r"^\(self(?:, )?", "(", text)
            yield entry("method", f"{name}{own}", inspect.getdoc(thing)).replace("`````", "````")


def describe(name: Name) -> str:
    thing = name.thing
    if inspect.isclass(thing):
        if hasattr(thing, "DESCRIPTOR"):
            return entry("class", name.path, "TensorFlow's protocol buffer of this name.")
        return entry("class", f"{name.path}{signature(thing)}", inspect.getdoc(thing), "\n".join(members(thing)))
    if callable(thing):
        return entry("function", f"{name.path}{signature(thing)}", inspect.getdoc(thing))
    return entry("data", name.path, f"`{thing!r}`" if len(repr(thing)) < 100 else "")


def page(path: str, module: ModuleType, homes: dict[int, Name]) -> str:
    """The page of a module: what is described here, and what is described elsewhere."""
    own, others = [], []
    for name in names(path, module):
        home = homes.get(id(name.thing), name)
        if home.path == name.path:
            own.append(describe(name))
        else:
            others.append(f"- `{name.path}`: {{py:obj}}`{home.path}`")
    text = f"# {path}\n\n{markdown(inspect.getdoc(module))}\n\n" + "\n".join(own)
    return text + ("\n## Described under another name\n\n" + "\n".join(others) + "\n" if others else "")


def summary(path: str, module: ModuleType) -> str:
    """The first line of the module's docstring, without its name."""
    return re.sub(rf"^`*{re.escape(path)}`*[:.] *", "", (inspect.getdoc(module) or "").partition("\n")[0])


def index(found: list[tuple[str, ModuleType]]) -> str:
    """The page that leads to the others."""
    lines = [f"- [{path}]({path}.md)" + (f": {text}" if (text := summary(path, m)) else "") for path, m in found]
    listed = "\n".join(path for path, _ in found)
    return (
        "# Public names\n\nEvery name that a program may use, by module, with its parameters and its docstring; `tf` is "
        "`import headrace as tf`. `tf.compat.v1` has the same names, and `tf.raw_ops` a function for each op.\n\n"
        f"{chr(10).join(lines)}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )


def write(folder: Path) -> None:
    """Writes the pages; one that has not changed is left alone, so that Sphinx need not read it again."""
    headrace.flags.FLAGS.mark_as_parsed()  # a look at it would read Sphinx's command line
    found = [*modules("tf", headrace)]
    for face in (headrace.extend, headrace.simulate):
        found += modules(face.__name__, face)
    found.append(("headrace.tensorflow", headrace.tensorflow))
    homes: dict[int, Name] = {}
    for path, module in found:
        for name in names(path, module):
            if callable(name.thing):
                homes[id(name.thing)] = min(name, homes.get(id(name.thing), name), key=lambda n: n.rank)
    pages = {path: page(path, module, homes) for path, module in found} | {"index": index(found)}
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in pages.items():
        file = folder / f"{path}.md"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
