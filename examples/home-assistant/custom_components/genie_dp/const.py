"""Names that several files need."""

DOMAIN = "genie_dp"
CONF_FOLDER = "folder"
