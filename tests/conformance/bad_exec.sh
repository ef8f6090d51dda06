#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Not an init: the command itself becomes process 1.
[ "$1" = -- ] && shift
exec "$@"
