"""S-expressions as a target language: Lispress, TOP, PIZZA's EXR, lambda-DCS (docs/sexpr.md)."""
