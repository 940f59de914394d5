//! What the arguments and the environment mean. Nothing below reads either.

use std::{io::IsTerminal, path::PathBuf, time::Duration};

use indexmap::IndexMap;
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

use super::{
    appearance::{self, ColourChoice, Surface},
    args::Global,
    ask,
    failure::Failure,
};
use crate::{
    catalog::{LayerSource, Rules},
    disk::{Fs, Holder},
    engine::{self, Asker, Clock, Layers, ShellFile, Surroundings},
    exec::Environment,
    face::{self, AtTerminal, Look, Screen, Terminal},
    store::{Home, Pen, Store},
};

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that was typed")]
pub(super) struct Settings {
    pub clock: Clock,
    pub json: bool,
    home: Home,
    catalogs: Vec<PathBuf>,
    lock_timeout: Duration,
    pub quiet: bool,
    pub no_input: bool,
    verbose: bool,
    /// Where runs are shown and people are asked.
    pub screen: Screen,
}

/// A value for the commands of a plan, given in the environment.
const DATA: &str = "PROVISION_DATA_";

/// Set by the scripts of `provision completions`.
pub(super) const COMPLETING: &str = "PROVISION_COMPLETE";

impl Settings {
    pub(super) fn from_args(global: Global) -> Result<Self, Failure> {
        let home = match global.home.filter(|home| !home.as_os_str().is_empty()) {
            Some(home) => home,
            None => default_home()?,
        };
        let home = std::path::absolute(&home).map_err(|error| Failure::home(&home, &error))?;
        let look = look(global.colour);
        // Lines of another kind in between would tear what is drawn apart.
        let is_live = look.can_move && std::io::stderr().is_terminal() && !global.verbose;
        let screen = Screen::new(Terminal::new(look), is_live);
        Ok(Self {
            clock: clock()?,
            json: global.json,
            home: Home::new(home),
            catalogs: global.catalog,
            lock_timeout: global.lock_timeout,
            quiet: global.quiet,
            no_input: global.no_input,
            verbose: global.verbose,
            screen,
        })
    }

    pub(super) fn store(&self) -> Result<Store, Failure> {
        Ok(Store::open(Fs::real(), self.home.clone())?)
    }

    /// Who we are to those who wait for us.
    pub(super) fn pen(&self) -> Pen {
        let words = without_values(std::env::args_os().map(|w| w.to_string_lossy().into_owned()));
        Pen {
            holder: Holder {
                pid: std::process::id(),
                started_at: self.clock.now().wall.to_string(),
                command: words.join(" "),
            },
            patience: self.lock_timeout,
        }
    }

    pub(super) fn surroundings(&self) -> Result<Surroundings, Failure> {
        Ok(Surroundings {
            store: self.store()?,
            clock: self.clock.clone(),
            pen: self.pen(),
            environment: self.environment(),
            layers: self.layers()?,
            asker: self.asker(),
            reporter: face::report_html,
        })
    }

    /// Whoever sits before the terminal, unless nobody is to be asked.
    fn asker(&self) -> Option<Asker> {
        ask::can_ask(self).then(|| Asker::new(AtTerminal::new(self.screen.clone())))
    }

    /// What of the environment reaches commands.
    #[expect(clippy::unused_self, reason = "all that is set up is asked of the settings")]
    pub(super) fn environment(&self) -> Environment {
        Environment::new(variables())
    }

    /// The files with lines of tasks for the shells.
    pub(super) fn shell_files(&self) -> Vec<ShellFile> {
        engine::shell_files(self.home.path(), &self.environment())
    }

    /// The layers of the catalog, the strongest last.
    pub(super) fn layers(&self) -> Result<Layers, Failure> {
        // A home that others can write could put words into our mouth: it is refused here too.
        self.store()?;
        let own = ["tasks", "profiles"].map(|folder| self.home.path().join(folder));
        let home = LayerSource::Files {
            name: "home".into(),
            paths: own.into(),
            may_be_missing: true,
            rules: Rules::Others,
        };
        Ok(Layers { own: vec![LayerSource::Embedded, home], named: self.catalogs.clone() })
    }

    /// The command that checks these layers.
    pub(super) fn validation(&self) -> String {
        let mut words = "provision".to_owned();
        for folder in &self.catalogs {
            words.extend([" --catalog '", &folder.to_string_lossy(), "'"]);
        }
        words + " catalog validate"
    }

    /// Values for the commands of a plan that stand in the environment.
    pub(super) fn data_in_environment() -> IndexMap<String, String> {
        let data =
            |(name, value): (String, String)| Some((name.strip_prefix(DATA)?.to_owned(), value));
        variables().filter_map(data).collect()
    }

    /// Diagnostics go to stderr, a line each, as they happen.
    pub(super) fn start_tracing(&self) {
        if !self.verbose {
            return;
        }
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .without_time()
            .with_target(false);
        // A second start in one process changes nothing, and nothing depends on it.
        let _ = tracing_subscriber::registry()
            .with(EnvFilter::new("agentic_provision=trace"))
            .with(lines)
            .try_init();
    }
}

/// A command line as others may read it: what was given with `--data` is nobody else's business.
fn without_values(words: impl Iterator<Item = String>) -> Vec<String> {
    let hide = |pair: &str| format!("{}=…", pair.split_once('=').map_or(pair, |(key, _)| key));
    let mut shown = Vec::new();
    let mut is_data = false;
    for word in words {
        let given = word.strip_prefix("--data=").map(|pair| format!("--data={}", hide(pair)));
        shown.push(if is_data { hide(&word) } else { given.unwrap_or_else(|| word.clone()) });
        is_data = word == "--data";
    }
    shown
}

/// What of the environment is text.
pub(super) fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The shell that asks how a line could go on, if one does.
pub(super) fn completing_shell() -> Option<String> {
    Some(variable(COMPLETING)).filter(|shell| !shell.is_empty())
}

fn look(choice: ColourChoice) -> Look {
    let surface = Surface {
        no_color: variable("NO_COLOR"),
        clicolor_force: variable("CLICOLOR_FORCE"),
        term: variable("TERM"),
        is_terminal: std::io::stderr().is_terminal(),
    };
    let [all, types, language] = ["LC_ALL", "LC_CTYPE", "LANG"].map(variable);
    Look {
        colour: appearance::has_colour(choice, &surface),
        unicode: appearance::is_unicode(&all, &types, &language),
        can_move: appearance::can_move_cursor(&surface.term),
    }
}

/// The text of a variable; empty where there is none.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
fn default_home() -> Result<PathBuf, Failure> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    home.map(|home| PathBuf::from(home).join(".agentic-provision")).ok_or_else(Failure::no_home)
}

#[cfg_attr(not(feature = "testing"), expect(clippy::unnecessary_wraps, reason = "tests set it"))]
fn clock() -> Result<Clock, Failure> {
    #[cfg(feature = "testing")]
    if let Some(text) = Some(variable("AGENTIC_PROVISION_CLOCK")).filter(|text| !text.is_empty()) {
        let message = format!("AGENTIC_PROVISION_CLOCK: `{text}` is no timestamp");
        let moment = text.parse().map(Clock::Fixed);
        return moment.map_err(|_| Failure::new(super::failure::Kind::Usage, message));
    }
    Ok(Clock::system())
}
