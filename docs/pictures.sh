#!/bin/sh
# Draws the pictures of docs/layout.md and docs/copies.md: docs/pictures.sh BUILD_FOLDER [FOLDER]. FOLDER: where to, docs/pictures by default.
set -eu
docs=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
weft=${1:?"usage: docs/pictures.sh BUILD_FOLDER [FOLDER]"}/weft
to=${2:-$docs/pictures}
mkdir -p "$to"

# draw NAME OPTION...
draw() {
  name=$1
  shift
  "$weft" copy-plan "$@" --svg "$to/$name.svg" >/dev/null
}

draw transpose --from 'f32[4096,4096]' --permute 1,0
draw images_to_planes --from 'f32[32,224,224,3]' --permute 0,3,1,2
draw bytes_to_planes --from 'u8[32,224,224,3]' --permute 0,3,1,2 --to f32
draw heads --from 'f32[32,512,12,64]' --permute 0,2,1,3
draw every_second_column --from 'f32[4096,2048]' --strides 4096,2
draw repeated_row --from 'f32[4096,4096]' --strides 0,1
