#!/bin/bash
# sfrun with several daemons: on this host, and on the hosts of a cluster of namespaces, where that can be made. With a
# stand-in for sfd that can be made to fail, then with the real one. Needs BUILD, the build directory.
set -eu
here=$(dirname "$(dirname "$(realpath "$0")")")
# shellcheck source=tests/system/sfrun.sh
. "$here/sfrun.sh"
always=(--quiet)

# A daemon that writes down what it is given; SFD_FAKE=fail or early with SFD_FAKE_NODE, SFD_FAKE_HOST: the one of that
# node, or on that host, fails. sfrun passes variables on that begin with SFD_.
cat >"$work/sfd" <<'END_SFD'
#!/bin/bash
here=$(dirname "$0")
node='' fd='' words="$*"
while [ $# -gt 0 ]; do
  case $1 in
  --socket) socket=$2 ;;
  --ready-fd) ready=$2 ;;
  --node) node=$2 ;;
  --fabric-fd) fd=$2 ;;
  --peer-key) key=$2 ;;
  esac
  shift
done
fake=${SFD_FAKE-}
[ "$node" = "${SFD_FAKE_NODE-$node}" ] || fake=
[ "$(hostname)" = "${SFD_FAKE_HOST-$(hostname)}" ] || fake=
[ "$fake" != fail ] || { echo "fake sfd: cannot listen" >&2; exit 3; }
: >"$socket"
echo "$(hostname) key $(stat -c '%a %s' "${key:-/dev/null}") $(md5sum <"${key:-/dev/null}")" >>"$here/keys"
[ -z "$fd" ] || echo "fd $(readlink /proc/$$/fd/"$fd" | cut -d: -f1)" >>"$here/keys"
# The sleeper must hold nothing that mpirun waits to be closed by all: MPICH's leaves much open.
(
  for path in /proc/$BASHPID/fd/*; do
    eval "exec ${path##*/}>&-"
  done
  exec sleep 1000
) &
trap 'kill $!; rm -f "$socket"; echo stopped >>"$here/daemon"; exit 0' TERM
echo "pid $$ args $words" >>"$here/daemon"
# Ready comes last: sfrun may send SIGTERM right after it.
[ "$fake" = silent ] || { echo READY=1 >&"$ready"; exec {ready}>&-; }
[ "$fake" != early ] || { kill $!; exit 4; }
wait
END_SFD
chmod +x "$work/sfd"

# ---- Helpers ----

# As expect_clean, of daemons that mpirun started: if their end takes long it kills what is told to end with them, and
# what does the cleaning outlives it.
expect_clean_soon() { # WHAT N
  eventually have_stopped "$2" || fail "$1: $2 daemons were to be stopped"
  eventually has_no_directory || fail "$1: left behind: $(ls "$TMPDIR")"
}

# The daemon of each rank: lines "RANK NODE" are expected in order.
expect_nodes() { # WHAT EXPECTED
  local found
  found=$(sed 's|/.*sfd\.\([0-9]*\)\.sock|\1|' "$work/out" | sort -n | tr '\n' ' ')
  [ "$found" = "$2 " ] || fail "$1: expected ranks on nodes '$2', found '$found'"
}

is_missing() { [ ! -e "$1" ]; }
is_written() { [ -s "$1" ]; }

# ---- Several daemons on this host ----

rank='echo ${SF_RANK-${OMPI_COMM_WORLD_RANK-$PMI_RANK}} $SF_SOCKET'

local_run --nodes 2 -n 4 sh -c "$rank"
expect_rc "block" 0
expect_quiet "block"
expect_nodes "block" "0 0 1 0 2 1 3 1"
expect_clean "block" 2
for node in 0 1; do
  grep -q "args .*--fabric tcp --peers $TMPDIR/sfrun-....../peers --node $node --peer-key .* --fabric-fd" \
    "$work/daemon" || fail "arguments of node $node"
