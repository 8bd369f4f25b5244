"""The privacy ledger: mechanisms, what they cost together, and the file that holds the budget."""
