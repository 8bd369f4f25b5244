"""What may be learned from private data, and the ledger of what that costs; nothing else opens them."""
