"""Where networks run: a device, its number formats and the memory of the process."""

import ctypes
import os

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


# Of glibc's <malloc.h>: below which free memory goes back to the system, and how many blocks are
# fetched from it one by one.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_memory() -> bool:
    """Let the process keep the memory that it frees; return whether it does (only with glibc).

    Large blocks go back to the system else, and come again page by page, all zeros: for gradients
    of each row that is a third of all CPU time. Who has set malloc's own variables is obeyed.
    """
    is_set = any(name.startswith("MALLOC_") for name in os.environ)
    if is_set or "GLIBC_TUNABLES" in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    limit = 2**31 - 1
    return bool(mallopt and mallopt(_TRIM_THRESHOLD, limit) and mallopt(_MMAP_MAX, 0))


def bf16_helps(device: str = "cpu") -> bool:
    """Return whether a device multiplies bfloat16 itself: 20 to 60 % more rows a second then."""
    import torch

    if device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Torch before 2.9 cannot tell.
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(flag, False) for flag in ("avx512_bf16", "amx_bf16"))


def can_use_bf16(device: str = "cpu") -> bool:
    """Return whether networks run in bfloat16 on a device; LSTMs do not on every processor."""
    import torch

    layer = torch.nn.LSTM(8, 8, batch_first=True).to(device)
    try:
        with torch.no_grad(), torch.autocast(torch.device(device).type, torch.bfloat16):
            layer(torch.zeros(1, 2, 8, device=device))
    except RuntimeError:
        return False
    return True
