"""Projects made from other formats: `genie-dp grammar import` and `genie-dp new`."""
