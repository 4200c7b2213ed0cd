"""slim.dataset_data_provider: the tensors of a data set's examples."""

from headrace.library.contrib.slim.data import DatasetDataProvider as DatasetDataProvider
