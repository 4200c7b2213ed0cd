"""The benchmark of whole programs: which checkout runs them, and how the table is made.  No times are compared."""

import json
from pathlib import Path

import pytest

from benchmarks import _harness, programs


@pytest.mark.usefixtures("full_length")
def test_a_commit_is_run_beside_in_a_checkout_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mlp.py").write_text("import headrace\nprint(headrace.__file__)\n")
    monkeypatch.setattr(programs, "FOLDER", tmp_path)
    programs.main(["--programs", "mlp", "--rounds", "1", "--before", "HEAD", "--out", str(tmp_path)])
    found = json.loads((tmp_path / "programs-before.json").read_text())
    says = found["programs"]["mlp"]["says"]
    before = Path(says.pop("headrace-before"))
    assert says == {"headrace": str(_harness.ROOT / "headrace" / "__init__.py")}
    assert before.parts[-2:] == ("headrace", "__init__.py") and "headrace-before-" in str(before)
    assert not before.exists() and found["before"] == "HEAD"
    assert "headrace-before" in capsys.readouterr().out


def test_the_ratio_is_of_the_first_to_the_last() -> None:
    seconds = {"mlp": 1.0, "gan": 4.0}
    entries = {name: {"seconds": {"headrace": [1.0, 9.0, 2.0], "headrace-before": [s]}} for name, s in seconds.items()}
    assert programs.rows(entries, ["headrace", "headrace-before"]) == [
        ["mlp", "2.0 s", "1.0 s", "2.00"],
        ["gan", "2.0 s", "4.0 s", "0.50"],
        ["geometric mean", "", "", "1.00"],
    ]
