#!/bin/bash
# The files for systemd, without a running one: units that systemd understands and finds well closed, the directory of
# the socket, activation by systemd-socket-activate, and the example of a configuration file.
# Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
sfd=$BUILD/sfd
MOST_EXPOSED=20 # tenths; systemd-analyze security calls up to 2 "safe" or "ok" and an ordinary service "unsafe"

work=$(mktemp -d "${TMPDIR:-/tmp}/systemd.XXXXXX")
pid=
clean_up() {
  [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
unset LISTEN_PID LISTEN_FDS LISTEN_FDNAMES NOTIFY_SOCKET SF_SOCKET

fail() {
  echo "FAILED: $1"
  exit 1
}

# has PROGRAM WHAT: whether the part can be tested.
has() {
  command -v "$1" >/dev/null && return
  echo "part skipped: $2: no $1"
  return 1
}

# The unit relies on it.
for wrong in --no-such-option --hello-timeout=x --log-level=loud --fabric=pigeons \
  '--fabric=tcp --peer-auth=user --peers=127.0.0.1' '--fabric=tcp --peer-auth=user --peers=127.0.0.1:7411 --node=1'; do
  rc=0
  # shellcheck disable=SC2086
  "$sfd" --socket "$work/wrong" $wrong >/dev/null 2>&1 || rc=$?
  [ $rc -eq 2 ] || fail "exit status $rc for the wrong option $wrong"
done
rc=0
"$sfd" --socket "$work/none/socket" >/dev/null 2>&1 || rc=$?
[ $rc -eq 1 ] || fail "exit status $rc where no socket can be"

# ---- Units ----

sed "s|@PREFIX@/bin/sfd|$sfd|" systemd/sfd.service.in >"$work/sfd.service"
cp systemd/sfd.socket systemd/sfd-peers.socket "$work"

if has systemd-analyze units; then
  said=$(systemd-analyze verify --man=no "$work/sfd.service" "$work/sfd.socket" "$work/sfd-peers.socket" 2>&1) || fail "units: $said"
  ! grep -F "$work" <<<"$said" || fail "units: that is what systemd-analyze verify says"
  if systemd-analyze --help 2>/dev/null | grep -q -- --offline; then
    systemd-analyze security --offline=true --threshold=$MOST_EXPOSED --no-pager "$work/sfd.service" \
      >"$work/security" 2>&1 || fail "sfd.service is too exposed: $(grep -v '^✓' "$work/security")"
    tail -n 1 "$work/security"
  else
    echo "part skipped: exposure: this systemd-analyze has no --offline"
  fi
fi

# ---- The directory of the socket ----

socket=$(sed -n 's/^ListenStream=//p' systemd/sfd.socket)
directory=$(dirname "$socket")
[ "$(sed -n 's/^SocketMode=//p' systemd/sfd.socket)" = 0666 ] || fail "the socket is not for all users"

if [ "$(id -u)" -ne 0 ]; then
  echo "part skipped: directory of the socket: only root can make one of root's"
elif has systemd-tmpfiles "directory of the socket"; then
  mkdir "$work/root"
  systemd-tmpfiles --create --root="$work/root" "$PWD/systemd/sfd.tmpfiles" || fail "tmpfiles"
  [ "$(stat -c '%a %u %g' "$work/root$directory")" = "755 0 0" ] ||
    fail "directory of the socket: $(stat -c '%a %u %g' "$work/root$directory")"
fi

# ---- Activation ----

# As the unit does: root without the power of root.
launcher=()
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
  launcher=(setpriv --bounding-set=-all --inh-caps=-all --no-new-privs --)
  "${launcher[@]}" test -x "$sfd" || launcher=() # another user's directory
fi

eventually() {
  local _
  for _ in {1..4000}; do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  return 1
}

# Fails with $rc 3 as long as nobody listens at the socket: it is there a moment earlier.
ask_status() {
  rc=0
  "$BUILD/sfctl" status >"$work/status" 2>&1 || rc=$?
  [ $rc -ne 3 ]
}

if has systemd-socket-activate activation; then
  socket=$work/sfd.sock
  "${launcher[@]}" systemd-socket-activate -l "$socket" "$sfd" --socket "$socket" --calibrate=no >"$work/log" 2>&1 &
  pid=$!
  eventually test -S "$socket" || fail "activation: no socket: $(<"$work/log")"
  export SF_SOCKET=$socket
  eventually ask_status || true
  [ $rc -eq 0 ] || fail "activation: $(<"$work/status") $(<"$work/log")"
  grep -qF "$pid" "$work/status" || fail "activation: process $pid does not serve: $(<"$work/status")"
  "$BUILD/sfrun" --launcher local -n 2 true || fail "activation: sfrun"
  kill "$pid"
  rc=0
  wait "$pid" || rc=$?
  pid=
  [ $rc -eq 0 ] || fail "activation: exit status $rc: $(<"$work/log")"
  [ -S "$socket" ] || fail "activation: sfd removed a socket that is not its own"
  [ ! -e "$socket.lock" ] || fail "activation: sfd locked a socket that is not its own"
  unset SF_SOCKET
fi

# ---- The example of a configuration file ----

# print_values CONFIG: what is in effect with it, without the comments on where that comes from.
print_values() { "$sfd" --config "$1" --print-config | sed 's/ *# .*//' | sort; }

"$sfd" --config systemd/sfd.conf --print-config >/dev/null || fail "sfd.conf"
sed 's/^#\([a-z-]* = \)/\1/' systemd/sfd.conf >"$work/sfd.conf"
names() { sed -n 's/^\([a-z-]*\) = .*/\1/p' | sort; }
missing=$(comm -23 <("$sfd" --print-config | names) <(names <"$work/sfd.conf"))
[ -z "$missing" ] || fail "sfd.conf does not show $missing"
# Those that are empty by default it shows with some value.
changed=$(comm -23 <(print_values /dev/null | grep -v '=$') <(print_values "$work/sfd.conf"))
[ -z "$changed" ] || fail "sfd.conf does not show the default $changed"
