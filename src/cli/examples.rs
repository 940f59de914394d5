//! What people type, with a few words on what it does: shown by `--help` and in the manual. Every one
//! of them parses; a test tries.

/// A line to type, and what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example {
    pub line: &'static str,
    pub meaning: &'static str,
}

const fn example(line: &'static str, meaning: &'static str) -> Example {
    Example { line, meaning }
}

/// The examples of a command, by the words that name it: `catalog list`; of the program itself by
/// none.
pub(super) fn examples(command: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            example("provision", "Asks what you need, shows the plan, and runs it when you agree."),
            example("provision plan essentials", "Shows what would run here; changes nothing."),
            example("provision resume", "Goes on where the newest unfinished session stopped."),
        ],
    ),
    (
        "start",
        &[
            example("provision start essentials", "Shows the plan, and waits for your approval."),
            example(
                "provision start fullstack-web --answers mine.yaml --yes",
                "Takes the answers from a file, and approves the plan unread.",
            ),
            example(
                "provision start --add jq --add ripgrep",
                "Installs two tools, without a profile.",
            ),
            example(
                "provision start essentials --answer editor=neovim --without fzf",
                "Answers one question beforehand, and leaves a task out.",
            ),
        ],
    ),
    (
        "plan",
        &[
            example("provision plan essentials", "Lists what would be installed here."),
            example("provision plan essentials --commands", "With every command it would run."),
            example(
                "provision plan essentials --output mine.json",
                "Writes a plan that you can read, keep, and run with `provision apply`.",
            ),
        ],
    ),
    (
        "expand",
        &[
            example("provision expand", "Asks which tools to add to what is set up here."),
            example("provision expand latest docker", "Adds one to the newest complete session."),
        ],
    ),
    (
        "revise",
        &[
            example("provision revise", "Asks what should be otherwise, and shows what follows."),
            example(
                "provision revise --answer editor=neovim",
                "Shows what another answer comes to; changes nothing before you agree.",
            ),
            example(
                "provision revise latest --reviewed",
                "Says that what is marked for review has been looked at.",
            ),
        ],
    ),
    (
        "override",
        &[example(
            "provision override latest redis --reason 'it listens elsewhere'",
            "Takes a task as it is though its check fails; the reason is on record.",
        )],
    ),
    (
        "approve",
        &[example(
            "provision approve latest 3f9a1c",
            "Approves the plan whose digest begins with these digits.",
        )],
    ),
    (
        "advance",
        &[
            example("provision advance latest", "Says what keeps the session in its phase."),
            example(
                "provision advance latest --force --reason 'checked by hand'",
                "Goes past it; the record keeps the reason.",
            ),
        ],
    ),
    (
        "apply",
        &[
            example("provision apply mine.json", "Shows the plan, and waits for your approval."),
            example("provision apply mine.json --yes", "Approves it as it is."),
            example(
                "provision apply mine.json --approve 3f9a1c",
                "Runs it only if it is the plan with this digest.",
            ),
        ],
    ),
    (
        "resume",
        &[
            example("provision resume", "Goes on with the newest session that is unfinished."),
            example("provision resume latest --skip", "Passes by the tasks that failed."),
            example(
                "provision resume latest --interrupted retry",
                "Runs a command again that nobody knows the end of.",
            ),
        ],
    ),
    (
        "pause",
        &[
            example("provision pause", "Pauses the newest session after its present command."),
            example("provision pause latest --reason lunch", "Says why, for whoever resumes it."),
        ],
    ),
    (
        "logs",
        &[
            example("provision logs", "Shows what the commands of the newest session wrote."),
            example("provision logs latest git", "Only those of one task."),
        ],
    ),
    (
        "sessions",
        &[
            example("provision sessions", "Lists the newest 50."),
            example("provision sessions --all --json", "All of them, for a program."),
        ],
    ),
    (
        "status",
        &[
            example("provision status", "Says where the newest session stands."),
            example("provision status prov-2026", "The beginning of an id is enough."),
            example(
                "provision status --chain",
                "With the sessions it adds to, and what each brought.",
            ),
        ],
    ),
    (
        "history",
        &[
            example("provision history", "Lists the events of the newest session."),
            example("provision history latest --follow", "Goes on as they are recorded."),
            example("provision history latest --verify", "Checks that nothing was altered."),
        ],
    ),
    (
        "migrate",
        &[example(
            "provision migrate prov-20260202-143052-a7b3",
            "Keeps the original beside what it writes.",
        )],
    ),
    (
        "audit",
        &[
            example("provision audit", "What is here, in which version, and what has changed."),
            example(
                "provision audit --explain jq",
                "Which session and command brought it, and when.",
            ),
            example("provision audit --html audit.html", "The same as a page for a browser."),
            example("provision audit --adopt", "Takes the machine as it is now, after asking."),
        ],
    ),
    (
        "report",
        &[
            example("provision report", "Writes a page about the newest session, in this folder."),
            example("provision report latest -o setup.html", "Names the file."),
        ],
    ),
    (
        "doctor",
        &[
            example("provision doctor", "Looks, and changes nothing."),
            example("provision doctor --repair", "Mends what is in the way."),
        ],
    ),
    (
        "recover",
        &[
            example("provision recover latest", "Says what can be saved, and asks."),
            example("provision recover latest --level 1 --yes", "Takes the backup, unasked."),
            example(
                "provision recover latest --level 3 --resume-at git:1",
                "Goes on at the second command of a task, because you say so.",
            ),
        ],
    ),
    (
        "prune",
        &[
            example("provision prune", "Lists logs older than 30 days, and asks."),
            example("provision prune --older-than 90d --yes", "Removes older ones, unasked."),
        ],
    ),
    (
        "catalog",
        &[
            example("provision catalog list", "Lists every task and profile."),
            example("provision catalog search json viewer", "Finds tasks by words."),
            example("provision catalog show ripgrep", "Shows what one would run here."),
        ],
    ),
    (
        "catalog list",
        &[
            example("provision catalog list", "Lists every task and profile."),
            example("provision catalog list --category editors", "The tasks of one category."),
        ],
    ),
    (
        "catalog show",
        &[
            example("provision catalog show ripgrep", "A task, and what it would run here."),
            example("provision catalog show essentials", "A profile, and what it asks."),
        ],
    ),
    ("catalog search", &[example("provision catalog search find files", "The best come first.")]),
    (
        "catalog validate",
        &[
            example("provision catalog validate", "Checks the whole catalog."),
            example("provision catalog validate tasks/mine.yaml", "Checks a file of your own."),
            example(
                "provision --catalog team catalog validate",
                "Checks a folder together with the rest of the catalog.",
            ),
        ],
    ),
    (
        "shell",
        &[
            example("provision shell", "Lists which tasks have lines in which file."),
            example("provision shell remove fzf", "Takes the lines of one task out again."),
        ],
    ),
    ("shell list", &[example("provision shell list", "Lists which tasks have lines where.")]),
    (
        "shell add",
        &[
            example("provision shell add", "The lines of what the newest session installed."),
            example("provision shell add latest --all", "And of what it found installed."),
        ],
    ),
    (
        "shell remove",
        &[
            example("provision shell remove fzf starship", "Takes the lines of two tasks out."),
            example("provision shell remove", "Takes out all there are."),
        ],
    ),
    (
        "schema",
        &[
            example("provision schema answers", "What a file for `start --answers` looks like."),
            example("provision schema task > task.schema.json", "For an editor that checks YAML."),
        ],
    ),
    (
        "completions",
        &[
            example(
                "source <(provision completions bash)",
                "bash: try it; to keep it, write that line into ~/.bashrc.",
            ),
            example(
                "provision completions fish > ~/.config/fish/completions/provision.fish",
                "fish: kept for every shell that you open from now on.",
            ),
            example(
                "provision completions zsh > ~/.zfunc/_provision",
                "zsh: with `fpath+=(~/.zfunc)` before `compinit` in ~/.zshrc.",
            ),
        ],
    ),
    (
        "man",
        &[
            example("provision man | man -l -", "Reads the manual of provision."),
            example("provision man catalog validate | man -l -", "The page of one command."),
            example(
                "provision man --to ~/.local/share/man/man1",
                "Writes every page to where `man` finds it: `man provision-start`.",
            ),
        ],
    ),
];
