#!/bin/bash
# What make install gives: programs that start, a library that exports its interface and nothing else, and pkg-config
# files by which programs are compiled, linked either way, and run. make uninstall takes all of it away.
# Needs BUILD, the build directory.
set -eu
BUILD=$(realpath "${BUILD:?the build directory}")
if [ -n "${SANITIZE-}" ]; then
  echo "skipped: builds with sanitizers are not installed"
  exit 77
fi

root=$(mktemp -d "${TMPDIR:-/tmp}/install.XXXXXX")
trap 'rm -rf "$root"' EXIT
prefix=/opt/sf
libdir=$prefix/lib/triplet # as distributions with several architectures have it
in_make() { make -s BUILD="$BUILD" DESTDIR="$root" PREFIX=$prefix LIBDIR=$libdir "$@"; }
fail() {
  echo "FAILED: $1"
  exit 1
}

in_make install >/dev/null
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR
PKG_CONFIG_LIBDIR=$root$libdir/pkgconfig:$(pkg-config --variable pc_path pkg-config)
export LD_LIBRARY_PATH=$root$libdir
version=$(pkg-config --modversion sfclient)

# ---- Programs ----

for program in sfd sfctl sfrun; do
  "$root$prefix/bin/$program" --version | grep -qF "$version" || fail "$program --version doesn't say $version"
done

LD_LIBRARY_PATH='' SF_SOCKET=$root/none "$root$prefix/bin/sfctl" doctor >"$root/doctor" || true
grep -q "^warning  library .*/libsfclient.so.*the loader does not find it" "$root/doctor" ||
  fail "sfctl doctor: $(grep library "$root/doctor")"
rm "$root/doctor"

# ---- Files for systemd ----

unit=$root$prefix/lib/systemd/system/sfd.service
grep -qxF "ExecStart=$prefix/bin/sfd" "$unit" || fail "sfd.service: $(grep ExecStart "$unit")"
! grep -n '@' "$unit" | grep -v 'SystemCallFilter=' || fail "sfd.service: that is not filled in"
for file in lib/systemd/system/sfd.socket lib/systemd/system/sfd-peers.socket lib/tmpfiles.d/sfd.conf share/doc/sfd/examples/sfd.conf; do
  [ -s "$root$prefix/$file" ] || fail "$file is not installed"
done
"$root$prefix/bin/sfd" --config "$root$prefix/share/doc/sfd/examples/sfd.conf" --print-config >/dev/null ||
  fail "the example of a configuration file"

# ---- Documents ----

for file in LICENSE README.md CHANGELOG.md architecture.md design/setup.md examples/hello.c examples/common/csr.h; do
  [ -s "$root$prefix/share/doc/sfd/$file" ] || fail "share/doc/sfd/$file is not installed"
done
broken=$(find "$root$prefix/share/doc/sfd" -name '*.md' | while read -r file; do
  grep -oE '\]\([^)#:][^):]*\)' "$file" | sed 's/^](//; s/[#)].*//' | while read -r link; do
    [ -e "${file%/*}/$link" ] || echo "${file##*/}: $link"
  done
done)
[ -z "$broken" ] || fail "links of installed documents: $broken"
if command -v doxygen >/dev/null; then
  [ -s "$root$prefix/share/doc/sfd/html/index.html" ] || fail "the API reference is not installed"
fi

# ---- Completion ----

# A stand-in for sfctl, that tells of two jobs and two graphs.
cat >"$root/sfctl" <<'END'
#!/bin/bash
echo "$*" >>"${0%/*}/asked"
case $1 in
jobs) printf '[\n{"job_id":1,"job":"cg","uid":0},\n{"job_id":2,"job":"heat-2d","detail":"\\"job\\""},\n{"job_id":3,"job":"a $(b)"}\n]\n' ;;
graphs) printf '[\n{"graph":17,"job_id":1},\n{"graph":4294967297,"job_id":1}\n]\n' ;;
esac
END
chmod +x "$root/sfctl"

