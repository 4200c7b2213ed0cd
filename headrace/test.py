"""tf.test: TestCase, gradient checking, and what tests ask of the machine."""

from unittest import mock as mock

from headrace.library.testing.benchmark import Benchmark as Benchmark
from headrace.library.testing.benchmark import benchmark_config as benchmark_config
from headrace.library.testing.graph_comparison import assert_equal_graph_def as assert_equal_graph_def
from headrace.library.testing.local_cluster import create_local_cluster as create_local_cluster
from headrace.library.testing.numeric_gradient import compute_gradient as compute_gradient
from headrace.library.testing.numeric_gradient import compute_gradient_error as compute_gradient_error
from headrace.library.testing.stub import StubOutForTesting as StubOutForTesting
from headrace.library.testing.test_case import TestCase as TestCase
from headrace.library.testing.test_case import get_temp_dir as get_temp_dir
from headrace.library.testing.test_case import gpu_device_name as gpu_device_name
from headrace.library.testing.test_case import is_built_with_cuda as is_built_with_cuda
from headrace.library.testing.test_case import is_built_with_gpu_support as is_built_with_gpu_support
from headrace.library.testing.test_case import is_built_with_rocm as is_built_with_rocm
from headrace.library.testing.test_case import is_gpu_available as is_gpu_available
from headrace.library.testing.test_case import main as main
from headrace.library.testing.test_case import test_src_dir_path as test_src_dir_path
