"""How values are held and kernels are called."""
