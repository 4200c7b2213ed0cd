"""tf.quantization."""

from headrace.library.network.quantization import dequantize as dequantize
from headrace.library.network.quantization import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from headrace.library.network.quantization import (
    fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient,
)
from headrace.library.network.quantization import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from headrace.library.network.quantization import (
    fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient,
)
from headrace.library.network.quantization import (
    fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel,
)
from headrace.library.network.quantization import (
    fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient,
)
from headrace.library.network.quantization import quantize as quantize
from headrace.library.network.quantization import quantize_and_dequantize as quantize_and_dequantize