# complete WORD...: the words that bash would offer for the last one, in one line.
complete_last() {
  (
    # shellcheck source=/dev/null
    . "$root$prefix/share/bash-completion/completions/sfctl"
    COMP_WORDS=(sfctl "$@")
    COMP_CWORD=$#
    export COMP_WORDS COMP_CWORD
    _sfctl "$root/sfctl" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    echo "${COMPREPLY[*]}"
  )
}

# expect_completion EXPECTED WORD...
expect_completion() {
  local expected=$1 offered
  shift
  offered=$(complete_last "$@") || fail "completion of sfctl $*: exit status $?"
  [ "$offered" = "$expected" ] || fail "completion of sfctl $*: offers \"$offered\", expected \"$expected\""
}

words() { "$root$prefix/bin/sfctl" --help | grep -oE "$1" | tr -d ' ' | tr '\n' ' ' | sed 's/ $//'; }
expect_completion "$(words '^  [a-z]+ ')" ""
expect_completion "$(words '^  --[a-z-]+ ')" --
expect_completion "plan peers" p
expect_completion "--json" jobs --j
expect_completion "cg heat-2d" jobs ""
expect_completion "heat-2d" --json --timeout 3 ranks h
expect_completion "" jobs cg ""
expect_completion "cg heat-2d" stuck --threshold 2 ""
expect_completion "cg heat-2d" top -b graphs ""
expect_completion "memory" log debug me
expect_completion "17 4294967297" matrix --graph ""
expect_completion "pairs" matrix --by p
expect_completion "" status ""
expect_completion "17 4294967297" plan --json ""
expect_completion "" --timeout ""
expect_completion "$root/sfctl" --socket "$root/sf"
expect_completion "$root/sfctl" --socket = "$root/sf"
grep -qxF "graphs --json" "$root/asked" || fail "completion asks: $(cat "$root/asked")"
expect_completion "17" --socket = /a/b plan 1
grep -qxF "graphs --json --socket /a/b" "$root/asked" || fail "completion asks: $(cat "$root/asked")"

# offered PROGRAM WORD...: what the completion of sfrun or sfperf offers for the last word.
offered() {
  local program=$1
  (
    # shellcheck source=/dev/null
    . "$root$prefix/share/bash-completion/completions/$program"
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    export COMP_WORDS COMP_CWORD
    "_$program" "$root$prefix/bin/$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    echo "${COMPREPLY[*]}"
  )
}
[ "$(offered sfrun --launcher l)" = local ] || fail "completion of sfrun --launcher: $(offered sfrun --launcher l)"
[ "$(offered sfrun --hostf)" = --hostfile ] || fail "completion of sfrun --hostf: $(offered sfrun --hostf)"
if [ -e "$root$prefix/bin/sfperf" ]; then
  [ "$(offered sfperf ping)" = pingpong ] || fail "completion of sfperf: $(offered sfperf ping)"
  [ "$(offered sfperf pingpong --siz)" = --sizes ] || fail "completion of sfperf --siz"
  [ "$(offered sfperf exchange --partition r)" = rcb ] || fail "completion of sfperf --partition"
fi

# ---- Library ----

read -ra compiler <<<"${CC:-gcc}" # may be several words
declared=$("${compiler[@]}" -E -P -Ishm/include -Iclient/include client/include/sf/sf.h |
  grep -oE '\bsf_[a-z0-9_]+\(|\*const SF_[A-Z0-9_]+' | sed 's/^\*const //; s/($//' | sort)
exported=$(nm -D --defined-only "$root$libdir/libsfclient.so" |
  awk '$2 != "A" && $3 !~ /@@?SFCLIENT_PRIVATE$/ { sub(/@.*/, "", $3); print $3 }' | sort)
[ "$declared" = "$exported" ] ||
  fail "sf.h and libsfclient.so differ: $(diff <(echo "$declared") <(echo "$exported") | grep '^[<>]')"

