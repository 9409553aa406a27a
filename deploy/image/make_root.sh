#!/usr/bin/env bash
# make_root.sh BUILD ROOT [--compiler]: makes a folder with everything an image holds: the
# program, its shared libraries from this machine's Debian, and the few files of /etc that
# they read. The folder has no shell, no package manager and no Python; it has LLVM only
# with --compiler. The Dockerfiles' last stages copy it, and the test runs it under chroot.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 root=$2 kind=runtime
case ${3:-} in '') ;; --compiler) kind=compiler ;; *) echo "make_root.sh: unknown option $3" >&2; exit 2 ;; esac

rm -rf "$root"
mkdir -p "$(dirname "$root")"
python3 "$here/../packages/image_tree.py" "$build" "$root" "$kind"

# Some programs fail if the user has no name. 65532 is the id that distroless images call nonroot.
mkdir -p "$root"/{etc,tmp,engines,proc,dev,sys}
echo 'nonroot:x:65532:65532:nonroot:/tmp:/' >"$root/etc/passwd"
echo 'nonroot:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
if [ "$(id -u)" = 0 ]; then chown 65532:65532 "$root/engines"; fi
if [ $kind = compiler ]; then # the compiler fetches models from hubs, over TLS
  mkdir -p "$root/etc/ssl/certs"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi
# All files have one timestamp, so that the same build makes the same image.
find "$root" -depth -print0 | xargs -0 touch --no-dereference --date="@${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 315532800)}"
printf 'image root %s: %s, %s kB\n' "$kind" "$root" "$(du -sk --apparent-size "$root" | cut -f1)"
