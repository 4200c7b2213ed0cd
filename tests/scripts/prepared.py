"""A virtual environment in which everything but Headrace is installed already, made in seconds: that of the tests, lent to it."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SCRIPTS = Path(sysconfig.get_path("scripts"))
PACKAGES = sysconfig.get_path("purelib")


def make(folder: Path) -> Path:
    """Makes it; returns its Python.  pip finds the packages of the tests' environment, and neither changes nor removes them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    own = next(folder.glob("lib/python*/site-packages"))
    (own / "lent.pth").write_text(f"{PACKAGES}\n")
    script = (SCRIPTS / "tensorboard").read_text().split("\n", 1)[1]
    (folder / "bin" / "tensorboard").write_text(f"#!{python}\n{script}")
    (folder / "bin" / "tensorboard").chmod(0o755)
    return python


def copy_checkout(to: Path) -> None:
    """The files that a clone would have, uncommitted changes included."""
    root = Path(__file__).parents[2]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, check=True, capture_output=True
    )  # fmt: skip
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).exists():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
