//! Decisions without side effects: what a session means and what comes next.

mod context;
mod examine;
mod expiry;
mod plan_check;
mod recipe;
mod takeover;
mod walk;
mod work;

pub use context::{Context, Current, Failed, Live, Progress, State, Timing};
pub use examine::{Facts, Finding, MissingFile, examine};
pub use expiry::{Expiry, how_long};
pub use plan_check::{Problem, plan_problems};
pub use recipe::{ChosenBy, NoRecipe, Recipe, RecipeSource, Situation, recipe};
pub use takeover::{back_to_plan, missing_from, told_anew};
pub use walk::{completed, passed, walk_to_execution};
pub use work::{
    count, has_begun, is_indeterminate, judge, last_line, missing_dependency, version_in,
    waiting_for,
};
