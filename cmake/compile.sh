#!/bin/sh
# Compiles through ccache so that one clone finds what another has compiled:  compile.sh COMPILER ARGUMENT…
#
# CMake names precompiled headers by absolute paths, and behind -Xclang, where ccache does not make them relative
# (CCACHE_BASEDIR). They are in the build folder, where the command runs.
#
# A precompiled header itself holds the absolute path of what it was made from, and clang looks for that file. Each build
# folder has its own therefore (the namespace). What counts for the sources that use it is what its headers and macros
# hold: that sum is the same in all clones, and nobody hashes its 140 MB.
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
