#!/bin/sh
# Writes the man pages of the command and of each subcommand, from their --help: docs/man.sh WEFT FOLDER
set -eu
weft=$1
folder=$2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
mkdir -p "$folder"
rm -f "$folder"/*.1
version=$("$weft" --version | cut -d' ' -f2)
ARGP_HELP_FMT=rmargin=2000,opt-doc-col=40,no-dup-args-note
export ARGP_HELP_FMT

page() {
  awk -v name="$1" -v summary="$2" -v also="$3" -v version="$version" -f "$here/man.awk" >"$folder/weft${1:+-$1}.1"
}

# "NAME SUMMARY" of each: lines that are indented by two, up to the options.
commands() { "$weft" --help | sed -n '/^  --help/q; s/^  \([a-z][a-z-]*\)  *\(.*\)/\1 \2/p'; }

commands | while read -r name summary; do
  "$weft" "$name" --help | page "$name" "$summary" weft
done
pages=$(commands | sed 's/\([^ ]*\).*/weft-\1/' | tr '\n' ' ')
"$weft" --help | page "" "tensor runtime in which every byte that moves is accounted for" "$pages"
