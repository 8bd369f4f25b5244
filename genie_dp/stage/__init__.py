"""The kernel: what every stage has in common, once."""
