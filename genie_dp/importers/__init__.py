"""Projects and skills made of what is described elsewhere: `genie-dp import` and `genie-dp new`."""
