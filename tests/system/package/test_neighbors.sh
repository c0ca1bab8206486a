#!/bin/bash
# Neighborhood collectives of MPI programs that sfrun --neighbors runs, with Open MPI and with MPICH: the same results as
# of MPI's own functions (tests/neighbors), of Fortran programs, too, and whether sfd carries them at all, by a profiler
# that is preloaded behind. Needs BUILD, the build directory. SF_TEST_SEED: the seed that a failed run printed.
set -eu
here=$(dirname "$(dirname "$(realpath "$0")")")
# shellcheck source=tests/system/sfrun.sh
. "$here/sfrun.sh"
[ -x "$BUILD/sfd" ] || { echo "skipped: no $BUILD/sfd"; exit 77; }
unset "${!SF_MPI_@}" LD_PRELOAD
# Its component treematch hangs now and then in MPI_Dist_graph_create, without sfd as well.
export OMPI_MCA_topo=basic
export PMIX_MCA_gds=hash # with locks in shared memory PMIx hangs if a killed process held one
# A fixed one as a rule, because MPIs' own functions, with which results are compared, have faults, too.
seed=${SF_TEST_SEED-1000}
# MPI is not made with sanitizers: it leaks, and synchronises in ways that the thread sanitizer does not see. Programs
# load the sanitizer's library first of their own, but behind what is preloaded.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0:verify_asan_link_order=0
export TSAN_OPTIONS=${TSAN_OPTIONS-}:ignore_noninstrumented_modules=1
nmpis=0
thorough=false # for each change not all numbers of ranks and nodes
[ "${SFTEST_LEVEL-all}" = check ] || thorough=true

# with_neighbors OPTION... PROGRAM ARGUMENT...
with_neighbors() {
  try "$sfrun" --quiet --mpirun "mpirun.$mpi" --neighbors "$@"
  out=$(<"$work/out") err=$(<"$work/err")
}

# Calls that MPI's own functions have carried, over all processes.
expect_calls() { # WHAT none|some
  local calls
  calls=$(sed -n 's/^.*profiler: \([0-9]*\) calls$/\1/p' "$work/err" | awk '{ sum += $1 } END { print sum + 0 }')
  case $2 in
  none) [ "$calls" -eq 0 ] || fail "$1: MPI carried $calls calls" ;;
  some) [ "$calls" -gt 0 ] || fail "$1: MPI carried no calls" ;;
  esac
}

# The differential test on some ranks, which sfd must carry.
compare() { # RANKS ROUNDS [OPTION...]
  local ranks=$1 rounds=$2
  shift 2
  SF_MPI_NEIGHBORS=require with_neighbors -n "$ranks" "$@" -- "$programs/differential" --carried 1 --seed "$seed" \
    --rounds "$rounds" --seconds 500
  expect_rc "$mpi, $ranks ranks $*, seed $seed" 0
  expect_out "$mpi, $ranks ranks $*, seed $seed" "ok: $rounds rounds, seed $seed"
  seed=$((seed + 1))
}

check_fortran() {
  local program
  if [ ! -x "$programs/fortran" ]; then
    echo "part skipped: Fortran programs of $mpi: gfortran or mpifort.$mpi is not installed"
    return
  fi
  for program in fortran fortran08; do
    SF_MPI_NEIGHBORS=require SF_TEST_PROFILER=1 LD_PRELOAD=$programs/profiler.so \
      with_neighbors -n 3 -- "$programs/$program"
    expect_rc "$mpi, $program" 0
    [ "${out%% *}" = ok ] || fail "$mpi, $program: expected ok"
    expect_calls "$mpi, $program" none
  done
}

