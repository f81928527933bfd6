# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Minimal Debian systems below a directory, for tools/clean-room, tools/portable and tests/portable:
# what debootstrap calls minbase, with git and make, and nothing else.
#
#   UNCORE_CLEAN_ROOM   where they are kept, so that a second run is fast; ~/.cache/uncore-clean-room
#   UNCORE_MIRROR       where packages come from; http://deb.debian.org/debian
#
# They need root. Everything is mounted in a mount namespace of its own, which ends with the command.
cache=${UNCORE_CLEAN_ROOM:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/uncore-clean-room}
mirror=${UNCORE_MIRROR:-http://deb.debian.org/debian}

fail() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# Sets $work, a directory that ends with the command.
prepare() {
	local tool

	[ "$(id -u)" = 0 ] || fail "needs root, to make a Debian system and to enter it"
	for tool in debootstrap unshare chroot git tar; do
		command -v "$tool" >/dev/null || fail "$tool is not here: tools/setup clean-room installs it on Debian"
	done
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/run.XXXXXX")
	trap 'rm -rf --one-file-system "$work"' EXIT
}

# The minimal system of a suite, once.
base_of() { # SUITE
	local archive=$cache/$1.tar

	[ ! -e "$archive" ] || return 0
	echo "${0##*/}: making a minimal Debian $1"
	# Unpacked packages are not kept: the archive holds the system only.
	debootstrap --variant=minbase --include=git,make,ca-certificates "$1" "$work/base" "$mirror" \
		>"$work/log" 2>&1 || {
		tail -n 20 "$work/log" >&2
		fail "debootstrap of $1 failed: is $mirror reachable? (UNCORE_MIRROR names another one)"
	}
	rm -f "$work/base"/var/cache/apt/archives/*.deb
	tar -C "$work/base" -cf "$archive.new" .
	mv "$archive.new" "$archive"
	rm -rf --one-file-system "$work/base"
}

# What the system needs of this one to reach the network, as this one reaches it.
network_of_host() { # ROOT SUITE
	local proxy file

	[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	[ ! -e /etc/ssl/certs/ca-certificates.crt ] ||
		cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"
	for file in http https; do
		proxy=$(apt-config dump --no-empty --format '%v%n' "Acquire::$file::Proxy" 2>/dev/null || true)
		[ -z "$proxy" ] || echo "Acquire::$file::Proxy \"$proxy\";" >>"$1/etc/apt/apt.conf.d/90host"
	done
	echo "deb $mirror $2 main" >"$1/etc/apt/sources.list"
}

# inside ROOT COMMAND...: in the system, as root, with processes and mounts of its own.
inside() {
	# shellcheck disable=SC2016 # expanded by the inner shell
	unshare --mount --pid --fork --kill-child sh -c '
		set -e
		root=$1
		shift
		mount --make-rprivate /
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/tmp"
		exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root TERM=dumb ${http_proxy:+http_proxy="$http_proxy"} "$@"
	' sh "$@"
}

# booted ROOT COMMAND...: boots the system, whose packages must include systemd-sysv, and runs the command in it as a service.
booted() {
	local root=$1 status

	shift
	printf '%q ' "$@" >"$root/root/command"
	cat >"$root/etc/systemd/system/command.service" <<-'END'
		[Unit]
		After=multi-user.target
		[Service]
		Type=oneshot
		Environment=HOME=/root TERM=dumb
		WorkingDirectory=/root
		ExecStart=/bin/bash -c '. /root/command >/root/output 2>&1; echo $? >/root/status'
		ExecStopPost=/bin/systemctl --no-block poweroff
	END
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
	ln -sf ../command.service "$root/etc/systemd/system/multi-user.target.wants/command.service"
	rm -f "$root/root/output" "$root/root/status"
	systemd-nspawn --quiet --register=no --keep-unit --capability=all -D "$root" -b </dev/null >"$root/root/console" 2>&1 || true
	[ -s "$root/root/status" ] || {
		tail -n 20 "$root/root/console"
		return 1
	}
	status=$(<"$root/root/status")
	cat "$root/root/output"
	return "$status"
}

# A system of the suite in the directory ROOT.
system() { # SUITE ROOT
	base_of "$1"
	mkdir "$2"
	tar -C "$2" -xf "$cache/$1.tar"
	network_of_host "$2" "$1"
}
