#!/bin/bash
# sfrun from outside: exit status, arguments, environment, signals, cleaning up, and what is given to mpirun. Most of it
# runs with stand-ins for sfd and mpirun, which can be made to fail; then with the real ones as far as they are there.
# Needs BUILD, the build directory.
set -eu
here=$(dirname "$(dirname "$(realpath "$0")")")
# shellcheck source=tests/system/sfrun.sh
. "$here/sfrun.sh"

# ---- Stand-ins ----

# A daemon that says what it does in $work/daemon; FAKE_SFD chooses how it misbehaves.
cat >"$work/sfd" <<'END'
#!/bin/bash
here=$(dirname "$0")
echo "args $*" >>"$here/daemon"
while [ $# -gt 0 ]; do
  case $1 in
  --socket) socket=$2 ;;
  --ready-fd) ready=$2 ;;
  esac
  shift
done
[ "${FAKE_SFD-}" != fail ] || { echo "fake sfd: cannot listen" >&2; exit 3; }
: >"$socket"
sleep 1000 {ready}>&- >&- 2>&- &
trap 'kill $!; rm -f "$socket"; echo stopped >>"$here/daemon"; exit 0' TERM
echo "pid $$" >>"$here/daemon"
# Ready comes last: sfrun may send SIGTERM right after it.
[ "${FAKE_SFD-}" = silent ] || { echo READY=1 >&"$ready"; exec {ready}>&-; }
[ "${FAKE_SFD-}" != early ] || { kill $!; exit 4; }
wait
END

# An mpirun that prints its arguments, one a line; FAKE_MPI is what it says it is.
cat >"$work/mpirun" <<'END'
#!/bin/bash
if [ "$*" = --version ]; then
  echo "$FAKE_MPI"
  exit
fi
printf '<%s>\n' "$@"
echo "yield=${OMPI_MCA_mpi_yield_when_idle-}"
END

# An mpirun that says it is there, waits for a signal, and ends with the status FAKE_STATUS.
cat >"$work/waiting-mpirun" <<'END'
#!/bin/bash
if [ "$*" = --version ]; then
  echo "HYDRA build details:"
  exit
fi
for s in INT TERM HUP USR1; do trap "exit $FAKE_STATUS" $s; done
echo "$$" >>"$(dirname "$0")/ranks"
for i in {1..4000}; do sleep 0.1; done
END
chmod +x "$work/sfd" "$work/mpirun" "$work/waiting-mpirun"

# ---- Command line ----

run --help
expect_rc help 0
[[ $out == "usage: sfrun"*--launcher* ]] || fail "help: expected the usage"
run --version
expect_rc version 0
[[ $out == "sfrun "[0-9]*.*.* ]] || fail "version"
run -n 0 true
expect_rc "bad n" 125
expect_err "bad n" 'number of ranks "0"'
printf 'host\033[31m\n' >"$work/colourful"
run --hostfile "$work/colourful" -n 1 true
expect_rc "hostfile with an escape sequence" 125
expect_err "hostfile with an escape sequence" 'host\x1b[31m" is no host'
refused=$("$BUILD/sfd" --log-level=$'\e[31m' 2>&1 || true)
[[ $refused == *'\x1b[31m'* ]] || fail "sfd's option with an escape sequence"
run -n 2
expect_rc "no program" 125
expect_err "no program" "no program given"
run --mpirun "$work/none" -n 1 true
expect_rc "no mpirun" 127
expect_err "no mpirun" "$work/none"
SFRUN_MPIRUN=$work/nothing run -n 1 true
expect_rc "no mpirun in SFRUN_MPIRUN" 127
expect_err "no mpirun in SFRUN_MPIRUN" SFRUN_MPIRUN
local_run -n 1 "no-such-program-$$"
expect_rc "no program found" 127
expect_err "no program found" "\"no-such-program-$$\" is not in PATH"
run -n 1 --sfd-opt a=b true
expect_rc "value of an unknown option" 127
expect_err "value of an unknown option" "\"a=b\" is not in PATH; it follows --sfd-opt (did you mean --sfd-option?), which"
local_run -n 1 "$work/daemon"
expect_rc "not executable" 126
[ ! -s "$work/daemon" ] || fail "the daemon was started for a program that can't run"

# ---- Local launcher ----

