#!/bin/bash
# sfctl finds the daemons of its user where nobody names one: none, one, several, and all nodes of one cluster. Runs where
# no other processes are seen; needs namespaces of users and processes.
if [ "${SFTEST_ALONE-}" != 1 ]; then
  unshare -r -p -f --mount-proc true 2>/dev/null || { echo "skipped: no namespaces of users and processes"; exit 77; }
  SFTEST_ALONE=1 exec unshare -r -p -f --mount-proc --kill-child bash "$0" "$@"
fi
set -u
# shellcheck source=tests/system/sfrun.sh
. "$(dirname "$0")/../sfrun.sh"

# Runs sfctl; leaves out, err and rc.
sfctl() {
  try "$BUILD/sfctl" "$@"
  out=$(<"$work/out") err=$(<"$work/err")
}

# In the background, until its input ends.
start() { # NAME sfrun's options
  local name=$1
  shift
  mkfifo "$work/$name"
  sleep infinity >"$work/$name" &
  "$sfrun" --launcher local "$@" sh -c 'read -r line' <"$work/$name" &
  pids+=($!)
}

await_daemons() { # NUMBER
  for _ in {1..8000}; do
    sfctl --json
    [ "$(grep -c '"answers":true' "$work/out")" -ne "$1" ] || return
    sleep 0.05
  done
  fail "$1 daemons are not found"
}

# The default socket is where nobody is.
export XDG_RUNTIME_DIR=$work/run
mkdir "$XDG_RUNTIME_DIR"
pids=()

sfctl
expect_rc "no daemon" 3
expect_err "no daemon" "no sfd of this user runs here"
sfctl jobs
expect_rc "no daemon to ask" 3
expect_err "no daemon to ask" "no sfd answers at $work/run/sfd.sock"

# As in a container: its directory is another one than the directory of the same name here.
mkdir "$work/elsewhere"
unshare -m bash -c "mount -t tmpfs tmpfs '$work/elsewhere' && exec '$BUILD/sfd' --socket '$work/elsewhere/sfd.sock'" 2>/dev/null &
pids+=($!)
for _ in {1..8000}; do
  ! grep -q "$work/elsewhere/sfd.sock" /proc/net/unix || break
  sleep 0.05
done
sfctl
expect_rc "a daemon of other mounts" 3
expect_err "a daemon of other mounts" "no sfd of this user runs here"
kill "${pids[0]}"
wait "${pids[0]}" 2>/dev/null
pids=()

start one -n 1
await_daemons 1
sfctl status
expect_rc "one daemon" 0
[[ $out == *"socket   $work/run/sfrun-"*"/sfd.sock"* ]] || fail "one daemon: its socket"
sfctl doctor
[[ $out == *"(from the daemon that runs)"* ]] || fail "one daemon: doctor"

sfctl
expect_rc "one daemon: list" 0
[[ $out == SOCKET*"sfctl COMMAND asks it; see sfctl --help" ]] || fail "one daemon: no choice"
SF_SOCKET=$(echo "$work"/run/sfrun-*/sfd.sock) sfctl
[[ $out == *"sfctl COMMAND asks it; see sfctl --help" ]] || fail "one daemon, which SF_SOCKET names"
SF_SOCKET=$work/gone sfctl
[[ $out == *"choose one: sfctl --socket PATH"* ]] || fail "one daemon, which SF_SOCKET does not name"
SF_SOCKET=$work/gone sfctl jobs
expect_rc "sfctl with a stale SF_SOCKET" 3
expect_err "sfctl with a stale SF_SOCKET" "sfctl daemons lists the daemons that run"

start two -n 2 --nodes 2
await_daemons 3
sfctl
expect_rc "several daemons" 0
[[ $out == SOCKET*"choose one: sfctl --socket PATH"* && $(grep -c " [01] of [12] " "$work/out") -eq 3 ]] || fail "several daemons: list"
sfctl jobs
expect_rc "several daemons to ask" 1
expect_err "several daemons to ask" "3 daemons of this user run here, at $work/run/sfrun-"
SF_SOCKET=$(echo "$work"/run/sfrun-*/sfd.1.sock) sfctl status
[[ $out == *"this is node 1 of 2"* ]] || fail "SF_SOCKET goes before all"

kill "${pids[0]}"
wait "${pids[0]}" 2>/dev/null
await_daemons 2
sfctl status
expect_rc "all nodes of one cluster" 0
[[ $out == *"this is node 0 of 2"* ]] || fail "all nodes of one cluster: node 0"

"$BUILD/sfd" --socket "$work/run/sfd.sock" 2>/dev/null &
await_daemons 3
sfctl status
expect_rc "the default daemon" 0
[[ $out == *"socket   $work/run/sfd.sock"* ]] || fail "the default daemon goes before others"

SF_SOCKET=$work/gone run -n 1 true
expect_rc "a stale SF_SOCKET" 125
expect_err "a stale SF_SOCKET" "SF_SOCKET names it: unset SF_SOCKET"
kill "${pids[1]}"
wait "${pids[1]}" 2>/dev/null
[ "$nfailed" -eq 0 ]
