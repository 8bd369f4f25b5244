"""The kernel: the common steps of all stages, once."""