done
[ "$(grep -c '^fd socket' "$work/keys")" -eq 2 ] || fail "the daemons inherit sockets"
[ "$(grep -c ' key 600 32 ' "$work/keys")" -eq 2 ] || fail "the key is private"
[ "$(grep ' key ' "$work/keys" | sort -u | wc -l)" -eq 1 ] || fail "both have the same key"
first=$(head -n 1 "$work/keys")
local_run --nodes 2 --distribution cyclic -n 3 sh -c "$rank"
expect_nodes "cyclic" "0 0 1 1 2 0"
! grep -qF "$first" "$work/keys" || fail "the same key twice"
# In one write each: cat may copy in a way that does not share the offset of the file with another process.
local_run --nodes 3 -n 2 sh -c "$rank; list=\$(cat \$(dirname \$SF_SOCKET)/peers); echo \"peers
\$list\" >&2"
expect_nodes "more nodes than ranks" "0 0 1 1"
[ "$(grep -c '^127\.0\.0\.1:[0-9]*$' "$work/err")" -eq 6 ] || fail "peers"
expect_clean "more nodes than ranks" 3
local_run --nodes 1 -n 2 sh -c 'echo $SF_SOCKET'
[[ $out == *sfd.sock* ]] || fail "one node"
! grep -q fabric "$work/daemon" || fail "one node needs no fabric"

SFD_FAKE=fail SFD_FAKE_NODE=1 local_run --nodes 3 -n 1 true
expect_rc "a daemon fails" 125
expect_err "a daemon fails" "of node 1 ended before it was ready (exit status 3)"
[ -z "$(ls "$TMPDIR")" ] || fail "a daemon fails: left behind"
SFD_FAKE=early SFD_FAKE_NODE=1 local_run --nodes 2 -n 1 sh -c "$until_told" "$work/err"
expect_rc "a daemon ends early" 0
expect_err "a daemon ends early" "sfd of node 1 ended before the program (exit status 4)"
expect_clean "a daemon ends early" 1
local_run --nodes 2 -n 2 sh -c '[ $SF_RANK = 0 ] || exit 6'
expect_rc "exit status" 6
expect_clean "exit status" 2
SF_SOCKET=$work/nobody local_run --nodes 2 -n 1 true
expect_rc "SF_SOCKET" 125
expect_err "SF_SOCKET" "unset SF_SOCKET"
local_run --nodes 2 --keep-daemon-log "$work/log" -n 1 true
expect_rc "log" 0

# Starts sfrun in the background, as $pid, with ranks that write a line to $work/ranks when they are there.
start() {
  : >"$work/daemon"
  : >"$work/ranks"
  env --default-signal=INT "$sfrun" --sfd "$work/sfd" --quiet "$@" >"$work/out" 2>"$work/err" </dev/null &
  pid=$!
}

collect() {
  rc=0
  wait "$pid" || rc=$?
  out=$(<"$work/out") err=$(<"$work/err")
}

cat >"$work/rank" <<'END_RANK'
#!/bin/bash
for s in INT TERM; do trap "echo $s; exit 9" $s; done
echo "$$" >>"$(dirname "$0")/ranks"
for i in {1..4000}; do sleep 0.1; done
END_RANK
chmod +x "$work/rank"

start --launcher local --nodes 2 -n 2 "$work/rank"
eventually has_lines "$work/ranks" 2 || fail "ranks don't start"
kill -s TERM $pid
collect
expect_rc "SIGTERM" 9
expect_clean "SIGTERM" 2
start --launcher local --nodes 2 -n 2 "$work/rank"
eventually has_lines "$work/ranks" 2 || fail "ranks don't start"
kill -9 $pid
collect
for daemon in $(sed -n 's/^pid \([0-9]*\).*/\1/p' "$work/daemon"); do
  eventually is_gone "$daemon" || fail "a daemon outlives sfrun"
done
rm -rf "$TMPDIR"/sfrun-* # nobody was left to do it
SFD_FAKE=silent SFD_FAKE_NODE=1 start --launcher local --nodes 2 -n 1 true
eventually has_lines "$work/daemon" 2 || fail "the silent daemon doesn't start"
kill $pid
collect
expect_rc "SIGTERM while the daemons start" 143
expect_clean "SIGTERM while the daemons start" 2

