//! Decisions without side effects: what a session means and what comes next.

mod agenda;
mod alternative;
mod answer;
mod blame;
mod classes;
mod conflict;
mod context;
pub mod doctor;
mod drift;
mod examine;
mod expiry;
mod found;
pub mod gates;
mod given_plan;
mod impact;
mod locks;
mod machine_facts;
mod next_step;
mod offer;
mod order;
mod pace;
mod place;
mod plan_check;
mod plan_difference;
mod planner;
mod problem;
mod recipe;
mod rehearsal;
mod repair;
mod requirements;
mod rights;
mod schedule;
mod screen;
mod second_thoughts;
mod selection;
mod shell_file;
mod shell_lines;
mod shell_words;
mod system_packages;
mod takeover;
mod walk;
mod work;

pub use agenda::{Ask, Asked, Held, Wanted};
pub use alternative::{Alternative, Way, alternatives};
pub use answer::valid_answers;
pub use blame::blamed;
pub use classes::{Diagnosis, diagnose, retries};
pub use context::{Around, Context, Current, Failed, Live, State, TaskLine};
pub use drift::{Added, Changed, Drift, Expectations, Expected, Kept, Removed, Sessions, Since};
pub use examine::{Facts, Finding, MissingFile, examine};
pub use expiry::{Expiry, how_long};
pub use found::recorded_facts;
pub use given_plan::{GivenPlan, completed};
pub use impact::Assessment;
pub use locks::locks_of;
pub use offer::{Offer, Offered, Presence};
pub use pace::{PhaseCourse, Progress, Timing, duration_of};
pub use place::place_of;
pub use plan_check::{Problem, plan_problems};
pub use plan_difference::plan_difference;
pub use planner::{Planned, plan};
pub use problem::{Chain, PlanProblem};
pub use recipe::{ChosenBy, NoRecipe, Recipe, RecipeSource, Situation, other_recipes, recipe};
pub use rehearsal::Rehearsal;
pub use requirements::{
    Requirements, STACK_TYPE, TOOLS_ADDED, TOOLS_LEFT_OUT, option_key, tools_named,
};
pub use rights::{tasks_that_want_root, wants_root};
pub use schedule::{Demand, Item, Schedule};
pub use selection::{Ground, Selection, select, to_look_for};
pub use shell_file::{Shell, ShellSurroundings};
pub use shell_lines::{
    BlockFlaw, has_line, has_marker, is_env_file, sections, shell_blocks, source_line, with_line,
    with_section, without_blocks, without_line, without_sections,
};
pub use system_packages::{SystemManager, managers_of, only_changes_packages, refreshes_index};
pub use takeover::{back_to_plan, leaves_out, missing_from, told_anew};
pub use walk::{CUSTOM, Effect, Input, Refusal, Stack, Step, Waiting, Walk};
pub use work::{
    Unsure, anything_begun, count, deferral, has_begun, is_indeterminate, judge, last_line,
    left_without, missing_dependency, version_in, waiting_for,
};
