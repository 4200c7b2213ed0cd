"""What the benchmarks share."""

import sys

from benchmarks import _harness


def test_bytecode_is_made_where_imports_write_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for package in ("headrace", "benchmarks"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    _harness.compile_bytecode(sys.executable, sys.executable, root=tmp_path)
    made = sorted(path.parent.parent.name for path in tmp_path.rglob("__pycache__/__init__.*.pyc"))
    assert made == ["benchmarks", "headrace"]