local_run -n 2 true
expect_rc "success" 0
expect_quiet "success"
expect_clean "success"
local_run -n 2 --grace 1 sh -c '[ $SF_RANK = 0 ] || exit 7'
expect_rc "exit status" 7
expect_err "exit status" "rank 1 ended with exit status 7"
expect_clean "exit status"
local_run -n 1 sh -c 'kill -9 $$'
expect_rc "signal" 137
expect_clean "signal"
local_run -n 1 printf '<%s>' 'two words' '' '*' "it's" -- --quiet
expect_out "arguments" "<two words><><*><it's><--><--quiet>"
local_run -n 3 sh -c 'echo "$SF_RANK/$SF_SIZE"'
[ "$(sort "$work/out" | tr '\n' ' ')" = "0/3 1/3 2/3 " ] || fail "ranks"
local_run -n 2 sh -c 'echo "$SF_JOB $SF_JOB_KEY $SF_SOCKET"'
[ "$(sort -u "$work/out" | wc -l)" -eq 1 ] || fail "identity differs between ranks"
[[ $out =~ ^sh-[0-9a-f]{8}\ [0-9a-f]{32}\ $TMPDIR/sfrun-....../sfd.sock ]] || fail "identity"
first=$out
local_run -n 2 sh -c 'echo "$SF_JOB $SF_JOB_KEY $SF_SOCKET"'
[ "$first" != "$out" ] || fail "two jobs with the same identity"
CUDA_DEVICE_MAX_CONNECTIONS='' local_run -n 1 sh -c 'echo "<$CUDA_DEVICE_MAX_CONNECTIONS>"'
[ "$out" = "<>" ] || fail "queues of devices that are set: $out"
local_run -n 1 sh -c 'echo "<$CUDA_DEVICE_MAX_CONNECTIONS>"'
[ "$out" = "<32>" ] || fail "queues of devices: $out"
local_run -n 1 --job "night run" sh -c 'echo "$SF_JOB"'
expect_out "--job" "night run"
local_run -n 1 sh -c 'stat -c %a "$(dirname "$SF_SOCKET")"'
expect_out "mode of the directory" 700

local_run -n 2 --grace 1 sh -c '[ $SF_RANK = 1 ] && exit 3; trap "" TERM; exec sleep 1000'
expect_rc "grace" 3
expect_err "grace" "killing 1 rank that outlived rank 1"
expect_clean "grace"
local_run -n 2 --grace 400 sh -c '[ $SF_RANK = 1 ] && exit 3; sleep 0.5; echo done'
expect_rc "end within grace" 3
expect_out "end within grace" "done"
echo input | "$sfrun" --sfd "$work/sfd" --launcher local -n 2 cat >"$work/out"
[ "$(<"$work/out")" = input ] || fail "standard input"

# ---- Daemon ----

FAKE_SFD=fail local_run -n 1 true
expect_rc "daemon fails" 125
expect_err "daemon fails" "fake sfd: cannot listen"
expect_err "daemon fails" "ended before it was ready (exit status 3)"
expect_no_directory "daemon fails"
FAKE_SFD=early local_run -n 1 sh -c "$until_told" "$work/err"
expect_rc "daemon ends early" 0
expect_err "daemon ends early" "sfd ended before the program (exit status 4)"
expect_no_directory "daemon ends early"
run --sfd "$work/none" --launcher local -n 1 true
expect_rc "no sfd" 125
expect_err "no sfd" "$work/none"
local_run --sfd-option join-timeout=5 --log-level debug -n 1 true
grep -q -- '^args .*--log-level debug --join-timeout=5$' "$work/daemon" || fail "the daemon's options"
local_run -n 1 true
grep -q -- '--log-level warn$' "$work/daemon" || fail "the daemon's log level"
FAKE_SFD=fail local_run --keep-daemon-log "$work/log" -n 1 true
expect_err "daemon's log" "its message is in $work/log"
grep -q "cannot listen" "$work/log" || fail "daemon's log"
SF_SOCKET=$work/nobody local_run -n 1 true
expect_rc "SF_SOCKET without daemon" 125
expect_err "SF_SOCKET without daemon" "$work/nobody"
[ ! -s "$work/daemon" ] || fail "a daemon was started in spite of SF_SOCKET"
mkdir -p "$work/$(printf 'd%.0s' {1..120})"
TMPDIR=$work/$(printf 'd%.0s' {1..120}) local_run -n 1 sh -c 'echo "$SF_SOCKET"'
[[ $out == /tmp/sfrun-*/sfd.sock ]] || fail "too long a TMPDIR is passed over"
[ ! -e "$(dirname "$out")" ] || fail "directory in /tmp left behind"

# ---- Signals ----

# Starts sfrun in the background, as $pid, with ranks that write a line to $work/ranks when they are there.
start() {
  : >"$work/daemon"
  : >"$work/ranks"
  # Bash ignores SIGINT in what it runs in the background; sfrun would respect that.
  env --default-signal=INT "$sfrun" --sfd "$work/sfd" "$@" >"$work/out" 2>"$work/err" </dev/null &
  pid=$!
}

