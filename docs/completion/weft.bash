# Completion of the weft command for bash: commands and options are asked of the command itself, so that they are always its own.

_weft() {
  local word=${COMP_WORDS[COMP_CWORD]} weft=${COMP_WORDS[0]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="$("$weft" --help 2>/dev/null | sed -n '/^  --help/q; s/^  \([a-z][a-z-]*\) .*/\1/p') --help --version"
  elif [ "${word#-}" != "$word" ]; then
    words=$("$weft" "${COMP_WORDS[1]}" --help 2>/dev/null | sed -n -E 's/^  ( *|-., )(--[a-z][a-z-]*=?).*/\2/p')
    case $words in *=*) compopt -o nospace 2>/dev/null ;; esac
  fi
  if [ -n "$words" ]; then
    # shellcheck disable=SC2207 # words without blanks
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
}
complete -o default -F _weft weft
