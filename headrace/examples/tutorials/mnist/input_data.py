"""The MNIST reader of TF1's tutorials: ``input_data.read_data_sets(folder)``."""

from headrace.library.system.mnist import DataSet as DataSet
from headrace.library.system.mnist import Datasets as Datasets
from headrace.library.system.mnist import dense_to_one_hot as dense_to_one_hot
from headrace.library.system.mnist import extract_images as extract_images
from headrace.library.system.mnist import extract_labels as extract_labels
from headrace.library.system.mnist import read_data_sets as read_data_sets
