"""headrace doctor: what it says of a machine, and what it says when something is wrong."""

import json
import re
from pathlib import Path

import pytest

from headrace.passes.cost.rates import USUAL
from headrace.tools import doctor
from headrace.tools.environment import OTHERS, VARIABLES

PACKAGE = Path(doctor.__file__).parents[1]
PAGE = PACKAGE.parent / "docs" / "environment.md"


def test_it_says_what_is_there_and_what_works(capsys, monkeypatch):
    monkeypatch.setitem(doctor.CHECKS, "compiled", lambda tf: "left out here: test_compile has it")
    assert doctor.examine() == 0
    printed = capsys.readouterr().out
    assert re.search(r"torch +\d", printed)
    assert re.search(r"CPU:0 +\d", printed)
    assert re.search(r"training +ok: 20 training steps", printed)
    assert re.search(r"server +ok: a server at grpc://", printed)


def test_a_check_that_fails_is_named_and_the_code_is_1(capsys, monkeypatch):
    def broken(tf):
        raise OSError("no room")

    monkeypatch.setattr(doctor, "CHECKS", {"checkpoint": broken})
    assert doctor.main(["--json"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["self_test"]
    assert result["check"] == "checkpoint"
    assert result["seen"] == "OSError: no room"


def test_what_was_measured_of_the_machine_is_shown_and_measured_anew_if_asked(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "code"))
    monkeypatch.setattr(doctor.calibrate, "_known", {})
    assert doctor.costs(False).keys() == {"not measured"}
    monkeypatch.setattr(doctor.calibrate, "measure", lambda threads: USUAL)
    shown = doctor.costs(True)
    assert shown["CPU"] == "100 G float32 (FLOP/s); 10.0 GB/s; 2.0 us a kernel"
    assert shown["GPU"].startswith("10 T float32, 100 T bfloat16")
    assert shown["bus"] == "20 us, 10.0 GB/s"
    assert doctor.costs(False) == shown


def test_settings_in_force_are_shown_and_a_misspelled_one_is_found():
    found = doctor.environment(
        {"HEADRACE_THREADS": "3", "HEADRACE_COMPIL": "off", "HEADRACE_CLUSTER_KEY": "secret", "HOME": "/x"}
    )
    assert found["HEADRACE_THREADS"] == "3"
    assert found["HEADRACE_COMPIL"] == "Headrace reads no such variable; did you mean HEADRACE_COMPILE?"
    assert found["HEADRACE_CLUSTER_KEY"] == "set"
    assert "HOME" not in found


def test_a_missing_package_comes_with_the_command(monkeypatch):
    requires = ["numpy>=2.0", "Pillow>=11", 'ray[default]>=2.52; extra == "cluster"', "pyzmq>=26; extra == 'cluster'"]
    monkeypatch.setattr(doctor.metadata, "requires", lambda package: [*requires, 'ruff>=0.11; extra == "dev"'])
    monkeypatch.setattr(doctor, "_version", lambda package: None if package in ("Pillow", "ray", "ruff") else "1.0")
    assert doctor.missing() == {
        "headrace": "needed: Pillow; pip install 'headrace'",
        "headrace[cluster]": "clusters: ray; pip install 'headrace[cluster]'",
    }


def test_the_table_has_every_variable_that_the_package_reads():
    read = set()
    for file in PACKAGE.rglob("*.py"):
        if "tools/environment.py" not in str(file):
            read |= set(re.findall(r"\bHEADRACE_[A-Z_]*[A-Z]\b", file.read_text()))
    assert read - {"HEADRACE_VERSION"} == set(VARIABLES)


@pytest.mark.parametrize("name", [*VARIABLES, *OTHERS])
def test_the_page_has_every_variable(name):
    assert f"| `{name}` | {(VARIABLES | OTHERS)[name]} |" in PAGE.read_text()
