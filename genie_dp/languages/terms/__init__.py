"""Languages of terms: heads with arguments. What their two syntaxes share."""
