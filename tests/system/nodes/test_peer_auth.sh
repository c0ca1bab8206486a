#!/bin/bash
# How daemons prove that they belong, but for key files, which most tests over nodes use. A job over two of one user on
# loopback; with a munged of the test's own one over two that use MUNGE, and one that can't be over two with different
# MUNGE keys; what sfd says to options that do not go together. Needs BUILD.
set -u
BUILD=$(realpath "${BUILD:?the build directory}")
munged=/usr/sbin/munged
[ -x "$BUILD/examples/hello" ] || { echo "skipped: the examples are not built"; exit 77; }

work=$(mktemp -d /tmp/peer-auth-test.XXXXXX)
chmod 711 "$work" # munged insists: everybody is to reach its socket
pids=()
clean_up() {
  kill -9 "${pids[@]}" 2>/dev/null # munged may miss SIGTERM when it has just begun
  wait "${pids[@]}" 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT
fail() {
  echo "FAILED: $*"
  head -50 "$work"/*.log
  exit 1
}

# await FILE: something is in it, as long as the last process that was started lives.
await() {
  until [ -s "$1" ]; do
    kill -0 "${pids[-1]}" 2>/dev/null || fail "no $1"
    sleep 0.02
  done
}

start_munged() {
  head -c 64 /dev/zero | tr '\0' "$1" >"$work/$1.key"
  chmod 600 "$work/$1.key"
  $munged --foreground --socket="$work/$1.socket" --key-file="$work/$1.key" --pid-file="$work/$1.pid" \
    --seed-file="$work/$1.seed" --log-file=/dev/null >/dev/null 2>"$work/munged-$1.log" &
  pids+=($!)
  for ((looks = 0; looks < 20000; looks++)); do
    [ ! -S "$work/$1.socket" ] || return 0
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.02
  done
  echo "part skipped: $munged does not start: $(tail -n 1 "$work/munged-$1.log")"
  exit 0
}

# An address that nobody else has chosen.
address=127.77.$((RANDOM % 256)).$((1 + RANDOM % 254))

# start_sfd PAIR NODE OPTION... A socket that is there may not be listened to yet: sfd says when it serves.
start_sfd() {
  local pair=$1 node=$2
  shift 2
  "$BUILD/sfd" --socket "$work/$pair$node.sock" --fabric tcp --peers "$address:741$pair,$address:742$pair" \
    --node "$node" --calibrate no --ready-fd 3 "$@" 2>"$work/sfd-$pair$node.log" 3>"$work/$pair$node.ready" &
  pids+=($!)
  await "$work/$pair$node.ready"
}

# run_job PAIR: four ranks, two at each of its daemons; their output, in order.
run_job() {
  local rank ranks=() status=0
  for rank in 0 1 2 3; do
    SF_SOCKET=$work/$1$((rank % 2)).sock SF_JOB=proof SF_RANK=$rank SF_SIZE=4 "$BUILD/examples/hello" \
      >"$work/rank-$rank.log" 2>&1 &
    ranks+=($!)
  done
  for rank in "${ranks[@]}"; do
    wait "$rank" || status=1
  done
  cat "$work"/rank-?.log
  return $status
}

# expect WORDS OPTION...: a daemon that does not start, and says why.
expect() {
  local words=$1 out
  shift
  ! out=$("$BUILD/sfd" --socket "$work/no.sock" --fabric tcp --peers "$address:7413" --node 0 "$@" 2>&1) ||
    fail "sfd $*: it ran"
  grep -q "$words" <<<"$out" || fail "sfd $*: $out"
}

# expect_job PAIR: it runs over both daemons.
expect_job() {
  local out
  out=$(run_job "$1") || fail "the job over two daemons: $out"
  [ "$(grep -c 'saw' <<<"$out")" -eq 4 ] || fail "the ranks' output: $out"
}

everywhere=0.0.0.0:$((20000 + RANDOM % 10000))
mkdir "$work/empty"
start_sfd 0 0 --peer-auth user
start_sfd 0 1 --plugin-dir "$work/empty" # as there is neither key nor MUNGE
expect_job 0
expect 'serve on loopback only' --bind "$everywhere" --peer-auth user
expect 'no MUNGE (.*libsfd_munge' --bind "$everywhere" --plugin-dir "$work/empty"
expect 'libsfd_munge' --peer-auth munge --plugin-dir "$work/empty"
expect "expected key|munge|user, found 'none'" --peer-auth none
expect 'peer-key must be given' --peer-auth key
expect 'peer-auth says munge' --peer-auth munge --peer-key "$work/a.key"
expect 'peer-auth says user' --peer-auth user --peer-key "$work/a.key"

lacks=
[ -x $munged ] || lacks="no $munged"
[ -e "$BUILD/libsfd_munge.so" ] || lacks="built without libmunge-dev"
[ -z "$lacks" ] || { echo "part skipped: MUNGE: $lacks"; exit 0; }
start_munged a
start_munged b

start_sfd 1 0 --peer-auth munge --munge-socket "$work/a.socket"
start_sfd 1 1 --munge-socket "$work/a.socket" # as no key file is given
expect_job 1

start_sfd 2 0 --peer-auth munge --munge-socket "$work/a.socket"
start_sfd 2 1 --peer-auth munge --munge-socket "$work/b.socket"
told="node [01] (tcp $address:74[12]2) .*the MUNGE keys of the hosts differ"
! out=$(run_job 2) || fail "a job over two MUNGE keys: $out"
[ "$(grep -c "$told" <<<"$out")" -eq 4 ] || fail "what the ranks are told: $out"

expect "$work/nowhere" --peer-auth munge --munge-socket "$work/nowhere"
exit 0
