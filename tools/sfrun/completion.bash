# Completion for sfrun in bash: its options, their values, and the program. Without bash-completion: source this file.
# shellcheck shell=bash

_sfrun() {
  local program=$1 current=$2 previous=$3 words=
  COMPREPLY=()
  # of --launcher=NAME
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $previous in
  --launcher) words='mpirun local' ;;
  --distribution) words='block cyclic' ;;
  --fabric) words='tcp mpi' ;;
  --log-level) words='error warn info debug trace' ;;
  -n | -np | -c | --nodes | --port | --grace | --sfd-option | --job) return ;;
  *)
    if [[ $current == -* ]]; then
      words=$("$program" --help | grep -oE '^  --[a-z-]+')
    else
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
    fi
    ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _sfrun sfrun
