"""Running a program's main function (``tf.app.run``): the command line is read, main is called, the process exits.

absl's own ``app`` is not used: it brings absl's logging, which takes the flags ``log_dir``, ``verbosity`` and ``v`` from the
program and puts a handler on the root logger.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from headrace.library.system.flags import FLAGS, Error

_HELP = {"-h", "--h", "-help", "--help", "--helpshort", "-helpshort"}
_HELP_IN_FULL = {"--helpfull", "-helpfull"}


def usage(full: bool = False) -> str:
    """What ``--help`` prints."""
    main = sys.modules["__main__"]
    head = (main.__doc__ or "").strip() or f"       USAGE: {sys.argv[0]} [flags]"
    flags = FLAGS.get_help() if full else FLAGS.main_module_help() or FLAGS.get_help()
    return f"\n{head}\nflags:\n{flags}\n"


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Reads the flags, calls ``main(argv)`` with the arguments that are not flags, exits with what it returns.

    Unknown flags stay among the arguments.  `main` defaults to the main module's function of that name.
    """
    arguments = list(sys.argv if argv is None else argv)
    asked = _asked(arguments)
    if asked is not None:
        print(usage(full=asked in _HELP_IN_FULL))
        if asked not in _HELP_IN_FULL:
            print("Try --helpfull to get a list of all flags.")
        sys.exit(1)
    try:
        rest = FLAGS(arguments, known_only=True)
    except Error as error:
        message = f"FATAL Flags parsing error: {error}\nPass --helpshort or --helpfull to see help on flags."
        print(message, file=sys.stderr)
        sys.exit(1)
    main_function = main or getattr(sys.modules["__main__"], "main", None)
    if main_function is None:
        raise TypeError("app.run needs a main function: none was given, and the main module has none")
    sys.exit(main_function(rest))


def _asked(argv: Sequence[str]) -> str | None:
    """The argument that asks for help, if there is one before ``--`` and the program defines no such flag itself."""
    for argument in argv[1:]:
        if argument == "--":
            return None
        if argument in _HELP | _HELP_IN_FULL and argument.lstrip("-") not in FLAGS:
            return argument
    return None
