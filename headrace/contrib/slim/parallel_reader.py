"""slim.parallel_reader: several readers that fill one queue."""

from headrace.library.contrib.slim.parallel_reader import ParallelReader as ParallelReader
from headrace.library.contrib.slim.parallel_reader import get_data_files as get_data_files
from headrace.library.contrib.slim.parallel_reader import parallel_read as parallel_read
from headrace.library.contrib.slim.parallel_reader import single_pass_read as single_pass_read
