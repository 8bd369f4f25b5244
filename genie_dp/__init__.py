"""genie_dp: semantic parsers for virtual assistants from skills, templates and private logs."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("genie_dp")
except PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0.1.0"
