"""Tables: keys come back in order, large ones span several blocks, damage is told."""

import io

import pytest

from headrace.core import errors
from headrace.resources.file.bundle.table import Table, table_bytes

SMALL = [(b"", b"header"), (b"a", b""), (b"ab", b"1"), (b"ab\x00", b"2"), (b"b\xff", b"3")]
LARGE = sorted((b"key %05d" % i, bytes([i % 251]) * (i % 700)) for i in range(3000))


def opened(data: bytes) -> Table:
    return Table(io.BytesIO(data), "the/file")


@pytest.mark.parametrize("items", [[], SMALL, LARGE], ids=["empty", "small", "large"])
def test_items_and_get(items: list[tuple[bytes, bytes]]) -> None:
    table = opened(table_bytes(items))
    assert list(table.items()) == items
    for key, value in items[::97] + items[-1:]:
        assert table.get(key) == value
    for key in (b"aa", b"key 00000x", b"zzz"):
        assert table.get(key) is None


def test_every_flipped_or_missing_byte_is_found() -> None:
    data = table_bytes(SMALL)
    for at in range(len(data)):
        flipped = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        for damaged in (flipped, data[:at], data[:at] + data[at + 1 :]):
            try:
                items = list(opened(damaged).items())
            except errors.DataLossError as error:
                assert "the/file is not a valid table: " in str(error)
            else:
                assert items == SMALL  # padding, or the place of the meta index, which nobody reads


def test_what_the_errors_say() -> None:
    data = bytearray(table_bytes(SMALL))
    with pytest.raises(errors.DataLossError, match="it has 10 bytes, a table has at least 48"):
        opened(bytes(data[:10]))
    with pytest.raises(
        errors.DataLossError, match="it ends with the number 0x0+, a table ends with 0xdb4775248b80fb57"
    ):
        opened(bytes(data[:-8]) + bytes(8))
    data[0] ^= 1
    with pytest.raises(
        errors.DataLossError, match="the block at 0 has a wrong checksum: expected 0x[0-9a-f]+, found 0x"
    ):
        list(opened(bytes(data)).items())
