#!/bin/sh
# SPDX-License-Identifier: MIT
# Prolog= of slurm.conf: records the counters of the node while a job runs. docs/slurm.md describes it.
# Slurm drains a node whose prolog fails: a job matters more than its recording, so this ends with 0 in any case.

[ -n "$SLURM_JOB_ID" ] || exit 0
directory=${UNCORE_RECORDINGS:-/var/lib/uncore}
file=$directory/$SLURM_JOB_ID.uncore
control=$directory/$SLURM_JOB_ID.control

mkdir -p "$directory" || exit 0
# A recording tells what the job does: root and the group of the job may read it.
umask 027
# Through it the user of the job marks phases: echo "mark TEXT" >FIFO
[ -p "$control" ] || mkfifo -m 0600 "$control" || exit 0
chown "${SLURM_JOB_UID:-0}" "$control"

# slurmd ends the process group of the prolog with it: the recorder has a session of its own. A job that was requeued
# adds to its recording. Options are words.
# shellcheck disable=SC2086
setpriv --regid "${SLURM_JOB_GID:-0}" --keep-groups setsid uncore record -o "$file" --append --rotate-size 1GB --keep 4 --control "fifo:$control" \
	${UNCORE_OPTIONS:--I 1s} </dev/null >"$file.log" 2>&1 &
pid=$!
echo "$pid" >"$file.pid"

# The job begins when the recorder listens, or after 10 s.
tries=100
until uncore mark -o "$file" "job $SLURM_JOB_ID" 2>/dev/null; do
	tries=$((tries - 1))
	if [ "$tries" -eq 0 ] || ! kill -0 "$pid" 2>/dev/null; then
		# A user who writes into a FIFO that has no reader waits for ever.
		rm -f "$control"
		break
	fi
	sleep 0.1
done
exit 0
