#!/bin/bash
# The cluster of namespaces that other tests use: its hosts are hosts, its links have their rate, and nothing of it is
# left. Needs root and iproute2.
set -u
[ -z "${SANITIZE-}" ] || { echo "skipped: nothing that is built runs here, so one build is enough"; exit 77; }
vcluster=$(dirname "$(dirname "$(realpath "$0")")")/vcluster
nfailed=0

fail() {
  echo "FAILED: $*"
  nfailed=$((nfailed + 1))
}

# What a cluster of this test could leave: links, directories, processes. Others may have theirs.
list_traces() {
  ip -o link | cut -d: -f2 | grep -E '^ (port[0-9]+|bridge)(@|$)'
  find "$work" -maxdepth 1 -name 'vcluster-*'
  find /proc -maxdepth 2 -name cmdline -exec grep -lza "$work/[v]cluster-" {} + 2>/dev/null
}

# What is killed takes a moment to be gone.
expect_no_traces() { # WHAT
  local found
  for _ in {1..4000}; do
    found=$(list_traces)
    [ -n "$found" ] || return 0
    sleep 0.1
  done
  fail "$1: left behind: $found"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/vct.XXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
"$vcluster" --sweep

"$vcluster" 2 true 2>"$work/err" || {
  [ $? -eq 77 ] || { cat "$work/err"; exit 1; }
  cat "$work/err"
  exit 77
}

# ---- Hosts ----

"$vcluster" 3 --slots 5 bash -c '
  echo "$VCLUSTER_HOSTS $(hostname) $($VCLUSTER_AGENT vc1 hostname) $($VCLUSTER_AGENT -x vc2 "echo a \$(hostname)")"
  tr "\n" " " <$VCLUSTER_HOSTFILE
  tr "\n" " " <$VCLUSTER_MACHINEFILE
  touch "$TMPDIR/own" /dev/shm/own
  $VCLUSTER_AGENT vc1 "echo \$TMPDIR; ls \$TMPDIR /dev/shm | grep -cx own"
  echo $TMPDIR
  read -r line; echo "$line"
  getent hosts vc2 | tr -s " "
' >"$work/out" 2>"$work/err" <<<"input"
[ $? -eq 0 ] || fail "hosts: status"
expected="vc0,vc1,vc2 vc0 vc1 a vc2
vc0 slots=5 vc1 slots=5 vc2 slots=5 vc0:5 vc1:5 vc2:5 DIR
0
DIR
input
10.77.0.3 vc2"
[ "$(sed 's|/.*/vcluster-[^/]*/run|DIR|' "$work/out")" = "$expected" ] || fail "hosts: $(cat "$work/out" "$work/err")"
expect_no_traces "normal end"

if [ "$(nproc)" -ge 2 ]; then
  "$vcluster" --own-cores 2 bash -c 'cores() { sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" "$1"; }
    $VCLUSTER_AGENT vc0 cat /proc/self/status >$TMPDIR/0; $VCLUSTER_AGENT vc1 cat /proc/self/status >$TMPDIR/1
    echo "$(cores $TMPDIR/0) $(cores $TMPDIR/1) $(cores /proc/self/status) $(nproc)"' >"$work/out" 2>"$work/err" ||
    fail "hosts with cores of their own: $(<"$work/err")"
  read -r first second here count <"$work/out"
  if [ "$first" = "$second" ] || [ "$first" != "$here" ] || [ "$count" -ne $(($(nproc) / 2)) ]; then
    fail "hosts with cores of their own: $(<"$work/out")"
  fi
fi

# ---- Links ----

# One host sends so many bytes, the other says how many bytes a second arrived, from the first to the last.
cat >"$work/stream" <<'END_PERL'
use strict; use IO::Socket::INET; use Time::HiRes 'time';
my ($agent, $nbytes) = @ARGV;
if ($agent ne 'send') {
  my $server = IO::Socket::INET->new(Listen => 1, LocalPort => 7000) or die $@;
  system("$agent vc1 perl $0 send $nbytes &");
  my $peer = $server->accept or die;
  my ($total, $data, $start) = (0);
  while (my $n = sysread($peer, $data, 1 << 16)) { $start //= time; $total += $n; }
  printf "%d %.0f\n", $total, $total / (time - $start);
} else {
  my $socket = IO::Socket::INET->new(PeerAddr => 'vc0', PeerPort => 7000) or die $@;
  for (my $left = $nbytes; $left > 0; $left -= 1 << 16) { syswrite($socket, 'x' x (1 << 16)) == 1 << 16 or die; }
}
END_PERL
# 25 million bytes a second with all headers. A busy machine may keep either host from its work for a while, so that
# the bytes seem to come slower, or all at once: some run must be right.
is_limited() { [ "${rate:-0}" -ge 17500000 ] && [ "$rate" -le 32500000 ]; }
if command -v perl >/dev/null; then
  for _ in {1..10}; do
    read -r total rate < <("$vcluster" --rate 200mbit 2 bash -c "perl '$work/stream' \$VCLUSTER_AGENT 16777216")
    [ "${total:-0}" -eq 16777216 ] || fail "stream between hosts: ${total:-no} bytes"
    echo "200 Mbit/s: ${rate:-no} bytes a second"
    ! is_limited || break
  done
  is_limited || fail "rate of 200 Mbit/s: ${rate:-no} bytes a second"
else
  echo "part skipped: no perl"
fi
"$vcluster" --delay 5ms 2 bash -c 'read -r up _ </proc/uptime; : 2>/dev/null >/dev/tcp/vc1/9; read -r now _ </proc/uptime
  echo $up $now' >"$work/out" 2>"$work/err"
case $? in
77) echo "part skipped: $(tail -n 1 "$work/err")" ;;
0) awk '{ exit !($2 - $1 >= 0.01) }' "$work/out" || fail "delay of 5 ms both ways: $(<"$work/out")" ;;
*) fail "delay: $(<"$work/err")" ;;
esac

