# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completion of uncore's command line in bash: the command itself knows its words.

_uncore() {
	local line=${COMP_LINE:0:COMP_POINT} part=${COMP_WORDS[COMP_CWORD]} words

	# Not bash's words, which end at ':' and '=', too.
	read -ra words <<<"$line"
	[[ $line != *[[:space:]] ]] || words+=('')
	[[ $part != [:=] ]] || part=
	mapfile -t COMPREPLY < <("${words[0]/#\~/$HOME}" complete "${words[@]:1}" 2>/dev/null | cut -f 1 | sort -uV)
	# Bash has the beginning of the word up to its part.
	line=${words[-1]%"$part"}
	COMPREPLY=("${COMPREPLY[@]#"$line"}")
	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[/:] ]] || compopt -o nospace
}
complete -o default -F _uncore uncore
