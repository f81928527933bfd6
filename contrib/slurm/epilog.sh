#!/bin/sh
# SPDX-License-Identifier: MIT
# Epilog= of slurm.conf: ends the recording that prolog.sh began. docs/slurm.md describes it.

[ -n "$SLURM_JOB_ID" ] || exit 0
directory=${UNCORE_RECORDINGS:-/var/lib/uncore}
file=$directory/$SLURM_JOB_ID.uncore
pid=$(cat "$file.pid" 2>/dev/null)

rm -f "$directory/$SLURM_JOB_ID.control" "$file.pid"
# When the recorder has ended before, its number may be that of another process.
if [ -n "$pid" ] && grep -qsaF -- "$file" "/proc/$pid/cmdline"; then
	uncore mark -o "$file" "end job $SLURM_JOB_ID" 2>/dev/null
	kill -TERM "$pid"
	# It holds a lock on the file until the last interval is written.
	flock -w 30 "$file" true
fi
exit 0
