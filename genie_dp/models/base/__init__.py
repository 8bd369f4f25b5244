"""What parsers start with: word vectors, and a network that has read many libraries."""
