//! What an audit says of a machine, held against what its package managers and its PATH say: whatever
//! one of them has, the audit has, and the other way round.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use agentic_provision::{
    catalog::{Catalog, LayerSource},
    disk::Fs,
};
use serde_json::Value;

use crate::harness::{Home, overlay::Overlay, skip};

/// Every program of the catalog: the task; its programs, any of which is enough, or all that are
/// joined by `+`; and the names that package managers know it by.
const PROGRAMS: &str = "
claude-code     claude        npm:@anthropic-ai/claude-code
codex           codex         npm:@openai/codex
gemini-cli      gemini        npm:@google/gemini-cli
aider           aider         pipx:aider-chat
llm             llm           pipx:llm
huggingface-cli hf            pipx:huggingface-hub
ollama          ollama
httpie          http          dpkg:httpie
mkcert          mkcert        dpkg:mkcert
hurl            hurl
bruno-cli       bru           npm:@usebruno/cli
newman          newman        npm:newman
wscat           wscat         npm:wscat
mitmproxy       mitmproxy     dpkg:mitmproxy pipx:mitmproxy
curl            curl          dpkg:curl
wget            wget          dpkg:wget
jq              jq            dpkg:jq
ripgrep         rg            dpkg:ripgrep
fd              fd fdfind     dpkg:fd-find
bat             bat batcat    dpkg:bat
fzf             fzf           dpkg:fzf
eza             eza           dpkg:eza
tree            tree          dpkg:tree
htop            htop          dpkg:htop
tmux            tmux          dpkg:tmux
zoxide          zoxide        dpkg:zoxide
direnv          direnv        dpkg:direnv
just            just          pipx:rust-just
hyperfine       hyperfine     dpkg:hyperfine
tldr            tldr          pipx:tldr
shellcheck      shellcheck    dpkg:shellcheck
unzip           unzip         dpkg:unzip
xz              xz            dpkg:xz-utils
zstd            zstd          dpkg:zstd
build-essential g+++make      dpkg:build-essential
cmake           cmake         dpkg:cmake
pkg-config      pkg-config    dpkg:pkg-config
awscli          aws           dpkg:awscli
azure-cli       az            dpkg:azure-cli
gcloud          gcloud
kubectl         kubectl
helm            helm
k9s             k9s
kubectx         kubectx       dpkg:kubectx
terraform       terraform
opentofu        tofu
ansible         ansible-playbook dpkg:ansible
ansible-lint    ansible-lint  dpkg:ansible-lint
rclone          rclone        dpkg:rclone
wrangler        wrangler      npm:wrangler
docker          docker        dpkg:docker.io
podman          podman        dpkg:podman
buildah         buildah       dpkg:buildah
skopeo          skopeo        dpkg:skopeo
hadolint        hadolint
lazydocker      lazydocker
kind            kind
minikube        minikube
jupyterlab      jupyter-lab   pipx:jupyterlab
ipython         ipython3 ipython dpkg:ipython3
r               R+Rscript     dpkg:r-base
duckdb          duckdb        pipx:duckdb-cli
micromamba      micromamba
quarto          quarto
pandoc          pandoc        dpkg:pandoc
latex           xelatex       dpkg:texlive-xetex
graphviz        dot           dpkg:graphviz
visidata        vd visidata   dpkg:visidata pipx:visidata
miller          mlr           dpkg:miller
dvc             dvc           pipx:dvc
postgresql      pg_ctlcluster postgres dpkg:postgresql
mariadb         mariadbd      dpkg:mariadb-server
redis           redis-server  dpkg:redis-server
sqlite          sqlite3       dpkg:sqlite3
neovim          nvim          dpkg:neovim
vim             vim           dpkg:vim
helix           hx
vscode          code
zed             zed
fnm             fnm
nodejs          node+npm      dpkg:npm
pnpm            pnpm          npm:pnpm
yarn            yarn          npm:yarn
bun             bun           npm:bun
typescript      tsc           npm:typescript
prettier        prettier      npm:prettier
uv              uv            pipx:uv
ruff            ruff          pipx:ruff
rust            rustup        dpkg:rustup
go              go            dpkg:golang-go
java            javac         dpkg:default-jdk-headless
ruby            ruby          dpkg:ruby
android-platform-tools adb+fastboot
android-sdk     sdkmanager    dpkg:sdkmanager
gradle          gradle
flutter         flutter
watchman        watchman      dpkg:watchman
eas-cli         eas           npm:eas-cli
pipx            pipx          dpkg:pipx
cargo-nextest   cargo-nextest
cargo-edit      cargo-upgrade
cargo-watch     cargo-watch
cargo-deny      cargo-deny
cargo-audit     cargo-audit
bacon           bacon
sccache         sccache       dpkg:sccache
mold            mold          dpkg:mold
lld             ld.lld        dpkg:lld
clang           clang         dpkg:clang
gdb             gdb           dpkg:gdb
lldb            lldb          dpkg:lldb
gnupg           gpg+gpg-agent dpkg:gnupg
age             age           dpkg:age
pass            pass          dpkg:pass
onepassword-cli op
bitwarden-cli   bw            npm:@bitwarden/cli
gitleaks        gitleaks
trivy           trivy
pip-audit       pip-audit     pipx:pip-audit
nmap            nmap          dpkg:nmap
lynis           lynis         dpkg:lynis
ufw             ufw           dpkg:ufw
zsh             zsh           dpkg:zsh
fish            fish          dpkg:fish
starship        starship
atuin           atuin
git             git           dpkg:git
git-lfs         git-lfs       dpkg:git-lfs
gh              gh            dpkg:gh
lazygit         lazygit
delta           delta
openssh         ssh           dpkg:openssh-client
pre-commit      pre-commit    dpkg:pre-commit
colima          colima
cursor          cursor
cocoapods       pod
fastlane        fastlane
homebrew        brew
";

