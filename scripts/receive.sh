#!/usr/bin/env bash
# receive.py, for the habit of the shell: the same arguments, the same exit codes.
set -euo pipefail

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
    echo "receive: needs Python 3.8 or newer as python3" >&2
    exit 5
fi
exec python3 "$(dirname "$(readlink -f "$0")")/receive.py" "$@"
