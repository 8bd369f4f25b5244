"""Template files: how people phrase programs (docs/templates.md)."""
