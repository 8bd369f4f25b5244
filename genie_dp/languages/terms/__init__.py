"""Languages of terms: heads with arguments. The shared parts of their two syntaxes."""
