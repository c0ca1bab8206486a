#!/bin/bash
# make gpu-bundle: the archive runs in a root folder with a C library and a shell and nothing else, on the stand-in for
# the driver, and leaves results and logs. Needs BUILD, the build directory; root, for chroot and namespaces; MPICH.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
skip() {
  echo "skipped: $*"
  exit 77
}
[ -z "${SANITIZE-}" ] || skip "builds with sanitizers are not taken to other machines"
[ -e "$BUILD/libsf_cuda.so" ] || skip "there is no support for CUDA devices: nvcc was not found"
command -v mpicc.mpich >/dev/null || skip "sfperf for other machines needs MPICH: mpicc.mpich was not found"
[ "$(id -u)" = 0 ] && unshare -m -p -f true 2>/dev/null || skip "a bare root folder needs root and namespaces"
root=$(mktemp -d "${TMPDIR:-/tmp}/bare.XXXXXX")
trap 'rm -rf "$root"' EXIT
cd "$(dirname "$0")/../../.."

fail() {
  echo "FAILED: $*"
  tail -n 40 "$root/printed" "$root"/out/*.log 2>/dev/null || true
  exit 1
}

unset SF_CUDA_PLUGIN
# By the name that make knows it by, under which it has noted what depends on what.
make -s BUILD="$(realpath --relative-to=. "$BUILD")" gpu-bundle >"$root/printed" 2>&1 || fail "make gpu-bundle"
mkdir -p "$root"/{bin,dev,proc,tmp,out}
libc=$(ldd /bin/sh | sed -n 's/.*=> \(.*\/libc\.so\.6\) .*/\1/p')
for file in /bin/sh $(ldd /bin/sh | grep -o '/[^ ]*ld-[^ ]*') \
  "$(dirname "$libc")"/lib{c,m,dl,pthread,rt,resolv}.so.[0-9]; do
  [ ! -e "$file" ] || install -D "$file" "$root$file"
done
tar xzf "$BUILD/gpu-bundle.tar.gz" -C "$root"
[ "$(find "$root/lib" "$root/lib64" -type f | wc -l)" -le 8 ] || fail "the root folder is not bare"

for program in build/sfctl build/sfperf build/tests/system/devices/test_streams; do
  ldd "$root/gpu-bundle/$program" | grep -q "$root/gpu-bundle/.*/lib/lib" || fail "$program does not find its own libraries"
done
# shellcheck disable=SC2016 # for the shell inside
env -i root="$root" "$(command -v unshare)" -m -p -f --kill-child /bin/bash -c '
  mount --make-rprivate / && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 1
  OUT=/out exec chroot "$root" /bin/sh /gpu-bundle/run --dry probe figures quick' >"$root/printed" 2>&1 ||
  fail "the runner's exit status is $?"
[ "$(grep -c ': exit status 0 after' "$root/out/summary")" = 3 ] || fail "three parts have no summary"
for file in probe.log figures.log quick.log quick-logs/tests.unit.cuda.test_cuda.log; do
  [ -s "$root/out/$file" ] || fail "$file is missing in the folder for results"
done
grep -q '6 passed, 0 failed, 0 skipped\|7 passed, 0 failed, 0 skipped' "$root/out/quick.log" || fail "not all quick tests passed"
[ "$(grep -c '^| .* | \(met\|missed\) |$' "$root/out/gpu-results.md")" = 4 ] || fail "not all limits are judged"
grep -q 'not measured |' "$root/out/gpu-results.md" && fail "a figure that is judged was not found"
grep -q 'they mean nothing' "$root/out/gpu-results.md" || fail "the results do not say what the figures are"
exit 0
