"""The shipped base of parsers: word vectors, and a network that has read many libraries."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""Where its network and words lie, as `models.saved.save_model` writes them."""
