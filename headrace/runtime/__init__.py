"""Running steps: devices, plans, strands of generated code, the executor.  Asks the registry for kernels, never imports ops."""
