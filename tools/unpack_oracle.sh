#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unpack_oracle.sh DEST: unpacks the oracle's archives (../shared/oracle/*.tar.xz) into DEST, for the
# tests. Does nothing when DEST is up to date, says so when the archives are not here. DEST appears
# whole or not at all.
set -euo pipefail
destination=$1
archives=$(cd "$(dirname "$0")/.." && pwd)/../shared/oracle
if ! compgen -G "$archives/*.tar.xz" >/dev/null; then
  echo "note: $archives holds no archives; only the committed part of the oracle is tested"
  exit 0
fi
stamp=$(cd "$archives" && stat -c '%n %s' -- *.tar.xz | sha256sum | cut -d ' ' -f 1)
if [ "$(cat "$destination/.stamp" 2>/dev/null)" = "$stamp" ]; then
  exit 0
fi
fresh=$(mktemp -d "$(dirname "$destination")/oracle.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
for archive in "$archives"/*.tar.xz; do
  tar -xf "$archive" -C "$fresh" --no-same-owner
done
chmod -R u+rw "$fresh"
echo "$stamp" >"$fresh/.stamp"
rm -rf "$destination"
mv "$fresh" "$destination"
trap - EXIT
echo "unpacked the oracle into $destination"
