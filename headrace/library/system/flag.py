"""One command-line flag: its name, default and value, and how text becomes a value of its type.

Knows nothing of the command line itself; `headrace.library.system.flags` holds the flags together and parses.
"""

from __future__ import annotations

import csv
import enum
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any


class Error(Exception):
    """What is wrong with a flag, its value or the command line."""


class DuplicateFlagError(Error):
    """A flag of that name exists already."""


class IllegalFlagValueError(Error):
    """The value is not of the flag's type, or a validator refused it."""


class UnrecognizedFlagError(Error):
    """The command line names a flag nobody defined."""

    def __init__(self, flagname: str, flagvalue: str = "", suggestions: Sequence[str] = ()) -> None:
        self.flagname = flagname
        self.flagvalue = flagvalue
        hint = f". Did you mean: {', '.join(suggestions)} ?" if suggestions else ""
        super().__init__(f"Unknown command line flag '{flagname}'{hint}")


class UnparsedFlagAccessError(Error):
    """A value was asked for before the command line was read."""


class ValidationError(Error):
    """A validator refused the values."""


class ArgumentParser:
    """Turns text, or a default given as a value, into a flag's value; ValueError or TypeError when it cannot be."""

    syntactic_help = ""

    def parse(self, argument: Any) -> Any:
        """The value of `argument`: text as it is."""
        if not isinstance(argument, str):
            raise TypeError(f"flag value must be a string, found {type(argument)!r}")
        return argument

    def serialize(self, value: Any) -> str:
        """The text that parses into `value`."""
        return str(value)


class NumberParser(ArgumentParser):
    """Numbers between two bounds, either of which may be None."""

    kind = "number"

    def __init__(self, lower_bound: float | None = None, upper_bound: float | None = None) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    @property
    def syntactic_help(self) -> str:  # type: ignore[override]
        """What the help says of the type."""
        low, high = self.lower_bound, self.upper_bound
        article = "an" if self.kind[0] in "aeiou" else "a"
        if low == 0 and high is None:
            return f"a non-negative {self.kind}"
        if low == 1 and high is None:
            return f"a positive {self.kind}"
        if low is not None and high is not None:
            return f"{article} {self.kind} in the range [{low}, {high}]"
        if low is not None:
            return f"{article} {self.kind} >= {low}"
        return f"{article} {self.kind}" if high is None else f"{article} {self.kind} <= {high}"

    def convert(self, argument: Any) -> Any:
        """The number, whatever its size."""
        if isinstance(argument, bool) or not isinstance(argument, (int, float, str)):
            raise TypeError(f"Expect argument to be a string, int, or float, found {type(argument)!r}")
        return float(argument)

    def parse(self, argument: Any) -> Any:
        """The number, if it lies within the bounds."""
        value = self.convert(argument)
        low, high = self.lower_bound, self.upper_bound
        if (low is not None and value < low) or (high is not None and value > high):
            raise ValueError(f"{value} is not {self.syntactic_help}")
        return value


class FloatParser(NumberParser):
    """Floating-point numbers."""


class IntegerParser(NumberParser):
    """Whole numbers, decimal or written 0x... or 0o... ."""

    kind = "integer"

    def convert(self, argument: Any) -> int:
        """The number, whatever its size."""
        if isinstance(argument, bool) or not isinstance(argument, (int, str)):
            raise TypeError(f"Expect argument to be a string or int, found {type(argument)!r}")
        if not isinstance(argument, str):
            return argument
        digits = argument.strip().lstrip("-").lower()
        return int(argument, 16 if digits.startswith("0x") else 8 if digits.startswith("0o") else 10)


class BooleanParser(ArgumentParser):
    """true, t, 1 and false, f, 0."""

    def parse(self, argument: Any) -> bool:
        """The truth value."""
        if isinstance(argument, str):
            if argument.lower() in ("true", "t", "1"):
                return True
            if argument.lower() in ("false", "f", "0"):
                return False
            raise ValueError("Non-boolean argument to boolean flag", argument)
        if argument in (0, 1):
            return bool(argument)
        raise TypeError("Non-boolean argument to boolean flag", argument)

    def serialize(self, value: Any) -> str:
        """The text that parses into `value`."""
        return "true" if value else "false"


class EnumParser(ArgumentParser):
    """One of some texts."""

    def __init__(self, enum_values: Iterable[str], case_sensitive: bool = True) -> None:
        self.enum_values = list(enum_values)
        if not self.enum_values:
            raise ValueError("enum_values cannot be empty")
        self.case_sensitive = case_sensitive

    def parse(self, argument: Any) -> str:
        """The text, as it is spelt among those accepted."""
        for accepted in self.enum_values:
            if argument == accepted or (not self.case_sensitive and str(argument).lower() == accepted.lower()):
                return accepted
        raise ValueError(f"value should be one of <{'|'.join(self.enum_values)}>")


