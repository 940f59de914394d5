//! Which file a shell reads when a person opens one, and which shells of a person are meant.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::model::named;

named! {
    /// A shell whose configuration can be added to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Shell {
        Zsh = "zsh",
        Bash = "bash",
        Fish = "fish",
    }
}

/// What says where a person's shells look.
#[derive(Clone, Debug, Default)]
pub struct ShellSurroundings {
    /// None: there is no place for anyone's files.
    pub home: Option<PathBuf>,
    /// The value of `$SHELL`.
    pub login_shell: Option<String>,
    pub zdotdir: Option<String>,
    pub xdg_config_home: Option<String>,
    pub is_macos: bool,
}

impl ShellSurroundings {
    /// The file that an interactive shell reads at its start. The terminals of macOS start bash as
    /// a login shell, which reads another.
    pub fn file(&self, shell: Shell, is_there: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let home = self.home.as_deref().filter(|home| home.is_absolute())?;
        // Neither means anything unless it is absolute.
        let place = |given: &Option<String>| {
            given.as_ref().map(PathBuf::from).filter(|place| place.is_absolute())
        };
        Some(match shell {
            Shell::Zsh => place(&self.zdotdir).unwrap_or_else(|| home.into()).join(".zshrc"),
            // Of these it reads only the first that is there: a new one would hide the others.
            Shell::Bash if self.is_macos => {
                let mut known = [".bash_profile", ".bash_login", ".profile"].map(|n| home.join(n));
                let first = known.iter().position(|file| is_there(file)).unwrap_or(0);
                std::mem::take(&mut known[first])
            }
            Shell::Bash => home.join(".bashrc"),
            Shell::Fish => place(&self.xdg_config_home)
                .unwrap_or_else(|| home.join(".config"))
                .join("fish/config.fish"),
        })
    }

    /// The file of a home with the lines that tasks have for a shell.
    pub fn env_file(shell: Shell, home: &Path) -> PathBuf {
        home.join(format!("env.{}", shell.name()))
    }

    fn is_login_shell(&self, shell: Shell) -> bool {
        let given = self.login_shell.as_deref().map(Path::new);
        given.and_then(Path::file_name).is_some_and(|name| name == shell.name())
    }

    /// The shells that a person uses, as far as can be seen, and their files: the login shell, and
    /// each other that has its file already.
    pub fn files_in_use(&self, is_there: impl Fn(&Path) -> bool) -> Vec<(Shell, PathBuf)> {
        let all =
            Shell::ALL.into_iter().filter_map(|shell| Some((shell, self.file(shell, &is_there)?)));
        all.filter(|(shell, file)| self.is_login_shell(*shell) || is_there(file)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Shell, ShellSurroundings};

    fn ada() -> ShellSurroundings {
        ShellSurroundings {
            home: Some("/home/ada".into()),
            login_shell: Some("/usr/bin/zsh".into()),
            ..ShellSurroundings::default()
        }
    }

    #[test]
    fn each_shell_has_its_file_and_may_be_told_to_look_elsewhere() {
        let mut around = ada();
        let file = |around: &ShellSurroundings, shell| {
            around.file(shell, |_| false).unwrap().to_string_lossy().into_owned()
        };
        assert_eq!(file(&around, Shell::Zsh), "/home/ada/.zshrc");
        assert_eq!(file(&around, Shell::Bash), "/home/ada/.bashrc");
        assert_eq!(file(&around, Shell::Fish), "/home/ada/.config/fish/config.fish");
        around.is_macos = true;
        assert_eq!(file(&around, Shell::Bash), "/home/ada/.bash_profile");
        around.zdotdir = Some("/etc/ada".into());
        around.xdg_config_home = Some("/cfg".into());
        assert_eq!(file(&around, Shell::Zsh), "/etc/ada/.zshrc");
        assert_eq!(file(&around, Shell::Fish), "/cfg/fish/config.fish");
        for nowhere in ["", "relative/path"] {
            around.zdotdir = Some(nowhere.into());
            assert_eq!(file(&around, Shell::Zsh), "/home/ada/.zshrc");
        }
    }

    #[test]
    fn the_login_shell_and_those_with_a_file_are_in_use() {
        let used = |around: &ShellSurroundings, there: &str| -> Vec<Shell> {
            let files = around.files_in_use(|file| file == Path::new(there));
            files.into_iter().map(|(shell, _)| shell).collect()
        };
        assert_eq!(used(&ada(), "/nothing"), [Shell::Zsh]);
        assert_eq!(used(&ada(), "/home/ada/.bashrc"), [Shell::Zsh, Shell::Bash]);
        let unknown = ShellSurroundings { login_shell: Some("/bin/dash".into()), ..ada() };
        assert_eq!(used(&unknown, "/home/ada/.bashrc"), [Shell::Bash]);
        let homeless = ShellSurroundings { home: None, ..ada() };
        assert_eq!(used(&homeless, "/nothing"), []);
    }
}
