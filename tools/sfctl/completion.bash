# Completion for sfctl in bash: commands and options; names of jobs and numbers of graphs as the daemon tells them, if
# it does so at once. Without bash-completion: source this file.
# shellcheck shell=bash

# What the daemon says of jobs or graphs, one object on a line; nothing if it is slow. $1: sfctl, $2: the command.
_sfctl_ask() {
  local -a socket=()
  local i
  for ((i = 1; i < ${#COMP_WORDS[@]} - 1; i++)); do
    [[ ${COMP_WORDS[i]} == --socket ]] || continue
    # "=" is a word of its own
    [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
    [[ -z ${COMP_WORDS[i + 1]-} ]] || socket=(--socket "${COMP_WORDS[i + 1]}")
  done
  timeout 0.5 "$1" "$2" --json "${socket[@]}" 2>/dev/null
}

# Names that the shell would take apart are left out.
_sfctl_jobs() {
  _sfctl_ask "$1" jobs | sed -n 's/.*"job":"\([A-Za-z0-9_.,@%+/-]*\)".*/\1/p'
}

_sfctl_graphs() {
  _sfctl_ask "$1" graphs | sed -n 's/.*"graph":\([0-9]*\),.*/\1/p'
}

# The first word that is no option and no value of one, up to the word that is being completed.
_sfctl_command() {
  local i word
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
    --socket | --timeout | --node | --iterations | -n | --delay | -d | --sort | --graph | --by | --format | --count | --interval | --matrix | --grid | --stencil | --parts | --ranks | --per-node | --nodes | --fields | --radius | --distances | --distribution | --unit | --threshold | --output)
      [[ ${COMP_WORDS[i + 1]-} == = ]] && ((i++))
      ((i++))
      ;;
    -*) ;;
    *)
      printf '%s %d\n' "$word" "$i"
      return
      ;;
    esac
  done
}

# The next argument of the command at that place in the line; options may stand between.
_sfctl_argument() {
  local program=$1 command=$2 at=$3 i nth=1
  for ((i = at + 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
    --socket | --timeout | --node | --iterations | -n | --delay | -d | --sort | --graph | --by | --format | --count | --interval | --matrix | --grid | --stencil | --parts | --ranks | --per-node | --nodes | --fields | --radius | --distances | --distribution | --unit | --threshold | --output)
      [[ ${COMP_WORDS[i + 1]-} == = ]] && ((i++))
      ((i++))
      ;;
    -*) ;;
    *) ((nth++)) ;;
    esac
  done
  case $command-$nth in
  jobs-1 | ranks-1 | graphs-1 | arrays-1 | kill-1 | matrix-1 | stuck-1 | top-2) _sfctl_jobs "$program" ;;
  plan-1) _sfctl_graphs "$program" ;;
  top-1) echo jobs ranks graphs arrays channels ;;
  log-1) echo error warn info debug trace ;;
  log-2) echo main session job graph memory query network ;;
  trace-1) echo start stop dump ;;
  esac
}

_sfctl() {
  local program=$1 current=$2 previous=$3 words command at
  COMPREPLY=()
  # of --socket=PATH
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $previous == --socket || $previous == --matrix || $previous == --output || $previous == --distances ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    return
  fi
  case $previous in
  --graph) words=$(_sfctl_graphs "$program") ;;
  --parts) words='boxes rows' ;;
  --distribution) words='block cyclic' ;;
  --by) words='ranks nodes pairs' ;;
  --format) words='text csv svg' ;;
  --count) words='bytes messages' ;;
  --timeout | --node | --iterations | -n | --delay | -d | --sort | --interval | --grid | --stencil | --ranks | --per-node | --nodes | --fields | --radius | --unit | --threshold | --output) return ;;
  esac
  if [[ -n ${words-} || $previous == --graph ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    return
  fi
  read -r command at < <(_sfctl_command)
  if [[ $current == -* ]]; then
    words='--help --version --json --regions --socket --wide --timeout --node --all-nodes --matrix --grid --stencil --parts --ranks --per-node --nodes --fields --radius --periodic --distances --distribution --unit --pairs --threshold --output --batch --iterations --delay --sort --graph --by --format --count --interval --undo --force'
  elif [[ -z ${command-} ]]; then
    words='daemons status jobs ranks graphs arrays plan top matrix peers stuck trace metrics doctor topo config log drain kill shutdown'
  else
    words=$(_sfctl_argument "$program" "$command" "$at")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _sfctl sfctl
