#!/bin/sh
# Returns 1 (interesting) while the file still scales by 3.
grep -q 'lm.scale.*3.0' "$1" && exit 1
exit 0
