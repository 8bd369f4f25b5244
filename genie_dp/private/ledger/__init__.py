"""The privacy ledger: mechanisms, their composed cost, and the file that holds the budget."""
