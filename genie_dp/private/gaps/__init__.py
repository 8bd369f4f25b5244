"""What people ask for that no template says, released once with noise: the gap report."""
