"""The written pages: links lead somewhere, the features name real files, the README is short and its program runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WRITTEN = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/*.ipynb")]
PAGES = sorted([*ROOT.glob("*.md"), *WRITTEN, *ROOT.glob("examples/**/*.md")])
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_page_of_the_docs_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text()
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in WRITTEN]
    assert [page for page in pages if page != "README.md" and f"]({page})" not in index] == []


def test_features_and_speed_name_files_that_exist() -> None:
    for page in ("features", "speed"):
        named = re.findall(r"`((?:tests|benchmarks|examples)/[^`:]+)", (ROOT / f"docs/{page}.md").read_text())
        assert named
        assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 155


def test_the_readme_program_runs() -> None:
    program, _ = re.findall(
        r"```python\n(.*?)```", README, re.DOTALL
    )  # the second: tests/cluster/ray_engine/test_ray.py
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d*(?:e-?\d+)?", done.stdout)]
    assert numbers == pytest.approx([3.0, -2.0, 1.0], abs=0.01)
