"""Attacks on trained models: their actual leakage, beside the guarantee claimed for them."""
