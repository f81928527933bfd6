# SPDX-License-Identifier: MIT
# Completion of uncore's command line in fish: the command itself knows its words.

function __uncore_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] complete $words[2..] 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end

complete -c uncore -f -a '(__uncore_complete)'
