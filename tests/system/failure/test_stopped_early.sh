#!/bin/bash
# sfd that is told to end as soon as it has made its socket, before it serves: it leaves nothing behind.
# Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")

work=$(mktemp -d "${TMPDIR:-/tmp}/early.XXXXXX")
pid=
clean_up() {
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT

for signal in TERM INT TERM INT TERM INT; do
  "$BUILD/sfd" --socket "$work/socket" &
  pid=$!
  until [ -e "$work/socket" ]; do
    kill -0 "$pid" || { echo "FAILED: sfd ended by itself"; exit 1; }
  done
  kill -s "$signal" "$pid"
  rc=0
  wait "$pid" || rc=$?
  pid=
  [ "$rc" -eq 0 ] || { echo "FAILED: SIG$signal: exit status $rc"; exit 1; }
  [ -z "$(ls -A "$work")" ] || { echo "FAILED: SIG$signal: left behind: $(ls -A "$work")"; exit 1; }
done
