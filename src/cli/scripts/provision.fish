# Completion of provision for fish; `provision completions fish` prints it.

function __provision_complete
    set -l current (commandline --current-token --cut-at-cursor)
    set -l words (commandline --tokenize --cut-at-cursor --current-process)
    set -l found (PROVISION_COMPLETE=fish command provision -- $words "$current" 2>/dev/null </dev/null)
    set -l flag (string match --regex -- '^--[^=]*=' "$current")
    set -l rest (string replace --regex -- '^--[^=]*=' '' "$current")
    switch "$found[1]"
        case :files
            for path in (__fish_complete_path "$rest")
                printf '%s\n' "$flag$path"
            end
        case :folders
            for path in (__fish_complete_directories "$rest" '')
                printf '%s\n' "$flag$path"
            end
        case '*'
            printf '%s\n' $found
    end
end

complete --command provision --no-files --keep-order --arguments '(__provision_complete)'
