"""The command line's flags (``tf.flags``): definitions, and `FLAGS`, which reads ``sys.argv`` when a value is first asked for.

Accepted are ``--name=value``, ``--name value``, one dash for two, ``--bool`` and ``--nobool``, flags after other arguments,
``--`` to end the flags, ``--flagfile=path`` and ``--undefok=names``.  An unknown flag is an error when a value is first
asked for, and is left to ``main`` under ``tf.app.run``, as in TF1.
"""

from __future__ import annotations

import difflib
import enum
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from headrace.library.system import flag as kinds
from headrace.library.system.flag import DuplicateFlagError, Error, Flag, FlagHolder, UnrecognizedFlagError


class FlagValues:
    """Flags by name; an attribute is a flag's value.

    Not safe for use by several threads until the command line has been read.
    """

    def __init__(self) -> None:
        self.__dict__.update({"__flags": {}, "__parsed": False, "__groups": []})

    # ---- flags by name

    def _flags(self) -> dict[str, Flag]:
        flags: dict[str, Flag] = self.__dict__["__flags"]
        return flags

    def __getitem__(self, name: str) -> Flag:
        return self._flags()[name]

    def __setitem__(self, name: str, flag: Flag) -> None:
        for known in filter(None, (name, flag.short_name)):
            if known in self._flags():
                first = self._flags()[known]
                raise DuplicateFlagError(
                    f"The flag '{known}' is defined twice. First from {first.module}, second from {flag.module}. "
                    f"Description from first occurrence: {first.help}"
                )
            self._flags()[known] = flag

    def __contains__(self, name: object) -> bool:
        return name in self._flags()

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags())

    def __len__(self) -> int:
        return len(self._flags())

    def __dir__(self) -> list[str]:
        return sorted(self._flags())

    def __getattr__(self, name: str) -> Any:
        if name not in self._flags():
            near = difflib.get_close_matches(name, self._flags(), 3)
            raise AttributeError(name + (f" is not a flag; there are: {', '.join(near)}" if near else ""))
        if not self.is_parsed():
            self(sys.argv)
        return self._flags()[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._flags():
            raise UnrecognizedFlagError(name, value, difflib.get_close_matches(name, self._flags(), 3))
        self._flags()[name].assign(value)

    def __delattr__(self, name: str) -> None:
        if name not in self._flags():
            raise AttributeError(name)
        flag = self._flags()[name]
        for known in [known for known, other in self._flags().items() if other is flag]:
            del self._flags()[known]

    def flag_values_dict(self) -> dict[str, Any]:
        """Every flag's value by name."""
        return {name: flag.value for name, flag in self._flags().items()}

    def set_default(self, name: str, value: Any) -> None:
        """Changes a flag's default."""
        if name not in self._flags():
            raise UnrecognizedFlagError(name, value)
        self._flags()[name]._set_default(value)

    def get_flag_value(self, name: str, default: Any) -> Any:
        """A flag's value; `default` if it is None or there is no such flag."""
        value = getattr(self, name) if name in self else None
        return default if value is None else value

    def append_flag_values(self, flag_values: FlagValues) -> None:
        """Takes over another object's flags."""
        for name, flag in flag_values._flags().items():
            if name == flag.name:
                self[name] = flag

    def remove_flag_values(self, flag_values: Iterable[str]) -> None:
        """Drops flags."""
        for name in list(flag_values):
            delattr(self, name)

    # ---- the command line

    def is_parsed(self) -> bool:
        """Whether the command line has been read."""
        return bool(self.__dict__["__parsed"])

    def mark_as_parsed(self) -> None:
        """Keeps the command line from being read: the values are the defaults and what the program sets."""
        self.__dict__["__parsed"] = True

    def unparse_flags(self) -> None:
        """Forgets what the command line said."""
        for flag in self._flags().values():
            flag.unparse()
        self.__dict__["__parsed"] = False

    def _parse_flags(self, args: Sequence[str] | None = None) -> None:
        """TF1's old way to read the command line; unknown flags were no error."""
        self([sys.argv[0] if sys.argv else "", *(sys.argv[1:] if args is None else args)], known_only=True)

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Reads a command line; gives back the program's name and the arguments that are not flags.

        With `known_only`, unknown flags are among what is given back; otherwise they raise UnrecognizedFlagError.
        """
        if isinstance(argv, (str, bytes)) or not argv:
            raise TypeError(f"argv should be a tuple/list of strings that starts with the program's name, got {argv!r}")
        unknown, rest = self._read(list(argv[1:]), known_only)
        if unknown:
            name, value = unknown[0]
            raise UnrecognizedFlagError(name, value, difflib.get_close_matches(name, self._flags(), 3))
        self.mark_as_parsed()
        self.validate_all_flags()
        return [argv[0], *rest]

    def _read(self, args: list[str], known_only: bool) -> tuple[list[tuple[str, str]], list[str]]:
        """-> unknown flags as (name, argument), arguments that are not flags."""
        unknown: list[tuple[str, str]] = []
        rest: list[str] = []
        excused: set[str] = set()
        while args:
            argument = args.pop(0)
            if not argument.startswith("-") or argument == "-":
                rest.append(argument)
                continue
            if argument == "--":
                rest += [argument] if known_only else []
                break
            name, given, value = argument.removeprefix("-").removeprefix("-").partition("=")
            flag = self._flags().get(name)
            opposite = self._flags().get(name.removeprefix("no")) if name.startswith("no") else None
            if name in ("undefok", "flagfile"):
                text = value if given else self._next(name, args)
                if name == "undefok":
                    excused |= {known for one in text.split(",") for known in (one, f"no{one}")}
                else:
                    args[:0] = _lines(text)
            elif flag is not None:
                bare = "true" if flag.boolean else ""
                flag.parse(value if given else bare or self._next(name, args))
            elif opposite is not None and opposite.boolean:
                if given:
                    raise kinds.IllegalFlagValueError(f"--{name}={value}: a value and 'no' contradict each other")
                opposite.parse("false")
            elif known_only:
                rest.append(argument)
            else:
                unknown.append((name, argument))
        return [one for one in unknown if one[0] not in excused], rest + args

    def _next(self, name: str, args: list[str]) -> str:
        if not args:
            raise Error(f"Missing value for flag --{name}")
        return args.pop(0)

    def validate_all_flags(self) -> None:
        """Raises IllegalFlagValueError for the first value that a validator refuses."""
        for flag in self._flags().values():
            flag.validate()
        for names, check, message in self.__dict__["__groups"]:
            if not check({name: self._flags()[name].value for name in names}):
                shown = ", ".join(f"{name}={self._flags()[name].value}" for name in names)
                raise kinds.IllegalFlagValueError(f"flags {shown}: {message}")

    # ---- help

    def get_help(self, prefix: str = "") -> str:
        """What every flag does, by the module that defines it."""
        modules: dict[str, list[Flag]] = {}
        for name, flag in sorted(self._flags().items()):
            if name == flag.name:
                modules.setdefault(flag.module, []).append(flag)
        return "\n".join(f"\n{module}:\n" + "\n".join(map(_described, flags)) for module, flags in modules.items())

    def main_module_help(self) -> str:
        """What the flags of the main program do."""
        main = _module_name(sys.modules["__main__"].__dict__)
        flags = [flag for name, flag in sorted(self._flags().items()) if flag.module == main and name == flag.name]
        return f"\n{main}:\n" + "\n".join(map(_described, flags)) if flags else ""

    def __str__(self) -> str:
        return self.get_help()


def _lines(path: str) -> list[str]:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError as error:
        raise Error(f"Unable to open flagfile: {error}") from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith(("#", "//"))]


def _described(flag: Flag) -> str:
    names = f"--{'[no]' if flag.boolean else ''}{flag.name}"
    if flag.short_name:
        names = f"-{flag.short_name},{names}"
    values = f" <{'|'.join(flag.parser.enum_values)}>:" if isinstance(flag.parser, kinds.EnumParser) else ""
    lines = [f"  {names}:{values} {flag.help}"]
    if isinstance(flag, kinds.MultiFlag):
        lines.append("    repeat this option to specify a list of values")
    if flag.default_as_str is not None:
        lines.append(f"    (default: '{flag.default_as_str}')")
    if flag.parser.syntactic_help:
        lines.append(f"    ({flag.parser.syntactic_help})")
    return "\n".join(lines)


FLAGS = FlagValues()


# ---- definitions


def _module_name(scope: dict[str, Any]) -> str:
    name = str(scope.get("__name__", ""))
    return (sys.argv[0] if sys.argv and sys.argv[0] else name) if name == "__main__" else name


def _define(
    kind: type[Flag], parser: kinds.ArgumentParser, name: str, default: Any, help: str | None,
    flag_values: FlagValues | None, options: dict[str, Any],
) -> FlagHolder:  # fmt: skip
    for modern, old in (("name", "flag_name"), ("default", "default_value"), ("help", "docstring")):
        if old in options:
            raise TypeError(f"{old!r} was given beside {modern!r}, or more than once")
    required = options.pop("required", False)
    short_name, module = options.pop("short_name", None), options.pop("module_name", None)
    serializer = options.pop("serializer", None)
    if options:
        raise TypeError(f"unexpected arguments for flag {name!r}: {sorted(options)}")
    if required and default is not None:
        raise ValueError(f"Required flag --{name} cannot have a non-None default")
    scope = sys._getframe(2).f_globals
    flag = kind(parser, serializer, name, default, help, short_name, module or _module_name(scope))
    values = FLAGS if flag_values is None else flag_values
    values[name] = flag
    if required:
        mark_flag_as_required(name, values)
    return FlagHolder(values, flag)


def _old_names(name: Any, default: Any, help: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """TF1's first argument names: flag_name, default_value, docstring."""
    return (
        options.pop("flag_name") if name is None and "flag_name" in options else name,
        options.pop("default_value") if default is None and "default_value" in options else default,
        options.pop("docstring") if help is None and "docstring" in options else help,
    )


def DEFINE(  # noqa: N802 (TensorFlow's name)
    parser: kinds.ArgumentParser, name: Any = None, default: Any = None, help: Any = None,
    flag_values: FlagValues | None = None, serializer: Any = None, module_name: str | None = None, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag with a parser of one's own."""
    args.update(serializer=serializer, module_name=module_name)
    return _define(Flag, parser, *_old_names(name, default, help, args), flag_values, args)


def DEFINE_string(  # noqa: N802 (TensorFlow's name)
    name: Any = None, default: Any = None, help: Any = None, flag_values: FlagValues | None = None, **args: Any
) -> FlagHolder:
    """A flag whose value is text."""
    return _define(Flag, kinds.ArgumentParser(), *_old_names(name, default, help, args), flag_values, args)


def DEFINE_integer(  # noqa: N802 (TensorFlow's name)
    name: Any = None, default: Any = None, help: Any = None, lower_bound: int | None = None,
    upper_bound: int | None = None, flag_values: FlagValues | None = None, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag whose value is a whole number."""
    parser = kinds.IntegerParser(lower_bound, upper_bound)
    return _define(Flag, parser, *_old_names(name, default, help, args), flag_values, args)


def DEFINE_float(  # noqa: N802 (TensorFlow's name)
    name: Any = None, default: Any = None, help: Any = None, lower_bound: float | None = None,
    upper_bound: float | None = None, flag_values: FlagValues | None = None, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag whose value is a number."""
    parser = kinds.FloatParser(lower_bound, upper_bound)
    return _define(Flag, parser, *_old_names(name, default, help, args), flag_values, args)


def DEFINE_boolean(  # noqa: N802 (TensorFlow's name)
    name: Any = None, default: Any = None, help: Any = None, flag_values: FlagValues | None = None,
    module_name: str | None = None, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag whose value is true or false."""
    args["module_name"] = module_name
    return _define(kinds.BooleanFlag, kinds.BooleanParser(), *_old_names(name, default, help, args), flag_values, args)


DEFINE_bool = DEFINE_boolean


def DEFINE_enum(  # noqa: N802 (TensorFlow's name)
    name: str, default: Any, enum_values: Iterable[str], help: Any = None, flag_values: FlagValues | None = None,
    module_name: str | None = None, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag whose value is one of some texts."""
    args["module_name"] = module_name
    parser = kinds.EnumParser(enum_values, args.pop("case_sensitive", True))
    return _define(Flag, parser, name, default, help, flag_values, args)


def DEFINE_enum_class(  # noqa: N802 (TensorFlow's name)
    name: str, default: Any, enum_class: type[enum.Enum], help: Any = None, flag_values: FlagValues | None = None,
    module_name: str | None = None, case_sensitive: bool = False, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag whose value is a member of an enumeration."""
    args["module_name"] = module_name
    return _define(Flag, kinds.EnumClassParser(enum_class, case_sensitive), name, default, help, flag_values, args)


def DEFINE_list(  # noqa: N802 (TensorFlow's name)
    name: str, default: Any, help: Any = None, flag_values: FlagValues | None = None, **args: Any
) -> FlagHolder:
    """A flag whose value is a list of texts, separated by commas."""
    return _define(Flag, kinds.ListParser(), name, default, help, flag_values, args)


def DEFINE_spaceseplist(  # noqa: N802 (TensorFlow's name)
    name: str, default: Any, help: Any = None, comma_compat: bool = False, flag_values: FlagValues | None = None,
    **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag whose value is a list of texts, separated by white space."""
    parser = kinds.WhitespaceSeparatedListParser(comma_compat)
    return _define(Flag, parser, name, default, help, flag_values, args)


def DEFINE_multi_string(  # noqa: N802 (TensorFlow's name)
    name: str, default: Any, help: Any = None, flag_values: FlagValues | None = None, **args: Any
) -> FlagHolder:
    """A flag that may be given several times; its value is the list of texts."""
    return _define(kinds.MultiFlag, kinds.ArgumentParser(), name, default, help, flag_values, args)


def DEFINE_multi_integer(  # noqa: N802 (TensorFlow's name)
    name: str, default: Any, help: Any = None, lower_bound: int | None = None, upper_bound: int | None = None,
    flag_values: FlagValues | None = None, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag that may be given several times; its value is the list of whole numbers."""
    parser = kinds.IntegerParser(lower_bound, upper_bound)
    return _define(kinds.MultiFlag, parser, name, default, help, flag_values, args)


def DEFINE_multi_float(  # noqa: N802 (TensorFlow's name)
    name: str, default: Any, help: Any = None, lower_bound: float | None = None, upper_bound: float | None = None,
    flag_values: FlagValues | None = None, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag that may be given several times; its value is the list of numbers."""
    parser = kinds.FloatParser(lower_bound, upper_bound)
    return _define(kinds.MultiFlag, parser, name, default, help, flag_values, args)


def DEFINE_multi_enum(  # noqa: N802 (TensorFlow's name)
    name: str, default: Any, enum_values: Iterable[str], help: Any = None, flag_values: FlagValues | None = None,
    case_sensitive: bool = True, **args: Any,
) -> FlagHolder:  # fmt: skip
    """A flag that may be given several times; its value is a list of some texts."""
    parser = kinds.EnumParser(enum_values, case_sensitive)
    return _define(kinds.MultiFlag, parser, name, default, help, flag_values, args)


def DEFINE_alias(  # noqa: N802 (TensorFlow's name)
    name: str, original_name: str, flag_values: FlagValues | None = None, module_name: str | None = None
) -> FlagHolder:
    """A second name for a flag."""
    values = FLAGS if flag_values is None else flag_values
    if original_name not in values:
        raise UnrecognizedFlagError(original_name)
    if name in values:
        raise DuplicateFlagError(f"The flag '{name}' is defined twice.")
    values._flags()[name] = values[original_name]
    return FlagHolder(values, values[original_name])


# ---- validators


def register_validator(
    flag_name: str, checker: Callable[[Any], Any], message: str = "Flag validation failed",
    flag_values: FlagValues | None = None,
) -> None:  # fmt: skip
    """Refuses values for which `checker` is false; checked when the command line is read and at every assignment."""
    values = FLAGS if flag_values is None else flag_values
    if flag_name not in values:
        raise UnrecognizedFlagError(flag_name)
    values[flag_name].validators.append((checker, message))


def validator(
    flag_name: str, message: str = "Flag validation failed", flag_values: FlagValues | None = None
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """`register_validator` as a decorator."""

    def decorate(checker: Callable[[Any], Any]) -> Callable[[Any], Any]:
        register_validator(flag_name, checker, message, flag_values)
        return checker

    return decorate


def register_multi_flags_validator(
    flag_names: Sequence[str], multi_flags_checker: Callable[[dict[str, Any]], Any],
    message: str = "Flags validation failed", flag_values: FlagValues | None = None,
) -> None:  # fmt: skip
    """Refuses combinations of values for which the checker, given a dict of them, is false."""
    values = FLAGS if flag_values is None else flag_values
    values.__dict__["__groups"].append((list(flag_names), multi_flags_checker, message))


def mark_flag_as_required(flag_name: str, flag_values: FlagValues | None = None) -> None:
    """Makes a flag whose default is None one that must be given."""
    register_validator(
        flag_name, lambda value: value is not None, "Flag must have a value other than None.", flag_values
    )


def mark_flags_as_required(flag_names: Iterable[str], flag_values: FlagValues | None = None) -> None:
    """`mark_flag_as_required` for each."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def mark_flags_as_mutual_exclusive(
    flag_names: Sequence[str], required: bool = False, flag_values: FlagValues | None = None
) -> None:
    """At most one of the flags, or exactly one if `required`, may have a value other than None."""

    def check(values: dict[str, Any]) -> bool:
        count = sum(value is not None for value in values.values())
        return count == 1 or (not required and count == 0)

    what = "Exactly" if required else "At most"
    message = f"{what} one of ({', '.join(flag_names)}) must have a value other than None."
    register_multi_flags_validator(flag_names, check, message, flag_values)


def declare_key_flag(flag_name: str, flag_values: FlagValues | None = None) -> None:
    """Kept for programs that call it: the help shows every flag under the module that defines it."""
