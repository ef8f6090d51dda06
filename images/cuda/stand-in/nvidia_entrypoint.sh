#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does what matters of its namesake in NVIDIA's images: prints a banner first, reads
# the parts in the folder beside it, whose variables the command gets, and ends in an
# exec, of a shell or of what follows.
echo "stand-in: this is no CUDA image"
for part in "$(dirname "$0")"/entrypoint.d/*.sh; do
    # shellcheck source=/dev/null
    [ ! -e "$part" ] || . "$part"
done
if [ $# -eq 0 ]; then
    exec /bin/sh
else
    exec "$@"
fi
