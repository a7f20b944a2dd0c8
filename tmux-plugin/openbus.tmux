#!/usr/bin/env bash
# OpenBus for tmux: a key that goes to the pane that needs you, and a status segment.
#
# With TPM:   set -g @plugin '…/openbus'       Without: run-shell /path/to/openbus.tmux
#
#   set -g @openbus-key 'O'              key after the prefix; 'none' binds nothing
#   set -g @openbus-command 'openbus'    how the command is called
#   set -g status-right '#{openbus} %H:%M'
#
# The segment is empty while nothing needs you: `!2` two panes need you, `?1` one asked in prose,
# `ok1` one is done. It needs a running service (`openbus up`).

option() {
  local value
  value="$(tmux show-option -gqv "$1")"
  printf '%s' "${value:-$2}"
}

command="$(option @openbus-command openbus)"
key="$(option @openbus-key O)"

if [ "$key" != none ]; then
  tmux bind-key -N 'OpenBus: go to the pane that needs you' "$key" run-shell -b "$command next"
fi

for side in status-left status-right; do
  text="$(tmux show-option -gqv "$side")"
  case "$text" in
    *'#{openbus}'*)
      tmux set-option -gq "$side" "${text//'#{openbus}'/#($command statusline)}"
      ;;
  esac
done