adapter=$root$libdir/libsfclient_petsc.so # where PETSc is
if [ -e "$BUILD/libsfclient_petsc.so" ]; then
  [ "$(nm -D --defined-only "$adapter" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')" = \
    PetscDLLibraryRegister_sfclient_petsc ] || fail "libsfclient_petsc.so exports more than PETSc looks for, or less"
  ! ldd "$adapter" | grep 'not found' || fail "libsfclient_petsc.so does not find what it needs"
fi

cat >"$root/program.c" <<'END'
#include <stdio.h>
#include <sf/sf.h>

int main(void)
{
  puts(sf_version());
  return 0;
}
END

# compile_and_run NAME COMPILER-ARGUMENT...
compile_and_run() {
  local name=$1
  shift
  "${compiler[@]}" -Wall -Wextra -Werror "$root/program.c" -o "$root/$name" "$@"
  [ "$("$root/$name")" = "$version" ] || fail "$name: the library's version is not $version"
}

read -ra cflags < <(pkg-config --cflags sfclient)
read -ra libs < <(pkg-config --libs sfclient)
compile_and_run shared "${cflags[@]}" "${libs[@]}"
readelf -d "$root/shared" | grep -q 'NEEDED.*libsfclient\.so\.' || fail "shared: not linked with libsfclient.so"

read -ra libs < <(pkg-config --static --libs sfclient)
compile_and_run static "${cflags[@]}" "${libs[@]/-lsfclient/-l:libsfclient.a}"
! readelf -d "$root/static" | grep -q 'NEEDED.*libsfclient' || fail "static: linked with libsfclient.so"

# ---- Examples ----

if command -v mpicc.openmpi >/dev/null && [ -e "$root$libdir/libsfclient_mpi.so" ]; then
  cp -r "$root$prefix/share/doc/sfd/examples" "$root/mine"
  make -s -j2 -C "$root/mine" MPICC=mpicc.openmpi hello product || fail "the installed examples do not compile"
  "$root$prefix/bin/sfrun" --quiet --launcher local -n 2 -- "$root/mine/hello" >/dev/null || fail "hello doesn't run"
  "$root$prefix/bin/sfrun" --quiet -n 2 -- "$root/mine/product" 100 >/dev/null || fail "product doesn't run"
  rm -r "$root/mine"
fi

# ---- CMake ----

if command -v cmake >/dev/null; then
  mkdir "$root/project"
  cat >"$root/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(sfclient $version REQUIRED)
add_executable(program ../program.c)
target_link_libraries(program sfclient::sfclient)
END
  if [ -e "$root$libdir/libsfclient_mpi.so" ]; then
    printf '#include <sf/sf_mpi.h>\n%s\n' "int main(void) { return sf_mpi_init == NULL || MPI_Init == NULL; }" >"$root/project/mpi.c"
    cat >>"$root/project/CMakeLists.txt" <<END
find_package(sfclient $version REQUIRED COMPONENTS mpi)
add_executable(mpi mpi.c)
target_link_libraries(mpi sfclient::mpi)
END
  fi
  cmake -S "$root/project" -B "$root/project" -DCMAKE_PREFIX_PATH="$root$prefix" \
    -Dsfclient_DIR="$root$libdir/cmake/sfclient" >"$root/project/log" 2>&1 &&
    cmake --build "$root/project" >>"$root/project/log" 2>&1 || fail "CMake: $(tail -n 20 "$root/project/log")"
  [ "$("$root/project/program")" = "$version" ] || fail "CMake: the library's version is not $version"
  sed -i "s/sfclient $version/sfclient 99.0/" "$root/project/CMakeLists.txt"
  ! cmake -S "$root/project" -B "$root/project/other" -Dsfclient_DIR="$root$libdir/cmake/sfclient" >/dev/null 2>&1 ||
    fail "CMake finds version $version when 99.0 is wanted"
  rm -r "$root/project"
else
  echo "part skipped: no cmake"
fi

# ---- Taking it away ----

in_make uninstall
rm "$root"/program.c "$root"/shared "$root"/static "$root"/sfctl "$root"/asked
left=$(find "$root" -not -type d)
[ -z "$left" ] || fail "uninstall left $left"
