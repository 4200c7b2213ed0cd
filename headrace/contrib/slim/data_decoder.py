"""slim.data_decoder: what makes items of records."""

from headrace.library.contrib.slim.data import DataDecoder as DataDecoder
