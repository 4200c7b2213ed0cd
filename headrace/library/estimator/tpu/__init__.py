"""``TPUEstimator`` and what belongs to it, for programs that also run on TPUs.  Here they run on CPUs and GPUs."""
