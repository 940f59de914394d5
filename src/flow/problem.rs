//! Why something cannot be planned, with the way that led there.

use std::fmt;

use super::NoRecipe;
use crate::model::TaskId;

/// The way from what a person asked for to a task: `essentials → shell: A → zsh`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain(pub Vec<String>);

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Of a long way the beginning and the end are what one looks for.
        match self.0.as_slice() {
            [first, second, between @ .., last, end] if between.len() > 8 => {
                let more = between.len();
                write!(f, "{first} → {second} → … {more} more … → {last} → {end}")
            }
            way => f.write_str(&way.join(" → ")),
        }
    }
}

/// Where the way to a task begins that was asked for by its name.
pub const ADDED: &str = "--add";

/// One reason why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblem {
    #[error("… and {count} more of that kind")]
    More { count: usize },
    #[error("there is no profile `{id}` any more")]
    UnknownProfile { id: String },
    #[error("there is no task `{id}` ({chain})")]
    UnknownTask { id: TaskId, chain: Chain, near: Option<String> },
    #[error("task `{id}` has a mistake: {mistake} ({chain})")]
    Mistaken { id: TaskId, mistake: String, chain: Chain },
    #[error("{} wait for each other: {} ({chain})", names(.circle), around(.circle))]
    Circle { circle: Vec<TaskId>, chain: Chain },
    #[error("task `{id}` cannot be installed here: {why} ({chain})")]
    NoRecipe {
        id: TaskId,
        why: NoRecipe,
        chain: Chain,
        /// Whether nothing else needs it.
        can_be_left_out: bool,
    },
    #[error("task `{id}` needs one of {}, and none of them can be had here ({chain})", names(.of))]
    NoneOf { id: TaskId, of: Vec<TaskId>, chain: Chain },
    #[error("task `{id}` cannot be left out: {by} ({chain})")]
    Needed {
        id: TaskId,
        by: String,
        chain: Chain,
        /// The decision by which it is to be left out.
        decision: Option<String>,
    },
    #[error("tasks `{one}` ({one_chain}) and `{other}` ({other_chain}) get in each other's way")]
    Conflict { id: String, one: TaskId, one_chain: Chain, other: TaskId, other_chain: Chain },
    #[error("task `{one}` ({chain}) gets in the way of `{there}`, which is installed already")]
    InstalledConflict { id: String, one: TaskId, chain: Chain, there: TaskId },
}

impl PlanProblem {
    /// Whether something is wrong with the catalog, or with it on this machine; otherwise another
    /// answer helps.
    pub fn is_of_catalog(&self) -> bool {
        match self {
            Self::UnknownTask { chain, .. } => chain.0.first().is_none_or(|first| first != ADDED),
            Self::More { .. }
            | Self::UnknownProfile { .. }
            | Self::Mistaken { .. }
            | Self::Circle { .. }
            | Self::NoRecipe { .. }
            | Self::NoneOf { .. } => true,
            Self::Needed { .. } | Self::Conflict { .. } | Self::InstalledConflict { .. } => false,
        }
    }

    /// Whether it is the decision of this name that nobody has made.
    pub fn decides(&self, decision: &str) -> bool {
        match self {
            Self::Conflict { id, .. } | Self::InstalledConflict { id, .. } => id == decision,
            _ => false,
        }
    }

    /// The task that was asked for by its name and cannot be had on this machine, and why, if that
    /// is it.
    pub fn cannot_be_had(&self) -> Option<(TaskId, String)> {
        let (id, chain, why) = match self {
            Self::NoRecipe { id, chain, why, .. } => {
                (id, chain, format!("cannot be installed here: {why}"))
            }
            Self::NoneOf { id, of, chain } => {
                (id, chain, format!("needs one of {}, and none of them can be had here", names(of)))
            }
            _ => return None,
        };
        let [first, asked, ..] = chain.0.as_slice() else { return None };
        if first != ADDED {
            return None;
        }
        let asked: TaskId = asked.parse().ok()?;
        let why =
            if *id == asked { format!("it {why}") } else { format!("it needs {id}, which {why}") };
        Some((asked, why))
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownTask { id, near: Some(near), .. } => {
                Some(format!("`{id}`: did you mean `{near}`?"))
            }
            // What someone typed they can look for; what a catalog names is for its author to mend.
            Self::UnknownTask { id, .. } => (!self.is_of_catalog())
                .then(|| format!("`provision catalog search {id}` finds tasks by words")),
            Self::Mistaken { id, .. } => Some(format!("`provision catalog show {id}` says more")),
            Self::NoRecipe { id, can_be_left_out, .. } => {
                can_be_left_out.then(|| format!("without it: --without {id}"))
            }
            Self::Needed { decision, .. } => {
                decision.as_ref().map(|id| format!("decide otherwise: --answer {id}=both"))
            }
            Self::More { .. }
            | Self::UnknownProfile { .. }
            | Self::NoneOf { .. }
            | Self::Circle { .. } => None,
            Self::Conflict { id, one, other, .. } => Some(format!(
                "decide with --answer {id}=A ({one} only), B ({other} only) or C (both)"
            )),
            Self::InstalledConflict { id, one, .. } => {
                Some(format!("decide with --answer {id}=A (leave {one} out) or B (both)"))
            }
        }
    }
}

fn names(ids: &[TaskId]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

fn around(ids: &[TaskId]) -> String {
    let names: Vec<_> = ids.iter().chain(ids.first()).map(TaskId::as_str).collect();
    names.join(" → ")
}
