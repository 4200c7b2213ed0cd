"""What steps cost on this machine: measured once and kept on disk, observed in traced steps, predicted for others."""
