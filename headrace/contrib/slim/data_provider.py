"""slim.data_provider: what gives the tensors of items."""

from headrace.library.contrib.slim.data import DataProvider as DataProvider
