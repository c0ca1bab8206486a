#!/bin/bash
# sfd, sfrun and sfctl where standard input, output and error are closed: what they print goes nowhere, and not into
# the sockets and pipes that would have got these numbers.
# Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")

work=$(mktemp -d "${TMPDIR:-/tmp}/closed.XXXXXX")
pid=
clean_up() {
  [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
export SF_SOCKET=$work/socket
unset SF_JOB SF_JOB_KEY SF_RANK SF_SIZE

fail() {
  echo "FAILED: $1"
  exit 1
}

# ---- The daemon, with much to say ----

"$BUILD/sfd" --log-level trace <&- >&- 2>&- &
pid=$!
for _ in {1..4000}; do
  "$BUILD/sfctl" status >"$work/status" 2>&1 && break
  sleep 0.1
done
grep -q "^process  $pid," "$work/status" || fail "sfctl status: $(cat "$work/status")"
for fd in 0 1 2; do
  [ "$(readlink "/proc/$pid/fd/$fd")" = /dev/null ] || fail "descriptor $fd of sfd is $(readlink "/proc/$pid/fd/$fd")"
done

# ---- sfctl, which prints before it asks again ----

rc=0
"$BUILD/sfctl" top --batch --iterations 2 --delay 0.01 >&- 2>"$work/err" || rc=$?
[ $rc -eq 1 ] || fail "sfctl top: exit status $rc"
[ "$(<"$work/err")" = "sfctl: cannot write the output: Bad file descriptor" ] || fail "sfctl top: $(<"$work/err")"

# ---- sfrun, with that daemon and with one of its own ----

cat >"$work/program" <<'E2'
#!/bin/bash
readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2 >"$1.$SF_RANK"
E2
chmod +x "$work/program"
for socket in "$SF_SOCKET" ""; do
  SF_SOCKET=$socket "$BUILD/sfrun" --launcher local --log-level trace -n 2 -- "$work/program" "$work/rank" \
    <&- >&- 2>&- || fail "sfrun: exit status $?"
  for rank in 0 1; do
    [ "$(sort -u "$work/rank.$rank")" = /dev/null ] || fail "streams of rank $rank: $(<"$work/rank.$rank")"
    rm "$work/rank.$rank"
  done
done