class EnumClassParser(ArgumentParser):
    """One of the members of an enumeration, by name."""

    def __init__(self, enum_class: type[enum.Enum], case_sensitive: bool = True) -> None:
        if not isinstance(enum_class, type) or not issubclass(enum_class, enum.Enum) or not enum_class.__members__:
            raise TypeError(f"{enum_class} is not an enumeration with members")
        self.enum_class, self.case_sensitive = enum_class, case_sensitive

    def parse(self, argument: Any) -> enum.Enum:
        """The member."""
        if isinstance(argument, self.enum_class):
            return argument
        for name, member in self.enum_class.__members__.items():
            if name == argument or (not self.case_sensitive and name.lower() == str(argument).lower()):
                return member
        raise ValueError(f"value should be one of <{'|'.join(self.enum_class.__members__)}>")

    def serialize(self, value: Any) -> str:
        """The member's name."""
        return str(value.name)


class ListParser(ArgumentParser):
    """Texts separated by commas; a quoted one may hold commas."""

    syntactic_help = "a comma separated list"

    def parse(self, argument: Any) -> list[str]:
        """The texts."""
        if isinstance(argument, list):
            return argument
        if not argument:
            return []
        return [text.strip() for text in next(csv.reader([argument], strict=True))]

    def serialize(self, value: Any) -> str:
        """The text that parses into `value`."""
        written = io.StringIO()
        csv.writer(written).writerow([str(text) for text in value])
        return written.getvalue().strip()


class WhitespaceSeparatedListParser(ListParser):
    """Texts separated by white space, or by commas too."""

    syntactic_help = "a whitespace separated list"

    def __init__(self, comma_compat: bool = False) -> None:
        self.comma_compat = comma_compat

    def parse(self, argument: Any) -> list[str]:
        """The texts."""
        if isinstance(argument, list):
            return argument
        return (argument.replace(",", " ") if self.comma_compat else argument or "").split()

    def serialize(self, value: Any) -> str:
        """The text that parses into `value`."""
        return " ".join(str(text) for text in value)


class Flag:
    """A flag: `value` is what the command line or the program set, else the default.

    `present` counts how often the command line named it; `using_default_value` tells whether anything set it.
    """

    boolean = False

    def __init__(
        self, parser: ArgumentParser, serializer: Any, name: str, default: Any, help: str | None,
        short_name: str | None = None, module: str = "",
    ) -> None:  # fmt: skip
        self.name, self.short_name = name, short_name
        self.parser, self.help, self.module = parser, help or "(no help available)", module
        self.serializer = serializer
        self.validators: list[tuple[Callable[[Any], Any], str]] = []
        self.present = 0
        self.using_default_value = True
        self.value: Any = None
        self._set_default(default)

    def _set_default(self, default: Any) -> None:
        self.default = None if default is None else self._parsed(default)
        if self.using_default_value:
            self.value = self.default

    @property
    def default_as_str(self) -> str | None:
        """The default, as the command line would give it."""
        return None if self.default is None else self.parser.serialize(self.default)

    def _parsed(self, argument: Any) -> Any:
        try:
            return self.parser.parse(argument)
        except (TypeError, ValueError, csv.Error) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={argument}: {error}") from None

    def parse(self, argument: Any) -> None:
        """Takes a value from the command line."""
        self.value = self._parsed(argument)
        self.present += 1
        self.using_default_value = False

    def unparse(self) -> None:
        """Forgets what the command line said."""
        self.value, self.present, self.using_default_value = self.default, 0, True

    def assign(self, value: Any) -> None:
        """Takes a value from the program, as it is, if the validators accept it."""
        before = self.value
        self.value = value
        try:
            self.validate()
        except Error:
            self.value = before
            raise
        self.using_default_value = False

    def validate(self) -> None:
        """Raises IllegalFlagValueError with a validator's message if one refuses the value."""
        for check, message in self.validators:
            try:
                accepted = check(self.value)
            except ValidationError as error:
                accepted, message = False, str(error)
            if not accepted:
                raise IllegalFlagValueError(f"flag --{self.name}={self.value}: {message}")

    def flag_type(self) -> str:
        """The name of the type, for help."""
        return type(self.parser).__name__.removesuffix("Parser").lower() or "string"


class BooleanFlag(Flag):
    """A flag that needs no value (``--shuffle``) and has an opposite (``--noshuffle``)."""

    boolean = True


class MultiFlag(Flag):
    """A flag that may be given several times; its value is the list."""

    def _parsed(self, argument: Any) -> Any:
        given = argument if isinstance(argument, (list, tuple)) else [argument]
        return [Flag._parsed(self, one) for one in given]

    def parse(self, argument: Any) -> None:
        """Takes one more value from the command line; the first replaces the default."""
        new = self._parsed(argument)
        self.value = self.value + new if self.present else new
        self.present += 1
        self.using_default_value = False

    @property
    def default_as_str(self) -> str | None:
        """The default, for help."""
        return None if self.default is None else str(self.default)


class FlagHolder:
    """What a DEFINE function returns: the flag's value, read when asked."""

    def __init__(self, flag_values: Any, flag: Flag) -> None:
        self._flag_values, self._flag = flag_values, flag

    @property
    def name(self) -> str:
        """The flag's name."""
        return self._flag.name

    @property
    def value(self) -> Any:
        """The flag's value; reads the command line if that has not been done."""
        return getattr(self._flag_values, self._flag.name)

    @property
    def default(self) -> Any:
        """The flag's default."""
        return self._flag.default

    @property
    def present(self) -> bool:
        """Whether the command line names the flag."""
        return bool(self._flag.present)