# Without sfd MPI carries the calls.
check_without() {
  SF_MPI_NEIGHBORS=off SF_TEST_PROFILER=1 LD_PRELOAD=$programs/profiler.so \
    with_neighbors -n 2 -- "$programs/differential" --rounds 2
  expect_rc "$mpi, off" 0
  expect_calls "$mpi, off" some
  SF_MPI_NEIGHBORS=nonsense with_neighbors -n 1 -- "$programs/differential" --rounds 1
  [ "$rc" -ne 0 ] || fail "$mpi: a wrong SF_MPI_NEIGHBORS"
  expect_err "$mpi: a wrong SF_MPI_NEIGHBORS" "SF_MPI_NEIGHBORS is off, on or require"
  local library
  library=$(with_neighbors -n 1 -- sh -c 'echo "${LD_PRELOAD%%:*}"' && echo "$out")
  LD_PRELOAD=$library SF_SOCKET=$work/none try "mpirun.$mpi" -n 1 "$programs/differential" --rounds 1
  expect_rc "$mpi, no daemon" 0
  LD_PRELOAD=$library SF_SOCKET=$work/none SF_MPI_NEIGHBORS=require try "mpirun.$mpi" -n 1 \
    "$programs/differential" --rounds 1
  err=$(<"$work/err")
  [ "$rc" -ne 0 ] || fail "$mpi, required without a daemon"
  expect_err "$mpi, required without a daemon" "SF_MPI_NEIGHBORS=require, but MPI would carry"
}

# More operations than sfd hands over when they begin, threads, operations that another thread ends, children; and blocks
# in memory of a device, on some processes.
check_flight() {
  local part
  for part in "orders elsewhere" "threads" "handed fork nothing"; do
    # shellcheck disable=SC2086 # several words
    SF_MPI_NEIGHBORS=require with_neighbors -n 3 --nodes 2 -- "$programs/flight" $part
    expect_rc "$mpi, many in flight, and threads: $part" 0
    expect_out "$mpi, many in flight, and threads: $part" ok
  done
  export SFTEST_DRIVER=$BUILD/tests/cuda/libcuda.so.1
  if [ ! -e "$SFTEST_DRIVER" ]; then
    echo "part skipped: memory of devices: the plugin for CUDA was not built"
    return
  fi
  SF_MPI_NEIGHBORS=require with_neighbors -n 3 -- "$programs/flight" devices
  expect_rc "$mpi, memory of devices" 0
  expect_out "$mpi, memory of devices" ok
}

# What sfd leaves to MPI works, and sfctl says why it does.
check_refused() {
  local text
  OMPI_MCA_rmaps_base_oversubscribe=1 with_neighbors -n 3 -- "$programs/refused" "env -u LD_PRELOAD $BUILD/sfctl graphs"
  expect_rc "$mpi, left to MPI" 0
  for text in "copied alltoall; copies by MPI_Comm_idup: left to MPI" "odd left to MPI, neighbors disagree" \
    "copied with info alltoall; copies by MPI_Comm_idup: left to MPI" \
    "large allgather; calls with large counts: left to MPI" "of two worlds left to MPI, processes of other jobs"; do
    case $mpi,$text in
    mpich,*worlds* | openmpi,*info* | openmpi,large*) continue ;; # Open MPI 4 is no MPI 4; MPICH's launcher spawns nothing
    esac
    [[ $out == *"$text"* ]] || fail "$mpi, left to MPI: expected '$text'"
  done
}

# One of four processes is killed; launchers would end the others as well. That of MPICH sometimes does so all the same:
# then what the others have found counts.
check_death() {
  local option=--enable-recovery rank found=$work/found-$mpi
  [ $mpi = openmpi ] || option=-disable-auto-cleanup
  mkdir "$found"
  SF_MPI_NEIGHBORS=require with_neighbors "$option" -n 4 -- "$programs/doomed" "$found"
  for rank in 0 2 3; do
    [ $mpi = openmpi ] || [ -e "$found/$rank" ] || continue
    [ "$(cat "$found/$rank")" = "handled, rank 1" ] || fail "$mpi, death of a process: rank $rank"
  done
}

