//! Which packages of one failed call its manager names as the reason, so that the others can be tried
//! without them. Only the form of a complaint counts, never a name that stands somewhere in the
//! output: packages are called `npm`, `code` and `error`. Whoever is blamed wrongly is not installed;
//! who is not blamed is only tried again.

use std::collections::HashSet;

use regex::Regex;

use super::screen::without_orders;
use crate::model::PackageManager;

/// Those of `packages` that `manager` blames in what it wrote, in the order given. Packages are as the
/// manager was told them, with versions and the like; they are known by their names.
pub fn blamed<'p>(manager: PackageManager, output: &[u8], packages: &[&'p str]) -> Vec<&'p str> {
    let text = String::from_utf8_lossy(output);
    let text = without_orders(&text);
    let lines: Vec<&str> = text.split(['\n', '\r']).filter(|line| !line.is_empty()).collect();
    let mut names: HashSet<String> = HashSet::new();
    let complaints = complaints(manager);
    for line in &lines {
        for found in complaints.iter().filter_map(|form| form.captures(line)) {
            let named = found.get(1).map_or("", |named| named.as_str());
            // One complaint may name several.
            names.extend(named.split([' ', ',']).flat_map(|word| names_in(manager, word)));
        }
    }
    match manager {
        PackageManager::Apt => {
            names.extend(listed_below(
                "Errors were encountered while processing:",
                &lines,
                manager,
            ));
            names.extend(with_unmet_dependencies(&lines));
        }
        PackageManager::Dnf => names.extend(listed_below("Failed:", &lines, manager)),
        PackageManager::Npm => names.extend(whose_script_failed(&lines, packages)),
        _ => {}
    }
    let is_named = |package: &&&'p str| {
        let own = name_of(manager, package);
        !own.is_empty() && names.contains(&own)
    };
    packages.iter().filter(is_named).copied().collect()
}

/// Returns the forms of a manager's complaints about single packages, each within one line.
fn complaints(manager: PackageManager) -> Vec<Regex> {
    let patterns: &[&str] = match manager {
        PackageManager::Apt => &[
            "^(?:E|Error): Unable to locate package (\\S+)$",
            "^(?:E|Error): Package '([^']+)' has no installation candidate$",
            "^(?:E|Error): (?:Version|Release) '[^']*' for '([^']+)' was not found$",
            "^(?:E|Error): Can't select [\\w ]+ from package '?([^' ]+)'? as it ",
            "^dpkg: error processing (?:package|archive) (\\S+) \\(--[a-z-]+\\):$",
        ],
        PackageManager::Dnf => &[
            "^(?:Error: )?Unable to find a match: (.+)$",
            "^No match for argument: (\\S+)$",
            "^No package (\\S+) available\\.?$",
            "^\\s*(?:-|Problem(?: \\d+)?:) nothing provides .+ needed by (\\S+)(?: from \\S+)?$",
            "^\\s*(?:-|Problem(?: \\d+)?:) package (\\S+)(?: from [^@]\\S*)? requires .+, but none of",
            "^error: %\\w+\\((\\S+)\\) scriptlet failed",
        ],
        PackageManager::Pacman => &[
            "^error: target not found: (\\S+)$",
            "^:: unable to satisfy dependency '[^']+' required by (\\S+)$",
            "^:: ([^\\s:]+): requires \\S+$",
            "^warning: cannot resolve \"[^\"]+\", a dependency of \"([^\"]+)\"$",
            "^([^\\s:]+): /.* exists in filesystem(?: \\(owned by \\S+\\))?$",
        ],
        PackageManager::Brew | PackageManager::Cask => &[
            "^(?:Error|Warning): No available formula(?: or cask)? with the name \"([^\"]+)\"",
            "^(?:Error|Warning): No available formula .*\\(dependency of ([^\\s)]+)\\)",
            "^Error: No formulae or casks found for (\\S+?)\\.$",
            "^(?:Error|Warning): Cask '([^']+)' (?:is (?:unavailable|unreadable)|definition is invalid)",
            "^Error: Cannot install (\\S+) because conflicting formulae are installed\\.",
            "^Error: (\\S+) has been disabled because ",
            "^Error: (\\S+): no bottle available!",
        ],
        PackageManager::Npm => &[
            "^npm (?:ERR!|error) 404 +(?:The requested resource )?'([^']+)' (?:could not be found|is not in)",
            "^npm (?:ERR!|error) notarget No matching version found for (\\S+)",
            "^npm (?:ERR!|error) notsup Unsupported platform for (\\S+): wanted ",
            "^npm (?:ERR!|error) notsup Not compatible with your version of node/npm: (\\S+)$",
            "^npm (?:ERR!|error) Failed at the (\\S+) \\S+ script\\.",
        ],
        PackageManager::Pipx => &[
            "^\\s*ERROR: No matching distribution found for (\\S+)",
            "^No apps associated with package (\\S+) or its dependencies\\.",
            "^Error installing (\\S+?)(?: from spec '.*')?\\.$",
        ],
        PackageManager::Cargo => &[
            "^error: could not find `([^`]+)` in registry ",
            "^error: failed to compile `([^` ]+) v[^`]*`",
            "^error: cannot install package `([^` ]+)(?: [^`]*)?`, it ",
            "^error: there is nothing to install in `([^` ]+) v[^`]*`",
            "^\\s*Summary .*Failed to install (.+) \\(see error",
        ],
    };
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
}

