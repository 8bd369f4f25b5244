"""The one place where torch's untyped classes become ours."""

from torch import nn


class Module(nn.Module):  # type: ignore[misc]
    """A torch module. Torch's types are not read (pyproject.toml), so its base is said once."""
