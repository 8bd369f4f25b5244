"""Where networks run."""

from genie_dp.errors import GenieError, Problem


def prepare_torch(device: str, threads: int = 1) -> None:
    """Let torch use so many threads, and refuse a device that this machine does not have.

    Raises:
        GenieError: N008.
    """
    import torch

    torch.set_num_threads(threads)
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        message = f"cannot use the device {device!r}: {str(error).splitlines()[0]}"
        hint = "leave --device out, or name one such as cpu, cuda, cuda:1"
        raise GenieError(Problem("N008", message, hint=hint)) from None
