"""The MNIST reader of TF1's tutorials: ``input_data.read_data_sets(folder)``."""

from headrace.library.mnist import DataSet as DataSet
from headrace.library.mnist import Datasets as Datasets
from headrace.library.mnist import dense_to_one_hot as dense_to_one_hot
from headrace.library.mnist import extract_images as extract_images
from headrace.library.mnist import extract_labels as extract_labels
from headrace.library.mnist import read_data_sets as read_data_sets
