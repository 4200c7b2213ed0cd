"""tf.contrib.learn.datasets.base."""

from headrace.library.contrib.learn.dataset import Dataset as Dataset
from headrace.library.contrib.learn.dataset import Datasets as Datasets
from headrace.library.contrib.learn.dataset import load_csv_with_header as load_csv_with_header
from headrace.library.contrib.learn.dataset import load_csv_without_header as load_csv_without_header
from headrace.library.contrib.learn.dataset import maybe_download as maybe_download
