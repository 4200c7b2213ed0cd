"""Running steps: devices, plans, strands of generated code.  Asks the registry for kernels, never imports ops."""