for mpirun in mpirun.openmpi mpirun.mpich; do
  path=$(command -v $mpirun) || { echo "part skipped: no $mpirun"; continue; }
  run --mpirun "$path" --nodes 2 -n 4 sh -c "$rank"
  expect_rc "$mpirun" 0
  expect_nodes "$mpirun" "0 0 1 0 2 1 3 1"
  expect_clean "$mpirun" 2
  run --mpirun "$path" --nodes 2 --distribution cyclic -n 3 sh -c "$rank"
  expect_nodes "$mpirun, cyclic" "0 0 1 1 2 0"
  run --mpirun "$path" --nodes 2 -n 1 printf '<%s>' 'two words' '' '*' '--as-rank'
  [ "$out" = "<two words><><*><--as-rank>" ] || fail "$mpirun: arguments"
  run --mpirun "$path" --nodes 2 -n 1 sh -c 'exit 5'
  expect_rc "$mpirun: exit status" 5
done
rc=0
"$sfrun" --as-rank block 2 "$work" -- true 2>"$work/err" || rc=$?
expect_rc "--as-rank without a job" 125
rc=0
SF_JOB=j SF_RANK=1 SF_SIZE=2 "$sfrun" --as-rank block 2 "$work" -- true 2>"$work/err" || rc=$?
err=$(<"$work/err")
expect_rc "--as-rank without a daemon" 125
expect_err "--as-rank without a daemon" "no daemon's socket $work/sfd.1.sock"

# ---- Daemons that mpirun starts here ----

for mpirun in mpirun.openmpi mpirun.mpich; do
  path=$(command -v $mpirun) || continue
  run --mpirun "$path" --nodes 2 --fabric mpi -n 4 sh -c "$rank"
  expect_rc "$mpirun, fabric mpi" 0
  expect_quiet "$mpirun, fabric mpi"
  expect_nodes "$mpirun, fabric mpi" "0 0 1 0 2 1 3 1"
  expect_clean_soon "$mpirun, fabric mpi" 2
  [ "$(grep -c 'args --fabric mpi' "$work/daemon")" -eq 2 ] || fail "$mpirun, fabric mpi: arguments"
  SFD_FAKE=fail run --mpirun "$path" --nodes 2 --fabric mpi -n 1 true
  expect_rc "$mpirun, fabric mpi fails" 125
  expect_err "$mpirun, fabric mpi fails" "fabric mpi is not available"
  expect_clean_soon "$mpirun, fabric mpi fails" 0
done

# An mpirun of two daemons that drops the first signal, as one does that has nobody yet to pass it on to, and says so if
# it is told to end in another way.
cat >"$work/mpirun" <<'END_MPIRUN'
#!/bin/bash
if [ "$*" = --version ]; then
  echo "mpirun (Open MPI) 4.1.4"
  exit
fi
case " $* " in
*" --as-daemon "*) ;;
*) exit 3 ;;
esac
told=0
trap '[ $((told += 1)) -lt 2 ] || exit 0' USR1
trap 'echo "told by SIGTERM" >&2; exit 0' TERM
echo "sfrun-daemon-ready here"
echo "sfrun-daemon-ready here"
for i in {1..4000}; do sleep 0.1; done
END_MPIRUN
chmod +x "$work/mpirun"
run --mpirun "$work/mpirun" --nodes 2 --fabric mpi -n 1 true
expect_rc "mpirun that drops the signal" 3
expect_quiet "mpirun that drops the signal"
has_no_directory || fail "mpirun that drops the signal: left behind: $(ls "$TMPDIR")"

# mpirun kills what it has told to end if that takes long, and what does the cleaning must outlive it.
"$sfrun" --as-daemon "$TMPDIR/sfrun-killed" 1 -- "$work/sfd" >"$work/out" 2>"$work/err" </dev/null &
pid=$!
eventually is_written "$work/out" || fail "killed beside its daemon: not ready"
[ -e "$TMPDIR/sfrun-killed/sfd.sock" ] || fail "killed beside its daemon: no daemon"
kill -9 $pid
collect
eventually is_missing "$TMPDIR/sfrun-killed" || fail "killed beside its daemon: left behind"
# The same while the daemon starts: nobody is left to be told that it is ready.
mkfifo "$work/unread"
exec {reader}<>"$work/unread"
exec {unread}>"$work/unread"
exec {reader}<&-
rc=0
"$sfrun" --as-daemon "$TMPDIR/sfrun-unread" 1 -- "$work/sfd" 1>&"$unread" 2>"$work/err" </dev/null || rc=$?
exec {unread}>&-
err=$(<"$work/err")
expect_rc "ready, unread" 125
expect_err "ready, unread" "standard output: Broken pipe"
is_missing "$TMPDIR/sfrun-unread" || fail "ready, unread: left behind"

