"""Files that hold state: checkpoints, events, safetensors."""
