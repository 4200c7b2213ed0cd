"""Flags and app: what the command line gives, what is refused and how; TF1.15's answers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as tf
from headrace.library.system import flags

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


@pytest.fixture
def values() -> flags.FlagValues:
    made = flags.FlagValues()
    flags.DEFINE_string("s", "a", "text", flag_values=made)
    flags.DEFINE_integer("n", 3, "int", flag_values=made)
    flags.DEFINE_float("lr", 1, "float", flag_values=made)
    flags.DEFINE_bool("b", False, "bool", flag_values=made)
    flags.DEFINE_enum("e", "x", ["x", "y"], "enum", flag_values=made)
    flags.DEFINE_list("l", "a,b", "list", flag_values=made)
    flags.DEFINE_multi_string("ms", None, "many", flag_values=made)
    flags.DEFINE_multi_integer("mi", [1], "many", flag_values=made)
    flags.DEFINE_integer("least", None, "bounded", lower_bound=0, flag_values=made)
    return made


@pytest.mark.parametrize(
    ("args", "name", "value", "rest"),
    [
        (["--s=q", "rest"], "s", "q", ["rest"]),
        (["--s", "q"], "s", "q", []),
        (["-n=4"], "n", 4, []),
        (["--n", "0x10"], "n", 16, []),
        (["--lr=1e-3"], "lr", 0.001, []),
        ([], "lr", 1.0, []),
        (["--b"], "b", True, []),
        (["--b", "--nob"], "b", False, []),
        (["--b=T"], "b", True, []),
        (["--b", "false"], "b", True, ["false"]),
        (["--e=y"], "e", "y", []),
        ([], "l", ["a", "b"], []),
        (["--l=1, 2"], "l", ["1", "2"], []),
        (["--l="], "l", [], []),
        (["--ms=a", "--ms=b"], "ms", ["a", "b"], []),
        ([], "mi", [1], []),
        (["--mi=2", "--mi=3"], "mi", [2, 3], []),
        (["x", "--n=5"], "n", 5, ["x"]),
        (["--", "--n=5"], "n", 3, ["--n=5"]),
        (["--undefok=zork", "--zork=3"], "n", 3, []),
    ],
)
def test_values(values: flags.FlagValues, args: list[str], name: str, value: object, rest: list[str]) -> None:
    assert values(["prog", *args]) == ["prog", *rest]
    assert getattr(values, name) == value
    assert type(getattr(values, name)) is type(value)


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (["--n=1.5"], flags.IllegalFlagValueError, "flag --n=1.5: invalid literal for int"),
        (["--b=maybe"], flags.IllegalFlagValueError, "Non-boolean argument to boolean flag"),
        (["--e=z"], flags.IllegalFlagValueError, r"value should be one of <x\|y>"),
        (["--least=-1"], flags.IllegalFlagValueError, "-1 is not a non-negative integer"),
        (["--zork=1"], flags.UnrecognizedFlagError, "Unknown command line flag 'zork'"),
        (["--nos"], flags.UnrecognizedFlagError, "Unknown command line flag 'nos'"),
        (["--leest=1"], flags.UnrecognizedFlagError, "Did you mean: least"),
        (["--s"], flags.Error, "Missing value for flag --s"),
    ],
)
def test_refused(values: flags.FlagValues, args: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        values(["prog", *args])


def test_definitions_are_checked(values: flags.FlagValues) -> None:
    with pytest.raises(flags.DuplicateFlagError, match="'s' is defined twice.*Description from first occurrence: text"):
        flags.DEFINE_string("s", "", "again", flag_values=values)
    with pytest.raises(flags.IllegalFlagValueError, match="flag --k=1.5"):
        flags.DEFINE_integer("k", 1.5, "", flag_values=values)
    with pytest.raises(flags.IllegalFlagValueError, match="one of <x>"):
        flags.DEFINE_enum("k", "z", ["x"], "", flag_values=values)
    assert "k" not in values


def test_old_argument_names(values: flags.FlagValues) -> None:
    holder = flags.DEFINE_string(flag_name="old", default_value="d", docstring="h", flag_values=values)
    values.mark_as_parsed()
    assert (values.old, holder.value, values["old"].help) == ("d", "d", "h")


def test_the_command_line_is_read_when_first_asked(values: flags.FlagValues, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = flags._ReadingFlagValues(values)
    monkeypatch.setattr(sys, "argv", ["prog", "--n=8"])
    assert not reading.is_parsed()
    assert reading.n == 8
    assert reading.is_parsed()
    monkeypatch.setattr(sys, "argv", ["prog", "--zork"])
    reading.unparse_flags()
    with pytest.raises(flags.UnrecognizedFlagError, match="zork"):
        _ = reading.n


def test_flags_is_absls_with_old_doors(values: flags.FlagValues, monkeypatch: pytest.MonkeyPatch) -> None:
    """What programs for older releases do with FLAGS: `_parse_flags`, `__flags`, assignment before the command line is read."""
    monkeypatch.setattr(sys, "argv", ["prog", "--n=8", "--zork"])
    reading = flags._ReadingFlagValues(values)
    reading.lr = 0.5
    reading._parse_flags()
    assert (reading.lr, reading.flag_values_dict()["n"], len(reading), "n" in reading) == (0.5, 8, len(values), True)
    assert {name: flag.value for name, flag in getattr(reading, "__flags").items()}["n"] == 8
    assert sorted(reading) == sorted(values) and str(reading) == str(values) and "n" in dir(reading)
    reading["n"].value = 9
    del reading.s
    assert (reading.n, "s" in values) == (9, False)
    assert tf.flags.FLAGS is tf.app.flags.FLAGS is flags.FLAGS


def test_a_program_may_define_log_dir_and_verbosity() -> None:
    """absl's logging takes these names where it is imported, so it is not."""
    values = {"log_dir": "/tmp/x", "verbosity": 2, "v": 1}
    defined = "".join(f"tf.flags.DEFINE_{type(v).__name__[:3]}({k!r}, {v!r}, '')\n" for k, v in values.items())
    defined = defined.replace("DEFINE_int", "DEFINE_integer").replace("DEFINE_str", "DEFINE_string")
    program = f"import headrace as tf\n{defined}print([getattr(tf.flags.FLAGS, k) for k in {list(values)}])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, env=ENVIRONMENT)
    assert done.stdout == f"{list(values.values())}\n", done.stderr


