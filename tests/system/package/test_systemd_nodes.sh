#!/bin/bash
# What sfd(8) tells to do on several nodes, step by step, with the units of the installation: three hosts that each run a
# systemd of their own, whose daemons prove by a key that they belong, and jobs over all of them.
# Needs BUILD, the build directory.
set -u
BUILD=$(realpath "${BUILD:?the build directory}")
here=$(dirname "$(dirname "$(realpath "$0")")")

# ---- On the first of the hosts ----

on_each() { # COMMAND
  local host
  for host in ${VCLUSTER_HOSTS//,/ }; do "$VCLUSTER_AGENT" "$host" "$1" || return; done
}

fail() {
  echo "FAILED: $1"
  on_each 'echo "$(hostname):"; systemctl status --no-pager --full sfd.socket sfd.service; cat /run/sfd.log'
  exit 1
}

configure() { # LINE...: /etc/sfd.conf of all hosts
  printf '%s\n' "$@" >"$stage/sfd.conf"
  on_each "cp $stage/sfd.conf /etc/sfd.conf"
}

expect_hello() { # N WHAT: a job with a rank on each of the first hosts, by way of the daemons of the system
  local out i expected=
  for ((i = 0; i < $1; i++)); do expected+="rank $i: saw $(((i + 1) % $1)) "; done
  out=$(SF_SOCKET=/run/sfd/sfd.sock sfrun --quiet --mpirun mpirun.openmpi -n "$1" -hostfile "$VCLUSTER_HOSTFILE" \
    --map-by node "$BUILD/examples/hello" 2>&1)
  [ "$(sed 's/ at rank.*//' <<<"$out" | sort | tr '\n' ' ')" = "$expected" ] || fail "$2: $out"
}

# What the kernel and systemd say of the running daemon: the restrictions of the unit are in force.
expect_restricted() {
  local status
  status=$(systemctl show --property MainPID --value sfd.service)
  status=$("$VCLUSTER_AGENT" vc0 "systemctl --in cat /proc/$status/status")
  grep -q '^Seccomp:[[:space:]]*2$' <<<"$status" || fail "no filter of system calls: $status"
  grep -q '^CapEff:[[:space:]]*0*$' <<<"$status" || fail "capabilities: $status"
  [ "$(systemctl --in curl -s --unix-socket /run/sfd/metrics.sock http://localhost/metrics | grep -c ^sfd_build_info)" = 1 ] ||
    fail "no metrics"
}

# Daemons that nobody has started yet: the node that assembles a job may have no rank of it. Who waited until it can't be
# reached would do so for longer than the test may take.
expect_activation() {
  local i
  for i in 1 2 3 4; do
    on_each 'systemctl --quiet stop sfd.service 2>/dev/null'
    expect_hello 2 "job $i, which starts the daemons"
  done
}

inside() {
  local out
  stage=$1
  on_each "bash $here/host_systemd $stage sfd-$2" || exit
  sfd --make-key /etc/sfd.key || fail "sfd --make-key"
  [ "$(stat -c '%a %s' /etc/sfd.key)" = "600 32" ] || fail "the key's file: $(stat -c '%a %s' /etc/sfd.key)"
  ! sfd --make-key /etc/sfd.key 2>/dev/null || fail "sfd --make-key overwrites a key"
  cp -p /etc/sfd.key "$stage/key"
  on_each "[ -e /etc/sfd.key ] || cp -p $stage/key /etc/sfd.key"
  on_each 'echo SFD_CONFIG=/etc/sfd.conf >/etc/default/sfd'
  configure "fabric = tcp" "connect-timeout = 3600" "peers = vc0:7411,vc1:7411,vc2:7411" "peer-key = /etc/sfd.key" \
    "metrics = /run/sfd/metrics.sock"
  on_each 'systemctl --quiet enable --now sfd.socket sfd-peers.socket sfd.service' || fail "the units don't start"
  expect_restricted
  expect_hello 3 "a job over all hosts"
  out=$(SF_SOCKET=/run/sfd/sfd.sock sfctl doctor --all-nodes) && grep -q "^ok  *nodes  *3 of 3 daemons answer and agree" <<<"$out" ||
    fail "sfctl doctor --all-nodes: $out"
  on_each '! grep -E "^sfd\[[0-9]*\] (error|warn)" /run/sfd.log' || fail "the daemons complain"
  expect_activation
  echo "all checks passed"
}

if [ "${1-}" = --inside ]; then
  inside "$2" "$3"
  exit
fi

# ---- Outside ----

skip() {
  echo "skipped: $1"
  exit 77
}

[ -z "${SANITIZE-}" ] || skip "builds with sanitizers are not installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/systemd.XXXXXX")
clean_up() {
  find /sys/fs/cgroup -depth -type d -path "*/sfd-$$-vc*" -exec rmdir {} + 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT
command -v mpirun.openmpi >/dev/null || skip "no mpirun.openmpi"
make -s BUILD="$BUILD" DESTDIR="$work" PREFIX=/usr/local install >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
rc=0
"$here/vcluster" --slots 1 3 bash "$0" --inside "$work" $$ </dev/null >"$work/out" 2>&1 || rc=$?
cat "$work/out"
exit $rc
