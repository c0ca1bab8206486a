# Completion for sfperf in bash: benchmarks, options and their values. Without bash-completion: source this file.
# shellcheck shell=bash

_sfperf() {
  local program=$1 current=$2 previous=$3 words=
  COMPREPLY=()
  # of --stencil=7
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $previous in
  --stencil) words='7 27' ;;
  --partition) words='slab rcb' ;;
  --memory) words='host device' ;;
  --send-order) words='distance number' ;;
  --reps | --sample-ms | --sizes | --random | --contiguous | --overlapping | --grid | --fields | --radius | --edges | \
    --tasks | --extent | --busy) return ;;
  *)
    if [[ $current == -* ]]; then
      words=$("$program" --help | grep -oE '^  --[a-z-]+')
    elif ((COMP_CWORD == 1)); then
      words=$("$program" --help | grep -oE '^  [a-z]+')
    else # files of --matrix and judge
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
    fi
    ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _sfperf sfperf
