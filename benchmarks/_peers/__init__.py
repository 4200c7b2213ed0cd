"""The workloads of `steps` and `gpu` in each framework: one module for each, and the architectures they share.

Headrace and TensorFlow run the text of `headrace/models`; PyTorch and JAX run the same maths from `architecture`, which
names layers and leaves each framework to say what a layer is.
"""