# ---- Hosts ----

expect_hosts() { # WHAT LINE...: the part of the cluster's output behind a line "== WHAT" consists of these lines
  local what=$1 found expected
  shift
  expected=$([ $# -eq 0 ] || printf '%s\n' "$@")
  # Open MPI warns when the agent is quicker than itself.
  found=$(sed -n "/plm:rsh: Warning/d; /^== $what\$/,/^== /{/^== /!p}" "$work/out")
  [ "$found" = "$expected" ] || fail "hosts, $what: expected '$expected', found '$found'"
}

# Runs on the first of three hosts. Their sfrun-* directories are their own.
cat >"$work/hosts" <<'END_HOSTS'
#!/bin/bash
work=$1 sfrun=$2 until_told=$4
export SFRUN_MPIRUN=$3
run() {
  echo "== $1"
  shift
  for _ in 1 2 3 4 5; do # see try
    "$sfrun" --quiet --sfd "$work/sfd" "$@" </dev/null >"$work/run"
    status=$?
    [ $status -eq 141 ] || break
  done
  cat "$work/run"
  echo "status $status"
}
file=(--hostfile "$VCLUSTER_HOSTFILE")
each() { for host in ${VCLUSTER_HOSTS//,/ }; do "$VCLUSTER_AGENT" "$host" "$1"; done; }
clean() { # who was killed needs a moment
  for _ in {1..4000}; do
    left=$(each 'ls $TMPDIR | grep ^sfrun; true'; pgrep -f "$work/sfd")
    [ -n "$left" ] || return
    sleep 0.1
  done
  echo "left behind: $left"
}

run "hostname" "${file[@]}" -n 6 sh -c 'echo $(hostname) $(ls $(dirname $SF_SOCKET) | tr "\n" " ")' | sort
clean
run "cyclic" "${file[@]}" --distribution cyclic -n 3 hostname | sort
run "other file" --hostfile "$VCLUSTER_MACHINEFILE" -n 1 hostname
run "one host" --hostfile <(echo vc2) -n 1 hostname
run "status" "${file[@]}" -n 1 sh -c 'exit 7' 2>/dev/null
run "early" "${file[@]}" -n 1 sh -c "kill -9 \$(sed -n 's/^pid \([0-9]*\).*vc0:.*/\1/p' '$work/daemon' | tail -n 1)
  $until_told" "$work/run.err" 2>"$work/run.err"
sed 's/on vc[0-2]/on HOST/' "$work/run.err"
clean
export SFD_FAKE=fail SFD_FAKE_NODE=
run "daemon fails" --mca x y --sfd-option node=7 "${file[@]}" -n 1 hostname 2>/dev/null
unset SFD_FAKE_NODE
# Hydra's mpirun leaves the others running.
export SFD_FAKE_HOST=vc1
run "one daemon fails" "${file[@]}" -n 1 hostname 2>"$work/run.err"
grep -q "daemon on vc1 did not start\|mpirun.* ended before the daemons were ready" "$work/run.err" || cat "$work/run.err"
unset SFD_FAKE SFD_FAKE_HOST
clean
: >"$work/ps"
# What mpirun is given, and so sends in clear.
cat >"$work/mpirun" <<END_MPIRUN
#!/bin/bash
{ env; printf '%s\n' "\$@"; } >>"$work/sent"
exec $SFRUN_MPIRUN "\$@"
END_MPIRUN
chmod +x "$work/mpirun"
: >"$work/sent"
: >"$work/keys"
cat >"$work/look" <<'END_LOOK'
#!/bin/bash
here=$(dirname "$0")
od -An -tx1 -v "$(dirname "$SF_SOCKET")/peer-key" | tr -d ' \n' >"$here/key"
ps -eww -o args >"$here/ps"
ls "$TMPDIR" | grep key
echo "${SF_JOB_KEY-no key of the job}"
END_LOOK
chmod +x "$work/look"
run "secret" --mpirun "$work/mpirun" "${file[@]}" -n 1 "$work/look"
[ "$(wc -c <"$work/key")" -eq 64 ] && ! grep -qiFf "$work/key" "$work/sent" "$work/ps" || echo "the key is sent"
! grep SF_JOB_KEY "$work/sent"
run "own proof" --sfd-option peer-auth=munge "${file[@]}" -n 1 sh -c 'ls $(dirname $SF_SOCKET)'
echo "== no shell"
HYDRA_LAUNCHER_EXEC=$work/none OMPI_MCA_plm_rsh_agent=$work/none "$sfrun" --quiet --sfd "$work/sfd" "${file[@]}" -n 1 \
  true 2>&1 </dev/null | grep -o "no remote shell for the daemons' key"
echo "== localhost"
"$sfrun" --quiet --sfd "$work/sfd" --hostfile <(printf 'vc1\nlocalhost\n') -n 1 true 2>&1 </dev/null |
  grep -o "localhost is another host on each host"
echo "== killed"
: >"$work/ranks"
"$sfrun" --quiet --sfd "$work/sfd" "${file[@]}" -n 2 "$work/rank" </dev/null >/dev/null 2>&1 &
for _ in {1..4000}; do [ "$(wc -l <"$work/ranks")" -lt 2 ] || break; sleep 0.1; done
kill -9 $!
wait $! 2>/dev/null
rm -rf "$TMPDIR"/sfrun-?????? # nobody was left to do it
clean
echo "== slurm"
mkdir "$TMPDIR/bin"
printf '#!/bin/sh\necho vc0\necho vc1\n' >"$TMPDIR/bin/scontrol"
chmod +x "$TMPDIR/bin/scontrol"
PATH=$TMPDIR/bin:$PATH SLURM_JOB_NODELIST='vc[0-1]' SLURM_JOB_NUM_NODES=2 "$sfrun" --sfd "$work/sfd" --quiet -n 1 \
  sh -c 'sleep 0.2; echo "$(hostname), overlap $SLURM_OVERLAP"' </dev/null
grep -c -- '--peers vc0:[0-9]*,vc1:[0-9]* ' "$work/daemon"
clean
echo "== end"
END_HOSTS

: >"$work/out"
: >"$work/err"
rc=0
"$here/vcluster" 1 true 2>"$work/err" || rc=$?
has_cluster=yes
[ $rc -ne 77 ] || { has_cluster=''; echo "part skipped: $(tail -n 1 "$work/err")"; }
for mpirun in mpirun.openmpi mpirun.mpich; do
  [ -n "$has_cluster" ] && path=$(command -v $mpirun) || continue
  : >"$work/daemon"
  : >"$work/keys"
  "$here/vcluster" --slots 2 3 bash "$work/hosts" "$work" "$sfrun" "$path" "$until_told" >"$work/out" 2>"$work/err" ||
    fail "$mpirun: cluster"
  expect_hosts "hostname" "status 0" "vc0 peer-key sfd.sock" "vc0 peer-key sfd.sock" "vc1 peer-key sfd.sock" \
    "vc1 peer-key sfd.sock" "vc2 peer-key sfd.sock" "vc2 peer-key sfd.sock"
  expect_hosts "cyclic" "status 0" "vc0" "vc1" "vc2"
  expect_hosts "other file" "vc0" "status 0"
  expect_hosts "one host" "vc2" "status 0"
  expect_hosts "status" "status 7"
  expect_hosts "early" "status 0" "sfrun: sfd on HOST ended before the program (signal 9 (Killed))"
  expect_hosts "daemon fails" "status 125"
  expect_hosts "one daemon fails" "status 125"
  expect_hosts "secret" "no key of the job" "status 0"
  expect_hosts "own proof" "sfd.sock" "status 0"
  expect_hosts "no shell" "no remote shell for the daemons' key"
  expect_hosts "localhost" "localhost is another host on each host"
  expect_hosts "killed"
  expect_hosts "slurm" "vc0, overlap 1" "2"
  grep -q -- --as-daemon "$work/ps" || fail "$mpirun: processes of the daemons"
  [ "$(head -n 3 "$work/keys" | cut -d' ' -f2- | sort -u | grep -c 'key 600 32')" -eq 1 ] ||
    fail "$mpirun: all hosts have one private key"
done

# ---- The real daemon ----

# The MPI that the plugin of the fabric is built with.
plugin_mpi() {
  [ -e "$BUILD/libsfd_mpi.so" ] || return 0
  case $(ldd "$BUILD/libsfd_mpi.so") in
  *libmpich.so*) echo mpirun.mpich ;;
  *libmpi.so*) echo mpirun.openmpi ;;
  esac
}

# Runs a command that must say what hello does on 4 ranks.
expect_hello() { # WHAT COMMAND...
  local what=$1
  shift
  try "$@"
  expect_rc "$what" 0
  [ "$(sed 's/ at rank.*//' "$work/out" | sort | tr '\n' ' ')" = \
    "rank 0: saw 1 rank 1: saw 2 rank 2: saw 3 rank 3: saw 0 " ] || fail "$what"
  [ -z "$(find "$TMPDIR" -mindepth 1 -name 'sfrun-*')" ] || fail "$what: left behind: $(ls "$TMPDIR")"
}

hello=$BUILD/examples/hello
plugin=$(plugin_mpi)
if [ -x "$BUILD/sfd" ] && [ -x "$hello" ]; then
  expect_hello "real daemons" "$sfrun" --quiet --launcher local --nodes 2 -n 4 "$hello"
  expect_hello "real daemons, cyclic" "$sfrun" --quiet --launcher local --nodes 3 --distribution cyclic -n 4 "$hello"
  for mpirun in mpirun.openmpi mpirun.mpich; do
    path=$(command -v $mpirun) || continue
    fabrics=tcp
    [ $mpirun != "$plugin" ] || fabrics="tcp mpi"
    for fabric in $fabrics; do
      expect_hello "$mpirun, real daemons, fabric $fabric" \
        "$sfrun" --quiet --mpirun "$path" --nodes 2 --fabric $fabric -n 4 "$hello"
      [ -z "$has_cluster" ] || expect_hello "$mpirun, real daemons on hosts, fabric $fabric" \
        "$here/vcluster" --slots 2 2 bash -c \
        "'$sfrun' --quiet --mpirun '$path' --hostfile \$VCLUSTER_HOSTFILE --fabric $fabric -n 4 '$hello'"
    done
  done
  try bash -c 'set -o pipefail; (ulimit -f 0; exec "$0" "$@") 2>&1 | cat >&2' \
    "$sfrun" --launcher local --nodes 2 -n 2 true
  expect_rc "no file may grow" 125
  grep -q "File too large" "$work/err" || fail "no file may grow"
  # A network namespace that is new has its loopback interface down. Both nodes say why the other's rank does not come.
  if unshare --net true 2>/dev/null; then
    try timeout 100 unshare --net "$sfrun" --quiet --launcher local --nodes 2 --sfd-option join-timeout=6 \
      --sfd-option connect-timeout=1 -n 2 "$hello"
    for node in 0 1; do
      [ "$(grep -c "^sf_init:.*rank [01];.*node $node (tcp .*Network is unreachable" "$work/err")" -eq 1 ] ||
        fail "no loopback interface: that node $node can't be reached"
    done
  else
    echo "part skipped: no namespaces of networks"
  fi
  [ -n "$plugin" ] || echo "part skipped: $BUILD/libsfd_mpi.so, for fabric mpi, is not built"
else
  echo "part skipped: no $BUILD/sfd or no $hello"
fi

if [ $nfailed -gt 0 ]; then
  echo "$nfailed checks failed"
  exit 1
fi
echo "all checks passed"
