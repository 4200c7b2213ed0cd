import pickle
import traceback
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core import errors

TREE: list[tuple[int, str, type[errors.OpError]]] = [
    (1, "CANCELLED", errors.CancelledError),
    (2, "UNKNOWN", errors.UnknownError),
    (3, "INVALID_ARGUMENT", errors.InvalidArgumentError),
    (4, "DEADLINE_EXCEEDED", errors.DeadlineExceededError),
    (5, "NOT_FOUND", errors.NotFoundError),
    (6, "ALREADY_EXISTS", errors.AlreadyExistsError),
    (7, "PERMISSION_DENIED", errors.PermissionDeniedError),
    (8, "RESOURCE_EXHAUSTED", errors.ResourceExhaustedError),
    (9, "FAILED_PRECONDITION", errors.FailedPreconditionError),
    (10, "ABORTED", errors.AbortedError),
    (11, "OUT_OF_RANGE", errors.OutOfRangeError),
    (12, "UNIMPLEMENTED", errors.UnimplementedError),
    (13, "INTERNAL", errors.InternalError),
    (14, "UNAVAILABLE", errors.UnavailableError),
    (15, "DATA_LOSS", errors.DataLossError),
    (16, "UNAUTHENTICATED", errors.UnauthenticatedError),
]


@pytest.mark.parametrize(("code", "constant", "cls"), TREE)
def test_class_code_and_constant_agree(code: int, constant: str, cls: Any) -> None:
    node_def, op = object(), SimpleNamespace(name="n")
    error = cls(node_def, op, "went wrong")
    assert isinstance(error, errors.OpError)
    assert (error.node_def, error.op, error.message, error.error_code) == (node_def, op, "went wrong", code)
    assert getattr(errors, constant) == code
    assert errors.exception_type_from_error_code(code) is cls
    assert errors.error_code_from_exception_type(cls) == code
    made = errors.make_error(None, None, "m", code)
    assert type(made) is cls and made.message == "m"
    assert cls.__name__ in (errors.__doc__ or "") and cls.__doc__


def test_the_tree_is_complete() -> None:
    assert {cls for _, _, cls in TREE} == set(errors.OpError.__subclasses__())
    assert errors.OK == 0


def test_base_class_takes_any_code() -> None:
    error = errors.OpError(None, None, "m", 9)
    assert (error.error_code, str(error)) == (9, "m")


def test_codes_nobody_knows() -> None:
    for code in (0, 99):
        with pytest.raises(KeyError, match=str(code)):
            errors.exception_type_from_error_code(code)
    made = errors.make_error(None, None, "m", 99)
    assert type(made) is errors.UnknownError and made.error_code == 99
    assert errors.UnknownError(None, None, "m").error_code == errors.UNKNOWN


def test_code_of_derived_and_foreign_classes() -> None:
    class Special(errors.NotFoundError):
        pass

    assert errors.error_code_from_exception_type(Special) == errors.NOT_FOUND
    assert errors.error_code_from_exception_type(ValueError) == errors.UNKNOWN


def test_text_says_where_the_op_was_made() -> None:
    frames = traceback.extract_stack(limit=1)
    text = str(errors.InternalError(None, SimpleNamespace(name="layer/MatMul", traceback=frames), "bad"))
    assert text.startswith("bad\n") and "'layer/MatMul'" in text and "test_errors.py" in text
    assert "user.py:3" in str(errors.InternalError(None, SimpleNamespace(name="a", traceback="user.py:3"), "bad"))


@pytest.mark.parametrize("op", [None, SimpleNamespace(name="a"), SimpleNamespace(name="a", traceback=None)])
def test_text_without_an_origin_is_the_message(op: Any) -> None:
    assert str(errors.InternalError(None, op, "bad")) == "bad"


@pytest.mark.parametrize(
    "error",
    [
        errors.NotFoundError("def", None, "m"),
        errors.OpError("def", None, "m", 5),
        errors.UnknownError("def", None, "m", 99),
        errors.AbortedError("def", lambda: "an operation cannot be pickled", "m"),
    ],
)
def test_pickling_leaves_the_op_behind(error: errors.OpError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (back.node_def, back.op, back.message, back.error_code) == ("def", None, "m", error.error_code)
