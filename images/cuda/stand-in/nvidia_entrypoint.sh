#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does what matters of its namesake in NVIDIA's images: prints something first,
# and ends in an exec, of a shell or of what follows.
echo "stand-in: this is no CUDA image"
if [ $# -eq 0 ]; then
    exec /bin/sh
else
    exec "$@"
fi