collect() {
  rc=0
  wait "$pid" || rc=$?
  out=$(<"$work/out") err=$(<"$work/err")
}

cat >"$work/rank" <<'END'
#!/bin/bash
for s in INT TERM HUP USR1 USR2; do trap "echo $s; exit 9" $s; done
echo "$$" >>"$(dirname "$0")/ranks"
for i in {1..4000}; do sleep 0.1; done
END
chmod +x "$work/rank"

for signal in INT TERM HUP USR1 USR2; do
  start --launcher local -n 2 "$work/rank"
  eventually has_lines "$work/ranks" 2 || fail "$signal: ranks don't start"
  kill -s $signal $pid
  collect
  expect_rc "SIG$signal" 9
  expect_out "SIG$signal" "$signal"$'\n'"$signal"
  expect_clean "SIG$signal"
done

start --launcher local -n 2 "$work/rank"
eventually has_lines "$work/ranks" 2 || fail "SIGKILL: ranks don't start"
kill -9 $pid
collect
eventually grep -q stopped "$work/daemon" || fail "the daemon outlives sfrun"
for rank in $(<"$work/ranks"); do
  eventually is_gone "$rank" || fail "rank $rank outlives sfrun"
done
rm -rf "$TMPDIR"/sfrun-* # nobody was left to do it

FAKE_SFD=silent start --launcher local -n 1 true
eventually has_lines "$work/daemon" 2 || fail "the silent daemon doesn't start"
kill $pid
collect
expect_rc "SIGTERM while the daemon starts" 143
expect_clean "SIGTERM while the daemon starts"

# ---- What mpirun is given ----

many=$(($(nproc --all) + 1))
root=$([ "$(id -u)" -eq 0 ] && echo yes || echo no)

FAKE_MPI="mpirun (Open MPI) 4.1.4" run --mpirun "$work/mpirun" -n "$many" --tag-output prog-not-here a
expect_rc "program of mpirun" 127
FAKE_MPI="mpirun (Open MPI) 4.1.4" run --mpirun "$work/mpirun" -n "$many" --tag-output -- true 'a b' --
expect_rc "Open MPI" 0
[[ $out == *"<-x>"$'\n'"<SF_JOB>"* && $out == *"<-x>"$'\n'"<SF_SOCKET>"* ]] || fail "Open MPI: forwarded variables"
[[ $out == *"<-n>"$'\n'"<$many>"$'\n'"<--tag-output>"$'\n'"<true>"$'\n'"<a b>"$'\n'"<-->"$'\n'"yield=1" ]] ||
  fail "Open MPI: arguments"
[[ $out == *"<--oversubscribe>"$'\n'"<--bind-to>"$'\n'"<none>"* ]] || fail "Open MPI: more ranks than cores"
expect_err "Open MPI" "adding"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "Open MPI: one line expected"
[ "$root" = no ] || expect_err "Open MPI" "as root"
[[ $root = no || $out == "<--allow-run-as-root>"* ]] || fail "Open MPI: root"
expect_clean "Open MPI"
FAKE_MPI="mpirun (Open MPI) 4.1.4" run --quiet --mpirun "$work/mpirun" -n "$many" true
expect_quiet "Open MPI --quiet"
FAKE_MPI="mpirun (Open MPI) 4.1.4" OMPI_MCA_mca_base_env_list=A run --mpirun "$work/mpirun" -n 1 true
[[ $out != *"<-x>"* ]] || fail "Open MPI: -x beside mca_base_env_list"
FAKE_MPI="HYDRA build details:" SFRUN_MPIRUN=$work/mpirun run -n "$many" true
expect_out "MPICH" "<-n>"$'\n'"<$many>"$'\n'"<true>"$'\n'"yield="
expect_quiet "MPICH"
FAKE_MPI="something else" run --mpirun "$work/mpirun" -n 1 true
expect_out "unknown MPI" "<-n>"$'\n'"<1>"$'\n'"<true>"$'\n'"yield="
expect_err "unknown MPI" "can't be told"

# What was told to end is no success, even if mpirun says so, and its ways to say that it was told to end become one;
# what it says otherwise stands.
while read -r signal status expected; do
  export FAKE_STATUS=$status
  start --mpirun "$work/waiting-mpirun" -n 1 true
  eventually has_lines "$work/ranks" 1 || fail "mpirun told SIG$signal: it doesn't start"
  kill -s "$signal" $pid
  collect
  expect_rc "mpirun that ends with status $status on SIG$signal" "$expected"
  expect_clean "mpirun that ends with status $status on SIG$signal"
done <<'END'
TERM 0 143
INT 0 130
HUP 0 129
USR1 0 0
USR1 1 1
TERM 7 7
TERM 1 143
TERM 15 143
INT 2 130
INT 11 130
INT 15 15
END