/// No programs by that alone: settings, fonts, lines for shells, and what only an answer of the
/// program itself tells from another.
const OTHERS: &str = "apt-index android-studio automatic-updates bash-completion data-env docker-compose \
     font-fira-code font-hack font-jetbrains-mono git-config git-defaults git-editor git-ignore \
     inotify-watches macos-finder macos-key-repeat macos-screenshots nerd-font nvm oh-my-zsh \
     podman-docker python readline-defaults rust-analyzer ssh-agent-keys ssh-keepalive ssh-key xcode \
     zsh-autosuggestions zsh-syntax-highlighting";

/// What a machine says of itself, in words that are not ours.
struct Machine {
    /// Everything in a directory of programs that can be run.
    programs: BTreeSet<String>,
    /// By `dpkg:`, `npm:` or `pipx:` and their name: the version.
    packages: BTreeMap<String, String>,
}

impl Machine {
    /// `said` runs a line in a shell, and gives what it wrote.
    fn ask(said: impl Fn(&str) -> String) -> Self {
        let look = "places=$PATH:$HOME/.local/bin:$HOME/.cargo/bin; IFS=:; for place in $places; do \
                    [ -d \"$place\" ] && find -L \"$place\" -maxdepth 1 -type f -executable \
                    -printf '%f\\n'; done; true";
        let programs = said(look).lines().map(str::to_owned).collect();
        let mut packages = BTreeMap::new();
        let query = r"dpkg-query --show --showformat='${db:Status-Status} ${Package} ${Version}\n'";
        for line in said(query).lines() {
            let [status, name, version] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
            if status == "installed" {
                packages.insert(format!("dpkg:{name}"), version.to_owned());
            }
        }
        let json = |text: String| serde_json::from_str::<Value>(&text).unwrap_or_default();
        let npm = json(said("npm ls --global --json 2>/dev/null || true"));
        for (name, package) in npm["dependencies"].as_object().into_iter().flatten() {
            let version = package["version"].as_str().unwrap_or_default();
            packages.insert(format!("npm:{name}"), version.to_owned());
        }
        let pipx = json(said("pipx list --json 2>/dev/null || true"));
        for (name, venv) in pipx["venvs"].as_object().into_iter().flatten() {
            let version = venv["metadata"]["main_package"]["package_version"].as_str();
            packages.insert(format!("pipx:{name}"), version.unwrap_or_default().to_owned());
        }
        Self { programs, packages }
    }

    fn has(&self, programs: &str) -> bool {
        // `+` joins, and is the name of a compiler too.
        let names = programs.replace("g++", "g__");
        names.split('+').all(|name| self.programs.contains(&name.replace("g__", "g++")))
    }
}