# A program of the other MPI is told so, instead of crashing.
check_other_mpi() {
  local other=openmpi name=MPICH
  [ $mpi = openmpi ] && other=mpich name="Open MPI"
  [ -x "$BUILD/tests/neighbors/$other/differential" ] || return 0
  with_neighbors -n 1 -- "$BUILD/tests/neighbors/$other/differential" --rounds 1
  [ "$rc" -ne 0 ] || fail "$mpi, a program of $other"
  expect_err "$mpi, a program of $other" "the preloaded library is for $name, but the program uses"
}

# A Python program, by the MPI that its mpi4py has been built for.
check_python() {
  local python=/usr/bin/python3 name='Open MPI'
  [ $mpi = openmpi ] || name=MPICH
  if ! "$python" -c 'import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI
print(MPI.Get_library_version())' 2>/dev/null | grep -q "^$name"; then
    echo "part skipped: mpi4py with $name: it is not installed for $python"
    return
  fi
  SF_MPI_NEIGHBORS=require SF_TEST_PROFILER=1 LD_PRELOAD=$programs/profiler.so \
    with_neighbors -n 3 -- "$python" tests/neighbors/ring.py
  expect_rc "$mpi, mpi4py" 0
  expect_out "$mpi, mpi4py" ok
  expect_calls "$mpi, mpi4py" none
}

# PETSc's own star forests by MPI's functions: a solve, and the VecScatters of tests/petsc/routines.c.
check_petsc() { # PROGRAM OPTION...
  local program=$1 options=("${@:2}" -sf_type neighbor)
  if [ ! -x "$program" ]; then
    echo "part skipped: PETSc with -sf_type neighbor: $program is not built"
    return
  fi
  try "$sfrun" --quiet -n 4 -- "$program" "${options[@]}"
  expect_rc "$* without sfd" 0
  grep -v ' us an iteration' "$work/out" >"$work/expected"
  [ -s "$work/expected" ] || fail "$*: the program said nothing"
  SF_MPI_NEIGHBORS=require SF_TEST_PROFILER=1 LD_PRELOAD=$programs/profiler.so \
    with_neighbors -n 4 --nodes 2 -- "$program" "${options[@]}"
  expect_rc "$*" 0
  grep -v ' us an iteration' "$work/out" | diff - "$work/expected" || fail "$*: other results"
  expect_calls "$*" none
}

for mpi in openmpi mpich; do
  programs=$BUILD/tests/neighbors/$mpi
  if [ ! -x "$programs/differential" ] || ! command -v "mpirun.$mpi" >/dev/null; then
    echo "part skipped: $mpi: its compiler or mpirun.$mpi is not installed"
    continue
  fi
  if [ $mpi = mpich ] && [[ ${SANITIZE-} == *thread* ]]; then
    echo "part skipped: mpich: processes with the thread sanitizer crash when they exit, also without sfd"
    continue
  fi
  nmpis=$((nmpis + 1))
  [ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  compare 5 8
  compare 4 8 --nodes 2
  if $thorough; then
    compare 1 6
    compare 2 10
    compare 8 4
    compare 3 8 --nodes 3
  fi
  check_flight
  [ -z "${SANITIZE-}" ] || continue # the following is about MPI's part
  check_refused
  check_fortran
  check_without
  check_death
  check_other_mpi
  check_python
  [ $mpi = mpich ] || check_petsc "$BUILD/examples/petsc_cg" -points 8
  [ $mpi = mpich ] || ! $thorough || check_petsc "$BUILD/tests/petsc/cases" -only routines
done
if [ $nmpis -eq 0 ]; then
  echo "skipped: neither Open MPI nor MPICH is installed"
  exit 77
fi

local_run --neighbors -n 1 true
expect_rc "local launcher" 125
expect_err "local launcher" "--launcher local is for programs without MPI"

if [ $nfailed -gt 0 ]; then
  echo "$nfailed checks failed"
  exit 1
fi
echo "all checks passed, with $nmpis MPIs"
