"""S-expressions as a target language: Lispress, TOP, EXR, lambda-DCS (docs/languages.md)."""
