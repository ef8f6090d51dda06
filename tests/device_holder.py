# SPDX-License-Identifier: Apache-2.0
"""Holds 3 GiB of the first GPU's memory for device.py until stdin ends. Says "held", or ends."""

import ctypes
import sys

GIB = 3


def by_driver():
    """With libcuda alone (CUDA Driver API); what keeps the memory."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context, memory = ctypes.c_void_p(), ctypes.c_uint64()
    for error in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                  cuda.cuCtxSetCurrent(context),
                  cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(GIB << 30))):
        if error != 0:
            raise OSError(f"CUDA error {error}")
    return cuda


def by_torch():
    import torch        # pylint: disable=import-outside-toplevel,import-error
    held = torch.zeros(GIB << 30, dtype=torch.uint8, device="cuda")
    held.sum().item()
    return held


def main():
    for way in (by_driver, by_torch):
        try:
            held = way()
        except (OSError, ImportError, AttributeError, RuntimeError):
            continue
        print("held", flush=True)
        sys.stdin.read()
        del held
        return


main()
