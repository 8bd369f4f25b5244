"""Attacks on trained models: what they really leak, beside what is claimed of them."""
