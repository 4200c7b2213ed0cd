"""Copies between the host and a device.  What needs a GPU is in gpu_check.py."""

import numpy as np
import torch

from headrace.resources.calling.copies import LARGE, to_device, to_host


def test_a_value_that_is_there_already_is_not_copied():
    for size in (3, LARGE):
        value = torch.arange(size)
        assert to_device(value, torch.device("cpu")) is value
        assert to_host([value])[0] is value


def test_large_and_small_values_reach_another_device():
    for size in (3, LARGE):
        moved = to_device(torch.zeros(size), torch.device("meta"))
        assert moved.device.type == "meta" and moved.shape == (size,)


def test_strings_stay_as_they_are_on_the_host():
    text = np.array([b"a", b"b"], object)
    first, second = to_host([text, torch.ones(2)])
    assert first is text and second.tolist() == [1.0, 1.0]
