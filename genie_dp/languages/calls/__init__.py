"""Calls of tools, as JSON has them: in sequence, in parallel, with results of earlier ones."""
