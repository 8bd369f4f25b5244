"""No output of a command replaces what it reads, nor another of its outputs."""

from genie_dp.run.files import refuse_overlap

__all__ = ("refuse_overlap",)
