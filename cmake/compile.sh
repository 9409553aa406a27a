#!/bin/sh
# Compiles through ccache so that one clone can reuse what another has compiled:  compile.sh COMPILER ARGUMENT…
#
# CMake passes precompiled headers as absolute paths after -Xclang, where ccache does not make them relative
# (CCACHE_BASEDIR). They are in the build folder, which is the working directory, so this script makes them relative.
#
# A precompiled header contains the absolute path of its source, and clang looks for that file. Each build folder
# therefore has its own precompiled headers (CCACHE_NAMESPACE). Sources that use a precompiled header depend only on
# the contents of its headers and on its macros, and the .sum file hashes just these. The sum is the same in all clones,
# and ccache need not hash the 140 MB file itself.
CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1
export CCACHE_SLOPPINESS CCACHE_PCH_EXTSUM
made= depends= before= emits= macros=
for argument do
  shift
  argument=${argument#"$PWD"/}
  set -- "$@" "$argument"
  case $argument in *.pch) made=$argument ;; -emit-pch) emits=1 ;; -D*) macros="$macros $argument" ;; esac
  case $before in -MF) depends=$argument ;; esac
  before=$argument
done
[ -n "$emits" ] || exec ccache "$@"
rm -f "$made.sum"
CCACHE_NAMESPACE=$PWD ccache "$@" &&
  headers=$(sed 's/^[^ ]*://; s/\\$//' "${depends:?}") &&
  sums=$(printf '%s\n' "$headers" | xargs sha256sum) &&
  { printf '%s\n' "$macros"; printf '%s\n' "$sums" | cut -d ' ' -f 1; } | sha256sum >"$made.sum"
