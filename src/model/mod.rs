//! The record as plain data: the session document, the events that change it, and the rules
//! that say which event may follow.
//!
//! Nothing here reads a clock, a file, the environment or a terminal. A [`Session`] changes only
//! through [`Session::apply`], so replaying a journal always gives the document it belongs to.

mod baseline;
mod catalog;
mod change;
mod difference;
mod document;
mod error_class;
mod event;
pub mod format;
mod gate;
mod id;
mod legacy;
mod lifecycle;
mod named;
mod nearest;
mod package;
mod phase;
mod plan;
mod plan_file;
mod platform;
mod resume;
mod rules;
mod schema;
mod session;
mod task;
mod timestamp;
mod undo;
mod work;

pub use baseline::{Baseline, BaselineOrigin, Sighting};
pub use catalog::{
    Answer, AnswerAction, Condition, DatumRequest, Dependencies, Install, OptionKind, PostInstall,
    Profile, ProfileMetadata, Question, SelectionPrompt, ShellConfig, ShellIntegration, Step,
    TASK_FILE, TASK_IDS, Task, TaskOption, Variant,
};
pub use difference::{Difference, differences};
pub use document::{
    Arch, Choice, Document, Expansion, Extra, Machine, Meta, Outcome, ProfileChoice, REPAIR,
    Recovery, SessionStatus, ShellDecision, VERSION, WALK,
};
pub use error_class::ErrorClass;
pub use event::{
    CommandFinished, CommandSkipped, CommandStarted, CommandVerdict, Event, EventKind,
    ExpandedFrom, PlannedTask, ProbeFinished, SessionCreated, SessionRevised, ShellBlockWritten,
};
pub use gate::{
    Checkpoint, DeferReason, DeferredVerification, GateLevel, GateRecord, GateStatus, Impact,
    Revision, Severity, UserOverride, Violation,
};
pub use id::{Agent, Digest, IdError, SessionId, TaskId};
pub use legacy::{Adaptation, LocalTime, is_legacy, modernize};
pub use lifecycle::{
    Lifecycle, PauseReason, PhaseArtifact, PhaseTiming, Seconds, WorkflowStructure,
};
pub(crate) use named::named;
pub use nearest::nearest;
pub use package::PackageManager;
pub use phase::{Phase, PhaseEntry, PhaseState};
pub use plan::{ApprovedBy, Category, ExecutionMode, PlanRecord};
pub use plan_file::{
    Detection, Found, Plan, PlanAction, PlanCommand, PlanFormat, PlanPackages, PlanTask, UserDatum,
    Verification, environment_name, is_reserved,
};
pub use platform::{PLATFORMS, Platform, is_platform_name};
pub use resume::{ResumeAction, ResumePoint};
pub use rules::Illegal;
pub use schema::{event_schema, plan_schema, session_schema};
pub use session::Session;
pub use task::{
    AttemptOutcome, CommandRecord, CommandStatus, FailureContext, InFlight, ProbeKind,
    ShellBlockRecord, TaskRecord, TaskStatus,
};
pub use timestamp::Timestamp;
pub use undo::Undo;
