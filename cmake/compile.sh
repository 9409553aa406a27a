#!/bin/sh
# Compiles through ccache so that one clone finds what another has compiled:  compile.sh COMPILER ARGUMENT…
#
# CMake names precompiled headers by absolute paths, and behind -Xclang, where ccache does not make them relative
# (CCACHE_BASEDIR). They are in the build folder, where the command runs. And a precompiled header of 140 MB is hashed once,
# when it is made, not for each source that it serves.
CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1
export CCACHE_SLOPPINESS CCACHE_PCH_EXTSUM
made=
for argument do
  shift
  set -- "$@" "${argument#"$PWD"/}"
  case $argument in *.pch) made=${argument#"$PWD"/} ;; -emit-pch) emits=1 ;; esac
done
[ -n "${emits:-}" ] || exec ccache "$@"
ccache "$@" && sha256sum <"$made" >"$made.sum"
