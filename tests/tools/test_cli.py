"""The command line: every command has its help with an example, and versions are said."""

import json
import re

import pytest
import typer
from typer.testing import CliRunner

from headrace.tools import cli

APP = cli.build(typer)
COMMANDS = [command.name or command.callback.__name__ for command in APP.registered_commands]


def run(*arguments):
    return CliRunner().invoke(APP, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name):
    result = run(name, "--help")
    assert result.exit_code == 0
    assert f"Example: headrace {name}" in result.output
    assert not re.search(r"<(bool|str|int|float|list|Path)\b", result.output), "Python's types"


@pytest.mark.parametrize("asked", ["--version", "version"])
def test_the_version(asked):
    result = run(asked)
    assert result.exit_code == 0
    assert result.output.startswith("headrace ")
    assert "torch" in result.output


def test_the_versions_as_json():
    assert {"headrace", "torch", "python"} <= json.loads(run("version", "--json").output).keys()


def test_an_unknown_command_is_an_error():
    result = run("trian")
    assert result.exit_code == 2
    assert "No such command 'trian'" in result.output


def test_the_demo_takes_its_own_options():
    for wrong in ("0", "many"):
        result = run("demo", "--steps", wrong)  # argparse refuses it
        assert (
            result.exit_code == 2
            and f"headrace demo: error: argument --steps: expected a positive number, got '{wrong}'" in result.output
        )
    assert "[--steps N]" in run("demo", "--help").output
