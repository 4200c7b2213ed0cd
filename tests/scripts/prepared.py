"""A virtual environment that has everything but Headrace, made in seconds: another one lends its packages."""

import subprocess
import sys
from pathlib import Path

PLACES = "import sysconfig; print(sysconfig.get_path('purelib'), sysconfig.get_path('scripts'), sep='\\n')"


def make(folder: Path, lender: str = sys.executable) -> Path:
    """Makes it; returns its Python.  pip finds the lender's packages, and neither changes nor removes them."""
    asked = subprocess.run([lender, "-c", PLACES], check=True, capture_output=True, text=True)
    packages, scripts = asked.stdout.splitlines()
    subprocess.run([lender, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    own = next(folder.glob("lib/python*/site-packages"))
    (own / "lent.pth").write_text(f"{packages}\n")
    text = Path(scripts, "tensorboard").read_text().split("\n", 1)[1]
    (folder / "bin" / "tensorboard").write_text(f"#!{python}\n{text}")
    (folder / "bin" / "tensorboard").chmod(0o755)
    return python
