#!/bin/sh
# Builds the crate's static library by a profile of its Cargo.toml and copies it to LIBRARY:
#   build_crate.sh CARGO SOURCE_DIR TARGET_DIR PROFILE LIBRARY
#
# Clones and build folders may share TARGET_DIR, so that the crates on which this one depends are compiled only once.
# Each profile has its own folder in it. The libraries of all clones have the same name there, so only one clone at a
# time may build and copy.
set -e
cargo=$1 source=$2 target=$3 profile=$4 library=$5
mkdir -p "$target"
exec 9>"$target/.lock"
flock 9
# Sanitizers walk frame pointers. Without frame pointers, a report ends at the first Rust function, and suppressions
# that name a function match nothing. All builds have them, because different flags would compile every crate again.
# The library contains the source locations of panics as text. Without --remap-path-prefix they would be paths of the
# build machine. The flags of all crates must not name the clone, or each clone would compile all crates.
export CARGO_TARGET_DIR=$target
export RUSTFLAGS="-Cforce-frame-pointers=yes --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo \
  --remap-path-prefix=$target=/ingot/build"
"$cargo" rustc --profile "$profile" --locked --quiet -j2 --lib \
  --manifest-path "$source/runtime/text/crate/Cargo.toml" -- \
  --remap-path-prefix="$source=/ingot"
cp "$target/$profile/libingot_text_crate.a" "$library"
