"""Template files: how people speak of programs (docs/template-language.md)."""