/// The name by which a package is known, of all that a manager may be told of it.
fn name_of(manager: PackageManager, spec: &str) -> String {
    let until = |ends: &[char]| spec.split(ends).next().unwrap_or_default();
    match manager {
        PackageManager::Apt => until(&['=', '/', ':']).to_owned(),
        PackageManager::Pacman => {
            let name = until(&['=', '<', '>']);
            name.rsplit('/').next().unwrap_or_default().to_owned()
        }
        // What follows an `@` belongs to the name, as in `python@3.12`; in front may be a tap.
        PackageManager::Brew | PackageManager::Cask => {
            spec.rsplit('/').next().unwrap_or_default().to_lowercase()
        }
        PackageManager::Npm => match spec.strip_prefix('@') {
            Some(scoped) => format!("@{}", scoped.split('@').next().unwrap_or_default()),
            None => until(&['@']).to_owned(),
        },
        PackageManager::Cargo => until(&['@']).to_owned(),
        PackageManager::Pipx => {
            let name = until(&['=', '<', '>', '!', '~', ';', '@', '[', ' ']);
            let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join("-").to_lowercase()
        }
        PackageManager::Dnf => spec.to_owned(),
    }
}

/// The names that a word in a complaint may mean.
fn names_in(manager: PackageManager, word: &str) -> Vec<String> {
    let word = word.trim();
    match manager {
        PackageManager::Apt => {
            // An archive goes by its file: `name_version_arch.deb`.
            let word = match word.strip_suffix(".deb") {
                Some(path) => path.rsplit('/').next().and_then(|file| file.split('_').next()),
                None => Some(word),
            };
            word.map(|word| name_of(manager, word)).into_iter().collect()
        }
        PackageManager::Dnf => {
            // `name-version-release.arch`, and what of it a person may have asked for.
            let mut names = vec![word.to_owned()];
            if let Some((rest, arch)) = word.rsplit_once('.')
                && let Some((versioned, _)) = rest.rsplit_once('-')
                && let Some((name, _)) = versioned.rsplit_once('-')
            {
                let named = [rest, versioned, name].map(str::to_owned);
                names.extend(named);
                names.push(format!("{name}.{arch}"));
            }
            names
        }
        _ => vec![name_of(manager, word)],
    }
}

/// What stands indented below a heading, one to a line.
fn listed_below(heading: &str, lines: &[&str], manager: PackageManager) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_below = false;
    for line in lines {
        if is_below && line.starts_with(' ') {
            found.extend(names_in(manager, line));
        } else {
            is_below = *line == heading;
        }
    }
    found
}

