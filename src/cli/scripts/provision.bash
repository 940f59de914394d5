# Completion of provision for bash; `provision completions bash` prints it.

_provision() {
    local found
    COMPREPLY=()
    # The word as bash will replace it comes first: to bash, `=` and `:` begin a new one.
    while IFS= read -r found; do
        case $found in
            :files) compopt -o default 2>/dev/null ;;
            :folders) compopt -o dirnames 2>/dev/null ;;
            *)
                COMPREPLY+=("$found")
                [[ $found != *= ]] || compopt -o nospace 2>/dev/null
                ;;
        esac
    done < <(PROVISION_COMPLETE=bash command provision -- "$2" \
        "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null </dev/null)
}

# A bash before 4.4 sorts, and one before 4 is offered files wherever nothing else fits.
if ! complete -o nosort -F _provision provision 2>/dev/null; then
    complete -o default -F _provision provision
fi
