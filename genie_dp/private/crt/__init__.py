"""Confidentially redacted training: the secrets of sentences are protected, not the sentences."""
