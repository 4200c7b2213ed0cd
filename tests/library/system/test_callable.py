"""What functions tell of themselves, as TensorFlow's ``function_utils`` says it."""

import functools

import pytest

from headrace.library.system.callable import fn_args, get_func_code, get_func_name, has_kwargs


class Called:
    def __call__(self, x): ...

    def method(self, a, b): ...


def plain(a, *b, c=1, **d): ...


def test_arguments() -> None:
    assert fn_args(plain) == ("a",) and has_kwargs(plain) and not has_kwargs(Called())
    assert fn_args(Called()) == ("x",) and fn_args(Called().method) == ("a", "b")
    assert fn_args(functools.partial(Called().method, 1)) == ("b",)
    assert fn_args(functools.partial(plain, a=1)) == ()


def test_names_and_code() -> None:
    assert get_func_name(plain) == "plain" and get_func_name(Called().method) == "Called.method"
    assert get_func_name(Called()) == str(Called) and get_func_name(lambda: 0) == "<lambda>"
    assert get_func_code(plain) is plain.__code__ and get_func_code(Called()) is Called.__call__.__code__
    assert get_func_code(functools.partial(plain)) is None


def test_what_cannot_be_called() -> None:
    for function in (fn_args, has_kwargs):
        with pytest.raises(TypeError, match="function-like"):
            function(3)  # type: ignore[arg-type]
    for function in (get_func_name, get_func_code):
        with pytest.raises(ValueError, match="must be callable, got 3"):
            function(3)  # type: ignore[arg-type]
