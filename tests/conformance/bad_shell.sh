#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Not an init: a shell that waits for its child and forwards nothing.
[ "$1" = -- ] && shift
"$@"
exit $?
