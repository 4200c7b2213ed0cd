"""Running a program: TF1's ``tf.app``.  absl, which reads the command line, is imported when a program runs."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from headrace import flags as flags


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Reads the flags, calls ``main(argv)`` with the arguments that are not flags, exits with what it returns.

    Args:
      main: The function to call; None for the function ``main`` of the program.
      argv: The command line, with the name of the program first; None for ``sys.argv``.

    Returns:
      Nothing: the process exits.

    Example: ``if __name__ == "__main__": tf.app.run(main)``
    """
    from headrace.library.system import app

    app.run(main, argv)
