"""How good a parser is: metrics, confidence intervals and a report."""