/// Both say the same of every program. Gives those that are there, each with what says so.
fn assert_agrees(audit: &Value, machine: &Machine) -> BTreeMap<String, Vec<String>> {
    let tools: BTreeMap<&str, &Value> = audit["tools"].as_array().unwrap().iter().map(id).collect();
    let mut present = BTreeMap::new();
    for line in PROGRAMS.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let task = words.next().unwrap();
        let (packages, programs): (Vec<_>, Vec<_>) = words.partition(|word| word.contains(':'));
        let tool = tools.get(task).unwrap_or_else(|| panic!("{task} was not looked for"));
        let on_path: Vec<_> = programs.iter().filter(|names| machine.has(names)).collect();
        assert_eq!(tool["installed"], !on_path.is_empty(), "{task} by PATH: {on_path:?}\n{tool:#}");
        let known: Vec<_> =
            packages.iter().filter_map(|name| machine.packages.get_key_value(*name)).collect();
        for (name, version) in &known {
            assert_eq!(tool["installed"], true, "{task} by {name}: {tool:#}");
            // What Debian names has words of its own; the others say what the program says.
            if !name.starts_with("dpkg:") {
                assert_eq!(tool["version"], version.as_str(), "{task} by {name}");
            }
        }
        if !on_path.is_empty() {
            let mut by: Vec<_> = known.iter().map(|(name, _)| (*name).clone()).collect();
            by.extend(on_path.iter().map(|name| format!("PATH:{name}")));
            present.insert(task.to_owned(), by);
        }
    }
    present
}

fn id(tool: &Value) -> (&str, &Value) {
    (tool["task_id"].as_str().unwrap(), tool)
}

/// A machine on which tasks of every kind were set up: the audit and the machine say the same.
pub fn assert_tells_the_truth(machine: &Overlay, at_least: usize) {
    let audit = machine.run(&["provision", "--json", "audit"]);
    assert_eq!(audit.code, Some(0), "{}", audit.stderr);
    let audit: Value = serde_json::from_str(&audit.stdout).unwrap();
    let independent = Machine::ask(|line| machine.run(&["sh", "-c", line]).stdout);
    let present = assert_agrees(&audit, &independent);
    let by = |source: &str| {
        present.values().filter(|by| by.iter().any(|name| name.starts_with(source))).count()
    };
    let (dpkg, npm, pipx) = (by("dpkg:"), by("npm:"), by("pipx:"));
    println!(
        "{} programs of the catalog are there: {dpkg} by dpkg, {npm} by npm, {pipx} by pipx",
        present.len()
    );
    assert!(present.len() >= at_least, "only {present:#?}");
    assert!(dpkg >= 10 && npm >= 3 && pipx >= 2, "{present:#?}");
}

#[test]
fn the_audit_of_this_very_machine_agrees_with_its_package_managers_and_its_path() {
    let home = Home::new();
    let path = std::env::var_os("PATH").unwrap();
    let user = std::env::var_os("HOME").unwrap();
    let mut command = home.command(&["--json", "audit"]);
    command.env("PATH", &path).env("HOME", &user);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let audit: Value = serde_json::from_slice(&output.stdout).unwrap();
    if !cfg!(target_os = "linux") {
        skip("what is compared with is a thing of Debian");
        return;
    }
    let independent = Machine::ask(|line| {
        let asked = Command::new("sh").args(["-c", line]).output().unwrap();
        String::from_utf8_lossy(&asked.stdout).into_owned()
    });
    let present = assert_agrees(&audit, &independent);
    println!("{} programs of the catalog are on this machine: {present:#?}", present.len());
}

#[test]
fn every_task_of_the_catalog_is_compared_or_said_not_to_be_a_program() {
    let catalog = Catalog::load(&Fs::real(), &[LayerSource::Embedded]).unwrap();
    let all: BTreeSet<&str> = catalog.tasks().map(|listed| listed.item.id.as_str()).collect();
    let programs = PROGRAMS.lines().filter_map(|line| line.split_whitespace().next());
    let told: BTreeSet<&str> = programs.chain(OTHERS.split_whitespace()).collect();
    assert_eq!(told, all);
}
