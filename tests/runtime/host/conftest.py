"""A device type whose hooks count, for the tests of hooks."""

from collections.abc import Iterator

import pytest
from runtime.host.counting_device import Counting, registered


@pytest.fixture
def npu() -> Iterator[Counting]:
    counting = Counting()
    with registered("NPU", counting.hooks):
        yield counting
