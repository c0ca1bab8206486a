#!/bin/bash
# What the tests of sfrun from outside share; they source it. Needs BUILD, the build directory. Leaves it and sfrun with
# their whole paths, and $work, a directory for all that the test writes, with the stand-ins that it makes.
# shellcheck disable=SC2034 # what is for the tests
BUILD=$(realpath "${BUILD:?the build directory}")
sfrun=$BUILD/sfrun
[ -x "$sfrun" ] || { echo "skipped: $sfrun is not built"; exit 77; }

work=$(mktemp -d "${TMPDIR:-/tmp}/sfrun-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset XDG_RUNTIME_DIR SF_SOCKET SF_JOB SF_JOB_KEY SF_RANK SF_SIZE SFRUN_MPIRUN SFD_LOG_LEVEL OMPI_ALLOW_RUN_AS_ROOT \
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_mpi_yield_when_idle OMPI_MCA_mca_base_env_list PBS_NODEFILE LSB_HOSTS \
  LSB_DJOB_HOSTFILE PE_HOSTFILE "${!SLURM_@}"
mkdir "$work/tmp"
export TMPDIR=$work/tmp

nfailed=0
out='' err='' rc=0
always=() # options for run

# Runs a command; leaves rc, and what it printed in $work/out and $work/err. On busy cores Hydra's mpirun dies of SIGPIPE
# when its helper process has ended, with programs that live for a moment, before mpirun has told it all: then once more.
try() {
  local _
  for _ in 1 2 3 4 5; do
    : >"$work/daemon"
    : >"$work/keys"
    rc=0
    "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
    [ $rc -eq 141 ] || break
  done
}

# Runs sfrun with the stand-in for sfd, $work/sfd; leaves out, err and rc.
run() {
  try "$sfrun" --sfd "$work/sfd" "${always[@]}" "$@"
  out=$(<"$work/out") err=$(<"$work/err")
}

local_run() { run --launcher local "$@"; }

fail() {
  echo "FAILED: $1"
  echo "  status $rc"
  sed 's/^/  out: /' "$work/out"
  sed 's/^/  err: /' "$work/err"
  nfailed=$((nfailed + 1))
}

expect_rc() { [ "$rc" -eq "$2" ] || fail "$1: expected status $2"; }
expect_out() { [ "$out" = "$2" ] || fail "$1: expected output '$2'"; }
expect_err() { [[ $err == *"$2"* ]] || fail "$1: expected '$2' among the messages"; }
expect_quiet() { [ -z "$err" ] || fail "$1: expected no message"; }

# In the directory of the sockets. Open MPI makes its own there.
has_no_directory() { [ -z "$(find "$TMPDIR" -mindepth 1 -name 'sfrun-*')" ]; }
have_stopped() { [ "$(grep -c stopped "$work/daemon")" -eq "$1" ]; }
expect_no_directory() { has_no_directory || fail "$1: left behind: $(ls "$TMPDIR")"; }

# The daemon, or all N of them, was told to end, and nothing is left.
expect_clean() { # WHAT [N]
  have_stopped "${2-1}" || fail "$1: daemons to be stopped: ${2-1}"
  expect_no_directory "$1"
}

# Waits for a command to succeed, as long as nothing takes unless it hangs.
eventually() {
  local _
  for _ in {1..4000}; do
    if "$@" 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  return 1
}

is_gone() { ! kill -0 "$1"; }
has_lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }

# A program that runs until sfrun has told, in the file that it gets as $0, that a daemon has ended.
until_told='for _ in $(seq 4000); do ! grep -q "ended before" "$0" || break; sleep 0.1; done'
