"""slim.dataset: where a data set is and how to read it."""

from headrace.library.contrib.slim.data import Dataset as Dataset
