"""Who listens to what is done with tensors: gradients, tracers, transforms and autocast, or nobody."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

PLAIN = (torch.Tensor, torch.nn.Parameter)
"""The very classes of tensors that have memory; any other means something of its own."""


def plain(*tensors: Any) -> bool:
    """Whether tensors are nothing but memory, and nobody is listening to what is done with them."""
    for x in tensors:
        if x is not None and type(x) not in PLAIN:
            return False
    return (
        torch._C._len_torch_dispatch_stack() == 0
        and torch._C._functorch.peek_interpreter_stack() is None
        and not forward_mode()
        and not torch._C._is_any_autocast_enabled()
    )


def transformed() -> bool:
    """Whether a transform of ``torch.func`` or a derivative in forward mode is under way. PyTorch has no way
    for an operator's gradient to take part in these, but for a function's."""
    found = torch._C._functorch.peek_interpreter_stack()
    if found is None:
        return forward_mode()
    return found.key() is not torch._C._functorch.TransformType.Functionalize


def forward_mode() -> bool:
    """Whether derivatives are being carried along with values."""
    return forward_ad._current_level >= 0 and bool(torch._C._is_fwd_grad_enabled())