def test_without_absl_the_error_says_what_to_install() -> None:
    program = "import sys; sys.modules['absl'] = None; import headrace as tf; tf.flags.DEFINE_string('a', '', '')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, env=ENVIRONMENT)
    assert "ImportError: tf.flags and tf.app need absl: pip install absl-py" in done.stderr


def test_assignment_and_the_flags_themselves(values: flags.FlagValues) -> None:
    values(["prog"])
    assert values["n"].using_default_value
    values.n = 17
    assert (values.n, values["n"].default, values["n"].present, values["n"].using_default_value) == (17, 3, 0, False)
    values.set_default("n", 5)
    values.set_default("s", "new")
    assert (values.n, values.s) == (17, "new")
    assert values.flag_values_dict()["n"] == 17
    assert "n" in values and "zork" not in values
    with pytest.raises(AttributeError, match="zork"):
        _ = values.zork
    with pytest.raises(flags.UnrecognizedFlagError, match="zork"):
        values.zork = 1
    del values.n
    assert "n" not in list(values)


def test_validators(values: flags.FlagValues) -> None:
    flags.register_validator("lr", lambda v: v > 0, message="must be positive", flag_values=values)
    flags.mark_flag_as_required("least", flag_values=values)
    with pytest.raises(
        flags.IllegalFlagValueError, match="flag --least=None: Flag --least must have a value other than None"
    ):
        values(["prog"])
    with pytest.raises(flags.IllegalFlagValueError, match="flag --lr=-1.0: must be positive"):
        values(["prog", "--least=1", "--lr=-1"])
    values(["prog", "--least=1", "--lr=2"])
    with pytest.raises(flags.IllegalFlagValueError, match="must be positive"):
        values.lr = -2.0
    assert values.lr == 2.0


def test_a_flag_file(values: flags.FlagValues, tmp_path: Path) -> None:
    (tmp_path / "flags").write_text("# a comment\n--n=9\n\n--b\n")
    values(["prog", f"--flagfile={tmp_path / 'flags'}", "rest"])
    assert (values.n, values.b) == (9, True)


def test_help_names_every_flag(values: flags.FlagValues) -> None:
    text = str(values)
    assert "--[no]b: bool\n    (default: 'false')" in text
    assert "--e: <x|y>: enum" in text
    assert "(a non-negative integer)" in text


PROGRAM = """
import headrace as tf
tf.app.flags.DEFINE_integer('n', 3, 'The number.')
def main(argv):
    print(argv[1:], tf.flags.FLAGS.n)
    return 3
if __name__ == '__main__':
    tf.app.run()
"""


@pytest.mark.parametrize(
    ("args", "status", "stdout", "stderr"),
    [
        (["--n=5", "--zork=1", "rest"], 3, "['--zork=1', 'rest'] 5\n", ""),
        (["--n=abc"], 1, "", "FATAL Flags parsing error: flag --n=abc"),
        (["--help"], 1, "--n: The number.", ""),
    ],
)
def test_app(tmp_path: Path, args: list[str], status: int, stdout: str, stderr: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, script, *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=ENVIRONMENT)
    assert done.returncode == status, done.stderr
    assert stdout in done.stdout
    assert stderr in done.stderr