/// Packages that apt cannot give what they depend on. Where the system was broken before, it says so
/// of all that it is asked for, and none of them is the reason.
fn with_unmet_dependencies(lines: &[&str]) -> Vec<String> {
    let was_broken = |line: &&str| {
        ["E: Unmet dependencies.", "Error: Unmet dependencies."]
            .iter()
            .any(|beginning| line.starts_with(beginning))
    };
    if lines.iter().any(was_broken) {
        return Vec::new();
    }
    let Ok(unmet) = Regex::new("^ (\\S+) : [A-Z][A-Za-z]+: \\S") else { return Vec::new() };
    let found = lines.iter().filter_map(|line| unmet.captures(line));
    found.map(|found| name_of(PackageManager::Apt, &found[1])).collect()
}

/// The package whose own script failed, or that of something only it brings along: then the folder of
/// that is in its own. npm names folders for other reasons too, such as one it may not write to.
fn whose_script_failed(lines: &[&str], packages: &[&str]) -> Option<String> {
    let said = |line: &'_ str, what: &str| -> Option<String> {
        let rest = line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm ERR! "))?;
        rest.strip_prefix(what).map(str::to_owned)
    };
    let pair = lines.windows(2).find(|pair| said(pair[1], "command ").is_some());
    let path = said(pair?.first()?, "path ")?;
    let folders = path.split("/node_modules/").skip(1).map(|below| {
        let most = if below.starts_with('@') { 2 } else { 1 };
        below.split('/').take(most).collect::<Vec<_>>().join("/")
    });
    let is_one = |name: &String| {
        packages.iter().any(|package| name_of(PackageManager::Npm, package) == *name)
    };
    folders.into_iter().find(is_one)
}

#[cfg(test)]
mod tests {
    use super::{PackageManager, blamed, complaints};
    use PackageManager::{Apt, Brew, Cargo, Cask, Dnf, Npm, Pacman, Pipx};

    fn blame<'p>(manager: PackageManager, output: &str, packages: &[&'p str]) -> Vec<&'p str> {
        blamed(manager, output.as_bytes(), packages)
    }

    const APT_UNKNOWN: &str = "\
Reading package lists...
Building dependency tree...
Reading state information...
E: Unable to locate package qzxnope1
E: Unable to locate package qzxnope2
";
    const APT_VERSION: &str = "\
Package jq is not available, but is referred to by another package.
This may mean that the package is missing, has been obsoleted, or
is only available from another source

E: Version '99.9' for 'jq' was not found
";
    const APT_NO_CANDIDATE: &str = "\
Package qnocand is not available, but is referred to by another package.
This may mean that the package is missing, has been obsoleted, or
is only available from another source

E: Package 'qnocand' has no installation candidate
";
    const APT_UNMET: &str = "\
The following packages have unmet dependencies:
 qw : Depends: qd (>= 5) but it is not going to be installed
      Recommends: qnocand but it is not installable
E: Unable to correct problems, you have held broken packages.
";
    const APT_BROKEN_BEFORE: &str = "\
You might want to run 'apt --fix-broken install' to correct these.
The following packages have unmet dependencies:
 qbroken : Depends: qz-none but it is not installable
 qe : Depends: qd but it is not going to be installed
E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).
";
    const DPKG: &str = "\
Setting up qd (1) ...
dpkg: error processing package qd (--configure):
 installed qd package post-installation script subprocess returned error exit status 7
dpkg: dependency problems prevent configuration of qe:
 qe depends on qd; however:
  Package qd is not configured yet.

Setting up qc (1) ...
Errors were encountered while processing:
 qd
 qe:amd64
 /var/cache/apt/archives/qp_1%3a2_all.deb
