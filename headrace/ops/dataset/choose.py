"""Datasets that choose among the elements of others."""

from __future__ import annotations

from headrace.ops.dataset.declare import TYPES, check_dataset, dataset
from headrace.resources.data.choose import Directed, IgnoreErrors, Unique


def _plain(name, stage_class):
    @dataset(f"{name}(input_dataset: variant; {TYPES})")
    def _(input_dataset):
        check_dataset(input_dataset)
        return stage_class(input_dataset)


_plain("UniqueDataset", Unique)
_plain("IgnoreErrorsDataset", IgnoreErrors)


@dataset(
    f"DirectedInterleaveDataset(selector_input_dataset: variant, data_input_datasets: N*variant; {TYPES}, "
    "stop_on_empty_dataset: bool = False)"
)
def _(selector_input_dataset, data_input_datasets, stop_on_empty_dataset):
    for one in (selector_input_dataset, *data_input_datasets):
        check_dataset(one)
    return Directed(selector_input_dataset, data_input_datasets, stop_on_empty_dataset)