# ---- The end ----

"$vcluster" 2 bash -c 'exit 7'
[ $? -eq 7 ] || fail "exit status"
expect_no_traces "failure"
"$vcluster" 2 bash -c '$VCLUSTER_AGENT vc1 "sleep 1000 & disown"; kill -9 $$'
[ $? -eq 137 ] || fail "status of a killed command"
expect_no_traces "killed command with a process left"
"$vcluster" 0 true 2>/dev/null
[ $? -eq 125 ] || fail "status of a wrong command line"

# Starts a cluster in the background as $pid, whose command says that it runs.
start() {
  rm -f "$work/runs"
  env --default-signal=INT "$vcluster" 2 bash -c "trap 'exit 9' TERM INT; \$VCLUSTER_AGENT vc1 'sleep 1000' & touch '$work/runs'
    wait" &
  pid=$!
  for _ in {1..4000}; do
    [ ! -e "$work/runs" ] || return
    sleep 0.1
  done
  fail "the command doesn't start"
}

for signal in TERM INT; do
  start
  kill -s $signal $pid
  wait $pid
  [ $? -eq 9 ] || fail "the command's status after SIG$signal"
  expect_no_traces "SIG$signal"
done

start
kill -9 $pid
wait $pid 2>/dev/null
for _ in {1..4000}; do # all but the directory is gone by itself
  left=$(list_traces | grep -v '/vcluster-[^/]*$')
  [ -n "$left" ] || break
  sleep 0.1
done
[ -z "$left" ] || fail "SIGKILL: left behind: $left"
"$vcluster" 1 true # sweeps
expect_no_traces "SIGKILL, and the next start"

[ $nfailed -eq 0 ] || { echo "$nfailed checks failed"; exit 1; }
echo "all checks passed"