E: Sub-process /usr/bin/dpkg returned an error code (1)
";

    #[test]
    fn apt_names_what_it_does_not_find() {
        let all = ["qzxnope1", "jq", "qzxnope2", "package", "E", "locate"];
        assert_eq!(blame(Apt, APT_UNKNOWN, &all), ["qzxnope1", "qzxnope2"]);
        let all = ["jq=99.9", "package", "Version", "another"];
        assert_eq!(blame(Apt, APT_VERSION, &all), ["jq=99.9"]);
        let release = "E: Release 'nope' for 'jq' was not found\n";
        assert_eq!(blame(Apt, release, &["jq/nope", "nope"]), ["jq/nope"]);
        assert_eq!(blame(Apt, APT_NO_CANDIDATE, &["qnocand", "candidate"]), ["qnocand"]);
        let arch = "E: Unable to locate package jq:armhf\r\n";
        assert_eq!(blame(Apt, arch, &["jq:armhf", "armhf"]), ["jq:armhf"]);
        let virtual_one = "E: Can't select versions from package 'awk' as it is purely virtual\n";
        assert_eq!(blame(Apt, virtual_one, &["awk", "package"]), ["awk"]);
        let newer = "Error: Unable to locate package qzxnope1\n";
        assert_eq!(blame(Apt, newer, &["qzxnope1", "Error"]), ["qzxnope1"]);
    }

    #[test]
    fn apt_names_what_has_unmet_dependencies_unless_the_system_was_broken_before() {
        assert_eq!(blame(Apt, APT_UNMET, &["qw", "qd", "qnocand", "qc"]), ["qw"]);
        assert_eq!(blame(Apt, APT_BROKEN_BEFORE, &["qe", "qc"]), [""; 0]);
    }

    #[test]
    fn dpkg_names_what_it_could_not_process() {
        let all = ["qc", "qd", "qe", "qp", "package", "configure", "dpkg"];
        assert_eq!(blame(Apt, DPKG, &all), ["qd", "qe", "qp"]);
        let archive =
            "dpkg: error processing archive /var/cache/apt/archives/qp_1_all.deb (--unpack):\n";
        assert_eq!(blame(Apt, archive, &["qp", "archive", "apt"]), ["qp"]);
    }

    #[test]
    fn dnf_names_what_it_does_not_find_or_cannot_give_what_it_needs() {
        let older = "No match for argument: nope1\nNo match for argument: nope2\n\
                     Error: Unable to find a match: nope1 nope2\n";
        let all = ["nope1", "jq", "nope2", "argument", "match"];
        assert_eq!(blame(Dnf, older, &all), ["nope1", "nope2"]);
        let newer = "\
Failed to resolve the transaction:
Package \"curl-8.15.0-6.fc43.x86_64\" is already installed.
No match for argument: nope
You can try to add to command line:
  --skip-unavailable to skip unavailable packages
";
        assert_eq!(blame(Dnf, newer, &["curl", "nope", "transaction"]), ["nope"]);
        let unmet = "\
Error: 
 Problem: package docker-ce-3:19.03.13-3.el7.x86_64 requires containerd.io >= 1.2.2-3, but none of the providers can be installed
  - package containerd.io-1.2.10-3.2.el7.x86_64 is filtered out by modular filtering
  - nothing provides libz needed by tool-1.0-1.el7.x86_64 from extras
";
        let all = ["docker-ce", "containerd.io", "tool", "docker", "libz"];
        assert_eq!(blame(Dnf, unmet, &all), ["docker-ce", "tool"]);
        let failed = "Failed:\n  tool-1.0-1.el7.x86_64\n\nError: Transaction failed\n";
        assert_eq!(blame(Dnf, failed, &["tool-1.0", "Transaction", "jq"]), ["tool-1.0"]);
    }

    #[test]
    fn pacman_names_what_it_does_not_find_or_cannot_put_in_place() {
        let unknown = "error: target not found: nope1\nerror: target not found: extra/nope2\n";
        let all = ["nope1", "extra/nope2", "target", "error", "jq"];
        assert_eq!(blame(Pacman, unknown, &all), ["nope1", "extra/nope2"]);
        let unmet = "error: failed to prepare transaction (could not satisfy dependencies)\n\
                     :: unable to satisfy dependency 'libfoo>=2' required by tool\n";
        assert_eq!(blame(Pacman, unmet, &["libfoo", "tool", "transaction"]), ["tool"]);
        let files = "error: failed to commit transaction (conflicting files)\n\
                     tool: /usr/bin/tool exists in filesystem (owned by other)\n";
        assert_eq!(blame(Pacman, files, &["tool", "other", "files"]), ["tool"]);
    }

    #[test]
    fn brew_names_what_it_does_not_find_with_what_follows_an_at() {
        let unknown = "\
\u{1b}[33mWarning:\u{1b}[0m No available formula with the name \"cfonts\". Did you mean conftest?
==> Searching for similarly named formulae...
This similarly named formula was found:
conftest
To install it, run:
  brew install conftest
";
        assert_eq!(blame(Brew, unknown, &["conftest", "cfonts", "brew"]), ["cfonts"]);
        let version = "Error: No available formula with the name \"python@9.9\".\n";
        assert_eq!(blame(Brew, version, &["python@3.12", "python@9.9"]), ["python@9.9"]);
        let conflict = "Error: Cannot install denji/nginx/nginx-full because conflicting formulae are installed.\n  nginx: because\n";
        let all = ["nginx", "denji/nginx/nginx-full"];
        assert_eq!(blame(Brew, conflict, &all), ["denji/nginx/nginx-full"]);
        let cask = "Error: Cask 'betterzipql' is unavailable: No Cask with this name exists.\n";
        assert_eq!(blame(Cask, cask, &["BetterZipQL", "cask", "name"]), ["BetterZipQL"]);
    }

    const NPM_404: &str = "\
npm error code E404
npm error 404 Not Found - GET https://packages.example/@qzx-nope%2fthing
npm error 404
npm error 404  The requested resource '@qzx-nope/thing@*' could not be found or you do not have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /home/ada/.npm/_logs/debug-0.log
";
    const NPM_TARGET: &str = "\
npm error code ETARGET
npm error notarget No matching version found for @types/node@nosuchtag.
npm error notarget In most cases you or one of your dependencies are requesting a package version that doesn't exist.
";
    const NPM_SCRIPT: &str = "\
npm error code 3
npm error path /tmp/p/lib/node_modules/qdeep/node_modules/@qs/bad
npm error command failed
npm error command sh -c echo about npm code; exit 3
npm error about npm code
";

    #[test]
    fn npm_names_what_it_does_not_find_with_its_scope() {
        let all = ["npm", "@qzx-nope/thing", "thing", "code", "error", "tarball", "git"];
        assert_eq!(blame(Npm, NPM_404, &all), ["@qzx-nope/thing"]);
        let coloured = "\u{1b}[1mnpm\u{1b}[22m \u{1b}[31merror\u{1b}[39m \u{1b}[94m404\u{1b}[39m  \
                        The requested resource 'qzx-nope-1@*' could not be found or you do not\n";
        assert_eq!(blame(Npm, coloured, &["qzx-nope-1@2", "npm"]), ["qzx-nope-1@2"]);
        let older = "npm ERR! 404  'qzx@1' is not in this registry.\n";
        assert_eq!(blame(Npm, older, &["qzx@1", "registry"]), ["qzx@1"]);
        let all = ["@types/node@nosuchtag", "node", "package"];
        assert_eq!(blame(Npm, NPM_TARGET, &all), ["@types/node@nosuchtag"]);
        let target = "npm error notarget No matching version found for npm@99.\n";
        assert_eq!(blame(Npm, target, &["notarget", "npm@99"]), ["npm@99"]);
    }

    #[test]
    fn npm_names_what_is_not_for_this_machine() {
        let platform = "npm error notsup Unsupported platform for fsevents@2.3.3: wanted {\"os\":\"darwin\"} (current: {\"os\":\"linux\"})\n";
        assert_eq!(blame(Npm, platform, &["fsevents", "is-odd"]), ["fsevents"]);
        let engine = "npm error notsup Not compatible with your version of node/npm: qeng@1.0.0\n";
        assert_eq!(blame(Npm, engine, &["npm", "node", "qeng"]), ["qeng"]);
    }

    #[test]
    fn a_script_is_blamed_on_the_package_that_brought_it() {
        let all = ["npm", "code", "qdeep@1", "bad", "command"];
        assert_eq!(blame(Npm, NPM_SCRIPT, &all), ["qdeep@1"]);
        assert_eq!(blame(Npm, NPM_SCRIPT, &["@qs/bad", "is-odd"]), ["@qs/bad"]);
        let rights = "npm error code EACCES\nnpm error syscall mkdir\n\
                      npm error path /usr/lib/node_modules/qdeep\nnpm error errno -13\n";
        assert_eq!(blame(Npm, rights, &["qdeep"]), [""; 0]);
    }

    #[test]
    fn pipx_names_packages_in_whatever_spelling() {
        let unknown = "\
installing qzx-nope-pkg...
Some possibly relevant errors from pip install:
    ERROR: Could not find a version that satisfies the requirement qzx-nope-pkg (from versions: none)
    ERROR: No matching distribution found for qzx-nope-pkg
Error installing qzx-nope-pkg.
";
        assert_eq!(blame(Pipx, unknown, &["pip", "Qzx_Nope.pkg", "six"]), ["Qzx_Nope.pkg"]);
        let version = "    ERROR: No matching distribution found for black==99.99\n\
                       Error installing black from spec 'black==99.99'.\n";
        assert_eq!(blame(Pipx, version, &["black==99.99", "spec"]), ["black==99.99"]);
        let library = "No apps associated with package six or its dependencies. `pipx install`\n";
        assert_eq!(blame(Pipx, library, &["six", "pipx", "package"]), ["six"]);
    }

    #[test]
    fn cargo_names_each_crate_that_failed() {
        let several = "\
    Updating the package index
error: there is nothing to install in `serde v1.0.229`, because it has no binaries
`cargo install` is only for installing programs, and can't be used with libraries.
    Updating the package index
error: could not find `qzx-nope-crate` in registry `crates-io` with version `*`
     Summary Failed to install serde, qzx-nope-crate (see error(s) above).
error: some crates failed to install
";
        let all = ["ripgrep", "serde@1", "qzx-nope-crate", "error", "cargo", "crates"];
        assert_eq!(blame(Cargo, several, &all), ["serde@1", "qzx-nope-crate"]);
        let mixed = "     Summary Successfully installed fd! Failed to install a, b (see error(s) above).\n";
        assert_eq!(blame(Cargo, mixed, &["fd", "a", "b"]), ["a", "b"]);
        let compile = "\
error: could not compile `libz-sys` (lib) due to 1 previous error
error: failed to compile `qfail v0.1.0`, intermediate artifacts can be found at `/tmp/x`.
";
        assert_eq!(blame(Cargo, compile, &["libz-sys", "qfail", "compile"]), ["qfail"]);
    }

    #[test]
    fn what_only_looks_like_a_complaint_blames_nobody() {
        for (manager, output) in [
            (Apt, "Get:1 http://deb/ x 1 [1 kB]\nSetting up x (1) ...\nE: Failed to fetch x\n"),
            (Apt, "postinst: E: Unable to locate package x\n"),
            (Apt, "Errors were encountered while processing:\nE: x\n x\n"),
            (Apt, "E: Unable to locate package xx\nE: Unable to locate package x-y\n"),
            (Dnf, "Installing: x\n - package x is fine\nNo match for argument: xx\n"),
            (Pacman, "warning: x is up to date -- skipping\nerror: x: signature is bad\n"),
            (Brew, "Error: x: Failed to download resource \"x\"\n==> Installing x\n"),
            (Npm, "npm warn deprecated x@1.0.0: 404 'x@1' is not in use\nnpm error x\n"),
            (Npm, "npm error npm error notarget No matching version found for x@1.\n"),
            (Pipx, "installing x...\nERROR: x has a problem\n"),
            (Cargo, "  error: could not find `x` in registry `crates-io`\n   Compiling x v1.0.0\n"),
            (Cargo, "error: could not compile `x` (lib) due to 1 previous error\n"),
        ] {
            assert_eq!(blame(manager, output, &["x"]), [""; 0], "{output}");
        }
        for manager in PackageManager::ALL {
            assert_eq!(blame(manager, "", &["x", ""]), [""; 0]);
            assert_eq!(blamed(manager, &[0xff; 100], &["x"]), [""; 0]);
        }
    }

    #[test]
    fn every_form_can_be_read() {
        let counts = PackageManager::ALL.map(|manager| complaints(manager).len());
        assert_eq!(counts, [5, 6, 5, 7, 7, 5, 3, 5]);
    }
}
