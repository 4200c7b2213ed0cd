"""Chunks of the bulk channel: all arrive, and none that was changed, replayed, left out or not granted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cluster.transport.bulk import ACTIVE, WINDOW, BulkReceiver, BulkSender
from headrace.cluster.transport.codec import MalformedError

KEY, CHUNK = b"k" * 32, 100


def pair(limit=1 << 30):
    return BulkSender(KEY, CHUNK), BulkReceiver(KEY, CHUNK, limit)


def begin(sender, receiver, region, data):
    sender.offer(region, data)
    receiver.expect(region, len(data))
    for number, chunks in receiver.take_grants():
        sender.grant(number, chunks)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_regions_arrive_whole(sizes, random):
    sender, receiver = pair()
    regions = {i + 1: random.randbytes(size) for i, size in enumerate(sizes)}
    for region, data in regions.items():
        begin(sender, receiver, region, data)
    received = {}
    while sender.ready:
        finished = receiver.chunk(sender.next())
        if finished is not None:
            received[finished[0]] = bytes(finished[1])
        for number, chunks in receiver.take_grants():
            sender.grant(number, chunks)
    assert received == regions and not sender._regions


def test_a_small_region_need_not_wait_for_a_large_one():
    sender, receiver = pair()
    begin(sender, receiver, 1, bytes(CHUNK * 1000))
    begin(sender, receiver, 2, bytes(CHUNK))
    finished = [receiver.chunk(sender.next()) for _ in range(2)]
    assert finished[1] is not None and finished[1][0] == 2


def test_no_more_is_under_way_than_granted():
    sender, receiver = pair()
    for region in range(1, 20):
        begin(sender, receiver, region, bytes(CHUNK * 1000))
    count = 0
    while sender.ready:
        sender.next()
        count += 1
    assert count == WINDOW * ACTIVE


@pytest.mark.parametrize("harm", ["replay", "swap", "change", "cut", "header", "frames", "key"])
def test_harm_is_refused(harm):
    sender, receiver = pair()
    if harm == "key":
        receiver = BulkReceiver(b"x" * 32, CHUNK, 1 << 30)
    begin(sender, receiver, 1, bytes(CHUNK * 10))
    first, second = sender.next(), sender.next()
    frames = first
    if harm == "replay":
        receiver.chunk(first)
    elif harm == "swap":
        frames = second
    elif harm == "change":
        frames = [first[0], bytes([first[1][0] ^ 1]) + first[1][1:]]
    elif harm == "cut":
        frames = [first[0], first[1][:-1]]
    elif harm == "header":
        frames = [first[0][:-1] + b"\1", first[1]]
    elif harm == "frames":
        frames = [first[0]]
    with pytest.raises(MalformedError):
        receiver.chunk(frames)


def test_what_is_announced_has_limits():
    _, receiver = pair(limit=1000)
    receiver.expect(1, 900)
    for region, size in ((2, 200), (1, 10), (3, 0), (4, -5)):
        with pytest.raises(MalformedError):
            receiver.expect(region, size)


def test_grants_have_limits():
    sender, _ = pair()
    sender.offer(1, np.zeros(1000, np.uint8))
    for region, chunks in ((2, 1), (1, 0), (1, -1), (1, WINDOW + 1)):
        with pytest.raises(MalformedError):
            sender.grant(region, chunks)
