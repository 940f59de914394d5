#compdef provision
# Completion of provision for zsh; `provision completions zsh` prints it.

_provision() {
    local -a found closed open
    local one
    found=("${(@f)$(PROVISION_COMPLETE=zsh command provision -- \
        "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)}")
    case $found[1] in
        '') return 1 ;;
        :files) compset -P '--*='; _files; return ;;
        :folders) compset -P '--*='; _files -/; return ;;
    esac
    for one in $found; do
        # What ends in `=` goes on.
        if [[ ${one%%:*} == *= ]]; then open+=("$one"); else closed+=("$one"); fi
    done
    local ret=1
    (( $#closed )) && _describe -V provision closed && ret=0
    (( $#open )) && _describe -V provision open -S '' && ret=0
    return ret
}

# Found through fpath it is the function itself; from a file that is read it is made known.
if [[ $funcstack[1] == _provision ]]; then
    _provision "$@"
else
    compdef _provision provision
fi
