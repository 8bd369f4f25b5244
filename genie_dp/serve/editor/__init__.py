"""A language server for skills and templates: what `genie-dp check` knows, while somebody types."""
