"""What the tests of tf.test share."""

from typing import Any

import pytest
from library.testing.bare_case import Case


@pytest.fixture
def case() -> Any:
    made = Case()
    made.setUp()
    yield made
    made.tearDown()
