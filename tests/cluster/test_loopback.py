"""What a message between two tasks of one host takes."""

from headrace.cluster import loopback


def test_a_small_message_and_a_large_one_take_their_time():
    latency, bandwidth = loopback.measure(calls=10, large=1 << 16)
    assert 0 < latency < loopback.PATIENCE
    assert bandwidth > 0