# ---- The MPIs that are there ----

# The programs live for a moment: on busy cores Hydra's mpirun dies of SIGPIPE, and their output with it, when its
# helper process has ended with them before mpirun has told it all. They wait a little, and run tries again.
with_mpi() { # PATH VARIABLE-OF-RANK VARIABLE-OF-SIZE
  run --mpirun "$1" -n 3 sh -c "sleep 0.2; echo \$$2/\$$3 \$SF_JOB \$SF_JOB_KEY \$SF_SOCKET"
  expect_rc "$1" 0
  [ "$(cut -d' ' -f1 "$work/out" | sort | tr '\n' ' ')" = "0/3 1/3 2/3 " ] || fail "$1: ranks"
  [ "$(cut -d' ' -f2- "$work/out" | sort -u | wc -l)" -eq 1 ] || fail "$1: identity"
  expect_clean "$1"
  SF_RANK=5 SF_SIZE=6 run --quiet --mpirun "$1" -n 1 sh -c 'sleep 0.2; echo "${SF_RANK-none} ${SF_SIZE-none}"'
  expect_out "$1: rank of a surrounding job" "none none"
  run --mpirun "$1" -n 1 sh -c 'sleep 0.2; exit 5'
  expect_rc "$1: exit status" 5
  expect_clean "$1: exit status"
  run --quiet --mpirun "$1" -n 1 sh -c 'sleep 0.2; printf "<%s>" "$@"' - 'two words' '*'
  expect_out "$1: arguments" "<two words><*>"
  start --mpirun "$1" -n 2 "$work/rank"
  eventually has_lines "$work/ranks" 2 || fail "$1: ranks don't start"
  kill -s TERM $pid
  collect
  [ $rc -ne 0 ] || fail "$1: SIGTERM"
  expect_clean "$1: SIGTERM"
  for signal in TERM INT; do # ranks that leave it to mpirun
    start --mpirun "$1" -n 2 sh -c "echo >>'$work/ranks'; exec sleep 1000"
    eventually has_lines "$work/ranks" 2 || fail "$1: ranks don't start"
    kill -s $signal $pid
    collect
    expect_rc "$1: told to end by SIG$signal" $((128 + $(kill -l $signal)))
    expect_clean "$1: told to end by SIG$signal"
  done
  start --mpirun "$1" -n 2 "$work/rank"
  eventually has_lines "$work/ranks" 2 || fail "$1: ranks don't start"
  kill -9 $pid
  collect
  for rank in $(<"$work/ranks"); do
    eventually is_gone "$rank" || fail "$1: rank $rank outlives sfrun"
  done
  eventually grep -q stopped "$work/daemon" || fail "$1: the daemon outlives sfrun"
  rm -rf "$TMPDIR"/sfrun-*
}

nmpis=0
for mpirun in mpirun.openmpi mpirun.mpich; do
  if path=$(command -v $mpirun); then
    nmpis=$((nmpis + 1))
    case $mpirun in
    *openmpi) with_mpi "$path" OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE ;;
    *) with_mpi "$path" PMI_RANK PMI_SIZE ;;
    esac
  else
    echo "part skipped: no $mpirun"
  fi
done

# ---- The real daemon ----

if [ -x "$BUILD/sfd" ]; then
  rc=0
  "$sfrun" --launcher local -n 2 sh -c 'test -S "$SF_SOCKET"' >"$work/out" 2>"$work/err" </dev/null || rc=$?
  err=$(<"$work/err")
  expect_rc "real daemon" 0
  expect_quiet "real daemon"
  expect_no_directory "real daemon"
  rc=0
  "$sfrun" --launcher local -n 1 "$sfrun" --launcher local -n 2 sh -c 'echo "$SF_SOCKET"' \
    >"$work/out" 2>"$work/err" </dev/null || rc=$?
  expect_rc "daemon of a surrounding sfrun" 0
  [ "$(sort -u "$work/out" | wc -l)" -eq 1 ] || fail "daemon of a surrounding sfrun"
  rc=0
  "$sfrun" --sfd-option no-such-option=1 --launcher local -n 1 true >"$work/out" 2>"$work/err" </dev/null || rc=$?
  err=$(<"$work/err")
  expect_rc "option that sfd refuses" 125
  expect_err "option that sfd refuses" "no-such-option"
  expect_no_directory "option that sfd refuses"
else
  echo "part skipped: no $BUILD/sfd"
fi

if [ $nfailed -gt 0 ]; then
  echo "$nfailed checks failed"
  exit 1
fi
echo "all checks passed, with $nmpis MPIs"
