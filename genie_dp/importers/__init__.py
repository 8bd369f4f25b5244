"""Projects made of what is described elsewhere: `genie-dp grammar import` and `genie-dp new`."""
