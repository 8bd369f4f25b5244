"""A language server for skills and templates: `genie-dp check` while the author types."""
