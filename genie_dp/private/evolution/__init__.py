"""Private evolution: candidates of a generator, chosen by noisy votes of private records."""
