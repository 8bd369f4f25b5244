"""Training with differential privacy: sampling, clipped gradients, noise, and a run's resume."""
