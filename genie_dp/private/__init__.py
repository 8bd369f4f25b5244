"""What touches private rows: ledger, training, generators, priors, metrics, redaction."""
