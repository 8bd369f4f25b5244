"""Language models of private programs and utterances, and rows drawn from them."""
