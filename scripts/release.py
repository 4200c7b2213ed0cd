"""Builds what is published, the wheel and the source archive, into ``dist``, and checks the wheel.

    python scripts/release.py [--url https://host/headrace/blob/v0.1.0]

It builds in a copy of the files that git knows, so nothing else gets in.  On PyPI the README stands alone: its links lead to
``--url``, the place where people see the files of this version, or without one become plain text.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import sys; from setuptools import build_meta as b; to = sys.argv[1]; b.build_sdist(to); b.build_wheel(to)"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)")


def main(argv: Sequence[str] | None = None) -> int:
    """Builds and checks; returns 1 if the wheel is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", default="", help="where the files of this version are seen, for links in the README")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="the folder (default: dist)")
    options = parser.parse_args(argv)
    options.into.mkdir(parents=True, exist_ok=True)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with tempfile.TemporaryDirectory() as folder:
        copy(Path(folder))
        stand_alone(Path(folder), options.url)
        command = [sys.executable, "-c", BUILD, str(options.into.resolve())]
        built = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode:
        print(built.stdout, file=sys.stderr)
        return built.returncode
    wheel = options.into / f"headrace-{version}-py3-none-any.whl"
    wrong = list(problems(wheel, version))
    for path in (wheel, options.into / f"headrace-{version}.tar.gz"):
        print(f"{os.path.relpath(path)}: {path.stat().st_size / 1e6:.1f} MB")
    for line in wrong:
        print(f"wrong: {line}", file=sys.stderr)
    for line in before_publishing(version, options.url):
        print(f"before it is published: {line}")
    return 1 if wrong else 0


def tracked() -> list[str]:
    """The files of the checkout."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


def copy(to: Path) -> None:
    """Copies the checkout."""
    for name in tracked():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)


def stand_alone(checkout: Path, url: str) -> None:
    """Gives a copy of the checkout the README and the addresses that the package has."""
    readme = checkout / "README.md"
    readme.write_text(absolute(readme.read_text(), url))
    if url:
        addresses = {"Source": url, "Documentation": f"{url}/docs/README.md", "Changelog": f"{url}/CHANGELOG.md"}
        with open(checkout / "pyproject.toml", "a") as file:
            file.write("\n[project.urls]\n" + "".join(f'{name} = "{address}"\n' for name, address in addresses.items()))


def absolute(text: str, url: str) -> str:
    """The text with links to the address; without one, links become what they say and pictures go."""

    def link(found: re.Match[str]) -> str:
        picture, says, target = found.groups()
        if url:
            return f"{picture}[{says}]({url}/{target}{'?raw=true' if picture else ''})"
        return "" if picture else says

    return LINK.sub(link, text)


def problems(wheel: Path, version: str) -> Iterator[str]:
    """What is wrong with the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        information = f"headrace-{version}.dist-info"
        metadata = archive.read(f"{information}/METADATA").decode()
        commands = archive.read(f"{information}/entry_points.txt").decode()
        own_version = archive.read("headrace/core/version.py").decode()
    package = {name for name in tracked() if name.startswith("headrace/")}
    for name in sorted(package - names):
        yield f"{name} is missing"
    for name in sorted(names - package):
        if not name.startswith(f"{information}/"):
            yield f"{name} is not in the package"
    if "headrace = headrace.tools.cli:main" not in commands:
        yield "there is no command headrace"
    if f'"{version}"' not in own_version:
        yield f"headrace/core/version.py does not say {version}"
    for found in LINK.finditer(metadata):
        yield f"the link {found[0]} leads nowhere outside the checkout"


def before_publishing(version: str, url: str) -> Iterator[str]:
    """What a person still has to do."""
    if not url:
        yield "give --url (make release URL=...), or the README on PyPI has no links"
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text():
        yield f"the changelog has no section [{version}]: rename [Unreleased]"


if __name__ == "__main__":
    sys.exit(main())
