"""The wheel: what is in it, and that it works in a fresh environment."""

import csv
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import prepared, release

PYTHONS = [sys.executable, *filter(None, os.environ.get("HEADRACE_TEST_PYTHONS", "").split(os.pathsep))]
"""Interpreters of environments that have the packages: that of the tests, and others that the variable names."""

TEXT = "See [docs](docs/README.md#index), ![speed](docs/speed.svg), [below](#speed) and [torch](https://pytorch.org)."


def test_links_of_the_readme_lead_to_the_address() -> None:
    assert release.absolute(TEXT, "https://host/v1") == (
        "See [docs](https://host/v1/docs/README.md#index), ![speed](https://host/v1/docs/speed.svg?raw=true), [below](#speed)"
        " and [torch](https://pytorch.org)."
    )


def test_without_an_address_no_link_is_broken() -> None:
    assert release.absolute(TEXT, "") == "See docs, , [below](#speed) and [torch](https://pytorch.org)."


def test_a_wheel_that_lacks_a_file_or_has_one_too_many_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "tracked", lambda: ["headrace/core/version.py", "headrace/py.typed", "docs/README.md"])
    wheel = tmp_path / "headrace-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("headrace-1.0.dist-info/METADATA", "Version: 1.0\n\n[docs](docs/README.md)")
        archive.writestr("headrace-1.0.dist-info/entry_points.txt", "[console_scripts]\n")
        archive.writestr("headrace/core/version.py", 'HEADRACE_VERSION: Final = "0.9"')
        archive.writestr("tests/leaks.py", "")
    assert list(release.problems(wheel, "1.0")) == [
        "headrace/py.typed is missing",
        "tests/leaks.py is not in the package",
        "there is no command headrace",
        "headrace/core/version.py does not say 1.0",
        "the link [docs](docs/README.md) leads nowhere outside the checkout",
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    assert release.main(["--into", str(folder), "--url", "https://host.example/headrace"]) == 0
    (found,) = folder.glob("*.whl")
    assert list(folder.glob("headrace-*.tar.gz"))
    return found


@pytest.mark.parametrize("lender", PYTHONS)
def test_the_wheel_works_in_a_fresh_environment(full_length: None, wheel: Path, lender: str, tmp_path: Path) -> None:
    """It trains, leaves an event file and a checkpoint, and the doctor is content."""
    python = prepared.make(tmp_path / "env", lender)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(
            [str(python.parent / command[0]), *command[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("python", "-m", "pip", "install", "--no-index", f"{wheel}[cluster]")
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    with open(next(packages.glob("headrace-*.dist-info")) / "RECORD", newline="") as file:
        outside = [row[0] for row in csv.reader(file) if row[0].startswith(("/", ".."))]
    assert outside == ["../../../bin/headrace"]
    assert (
        run("python", "-c", "import headrace; print(headrace.__file__)").strip() == f"{packages}/headrace/__init__.py"
    )
    assert "Test accuracy" in run("headrace", "demo", "--steps", "100", "--goal", "0.5", "--folder", "out")
    assert list((tmp_path / "out").glob("events.out.tfevents.*"))
    assert (tmp_path / "out" / "model.ckpt-100.meta").exists()
    assert "conv1" in run("headrace", "inspect", "out")
    told = json.loads(run("headrace", "doctor", "--json"))
    assert told["missing"] == {}
    assert [result["check"] for result in told["self_test"]] == ["training", "compiled", "checkpoint", "server"]
