//! What is on this machine, and how it differs from what its sessions say.

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use indexmap::IndexMap;

use super::{
    RunError, Surroundings, can_be_had,
    look::{Depth, Look, look_at},
    machine,
    past::Past,
    platform,
    reverify::{Reverified, reverify},
    sessions::{check_machine, within_runtime},
    shelf,
    signals::Signals,
};
use crate::{
    catalog::Catalog,
    flow::{Drift, Expectations, Expected, Offer, Presence},
    model::{
        Agent, BaselineOrigin, EventKind, Found, Machine, Session, SessionId, SessionStatus,
        Sighting, Task, TaskId, Timestamp,
    },
};

/// What of the machine is looked at.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Only tools of this category.
    pub category: Option<String>,
    /// Only what this session set up or found.
    pub session: Option<SessionId>,
    /// Only whether it is there: no versions, and no verification.
    pub quick: bool,
}

/// One tool or setting that was looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    pub task_id: TaskId,
    pub name: String,
    pub category: String,
    /// `None` where nobody can tell.
    pub found: Option<Found>,
    /// Why it is not known whether it is there, or which version it is.
    pub doubt: Option<String>,
    /// Whether a machine like this can have it.
    pub can_be_had: bool,
    /// What sessions say of it.
    pub expected: Option<Expected>,
}

/// How much of a category is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub category: String,
    pub installed: usize,
    /// Of those that a machine like this can have, and those that are there all the same.
    pub total: usize,
}

/// When what else was on the machine was last written down, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineKnown {
    pub session_id: SessionId,
    pub at: Timestamp,
    pub origin: BaselineOrigin,
}

#[derive(Clone, Debug)]
pub struct Audit {
    pub machine: Machine,
    pub taken_at: Timestamp,
    pub quick: bool,
    /// All that could have been looked at.
    pub categories: BTreeSet<String>,
    /// By category, then by id.
    pub tools: Vec<Tool>,
    pub drift: Drift,
    /// How many sessions it was compared with.
    pub sessions: usize,
    pub baseline: Option<BaselineKnown>,
    /// What it was compared with.
    expectations: Expectations,
    pub verifications: Vec<Reverified>,
    pub notes: Vec<String>,
}

impl Audit {
    /// By category, in the order of the tools.
    pub fn shares(&self) -> Vec<Share> {
        let mut shares: IndexMap<&str, (usize, usize)> = IndexMap::new();
        for tool in &self.tools {
            let (installed, total) = shares.entry(&tool.category).or_default();
            *installed += usize::from(tool.found.is_some());
            *total += usize::from(tool.found.is_some() || tool.can_be_had);
        }
        let share = |(category, (installed, total)): (&str, _)| {
            let category = category.to_owned();
            Share { category, installed, total }
        };
        shares.into_iter().map(share).collect()
    }

    pub fn installed(&self) -> usize {
        self.tools.iter().filter(|tool| tool.found.is_some()).count()
    }

    /// What is to be adopted: what is there, what is not, and what is expected of those that did
    /// not answer.
    fn sighting(&self) -> Sighting {
        let mut sighting = Sighting::default();
        for tool in &self.tools {
            let (id, expected) = (tool.task_id.clone(), tool.expected.as_ref());
            match (&tool.found, &tool.doubt) {
                (Some(found), doubt) => {
                    let mut found = found.clone();
                    if doubt.is_some() && found.version.is_none() {
                        found.version = expected.and_then(|expected| expected.version.clone());
                    }
                    sighting.present.insert(id, found);
                }
                (None, None) => sighting.absent.push(id),
                (None, Some(_)) => {
                    if let Some(Expected { version, path, .. }) = expected.cloned() {
                        sighting.present.insert(id, Found { version, path });
                    }
                }
            }
        }
        sighting
    }
}

/// A tool with the way to look for it; without one nobody can tell.
struct Sought {
    tool: Tool,
    look: Option<Look>,
}

/// Looks at the machine, and compares it with what its sessions say.
pub fn audit(around: &Surroundings, catalog: &Catalog, scope: &Scope) -> Result<Audit, RunError> {
    let past = Past::read(around)?;
    let expectations = past.expectations();
    let offer = shelf::offer(catalog);
    let mut sought = if let Some(id) = &scope.session {
        let session = around.store.load(id)?.session;
        check_machine(&session)?;
        tools_of(&session, around, &past, &expectations, &offer)
    } else {
        let mut known = known_tools(around, &past, &expectations, &offer);
        known.extend(other_tools(around, catalog, &expectations, &offer));
        known
    };
    let categories: BTreeSet<_> = sought.iter().map(|one| one.tool.category.clone()).collect();
    if let Some(category) = &scope.category {
        sought.retain(|sought| sought.tool.category.eq_ignore_ascii_case(category));
    }
    let depth = Depth { versions: !scope.quick, ..Depth::FULL };
    let looks: Vec<Look> = sought.iter().filter_map(|sought| sought.look.clone()).collect();
    let ids: HashSet<TaskId> = sought.iter().map(|sought| sought.tool.task_id.clone()).collect();
    let (presence, verifications) = within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        let both = async {
            let presence = look_at(looks, depth, &around.environment).await;
            let is_asked = |id: &TaskId| ids.contains(id);
            let again =
                if scope.quick { Vec::new() } else { reverify(around, &past, is_asked).await };
            (presence, again)
        };
        tokio::select! {
            both = both => Ok(both),
            _ = signals.next() => Err(RunError::Interrupted),
        }
    })?;
    let mut tools: Vec<Tool> = sought
        .into_iter()
        .map(|Sought { tool, look }| seen(tool, look.is_some(), &presence))
        .collect();
    tools.sort_by(|a, b| (&a.category, &a.task_id).cmp(&(&b.category, &b.task_id)));
    let drift = Drift::between(&expectations, &with_blind_spots(presence, &tools), &ids);
    Ok(Audit {
        machine: machine(),
        taken_at: around.clock.now().wall,
        quick: scope.quick,
        categories,
        tools,
        drift,
        sessions: past.sessions.len(),
        baseline: expectations.baseline.as_ref().map(|before| BaselineKnown {
            session_id: before.session_id.clone(),
            at: before.at.clone(),
            origin: before.origin,
        }),
        expectations,
        verifications,
        notes: past.notes,
    })
}

/// Why a tool that nobody says how to look for is neither there nor gone.
const NO_WAY: &str = "nothing says how to look for it";

fn seen(tool: Tool, has_look: bool, presence: &Presence) -> Tool {
    let said = |list: &[(TaskId, String)]| {
        list.iter().find(|(id, _)| *id == tool.task_id).map(|(_, why)| why.clone())
    };
    let found = presence.found(&tool.task_id).cloned();
    let doubt = said(&presence.unanswered).or_else(|| said(&presence.unversioned));
    let doubt = if has_look { doubt } else { Some(NO_WAY.to_owned()) };
    Tool { found, doubt, ..tool }
}

/// What was not looked at is not answered, either.
fn with_blind_spots(mut presence: Presence, tools: &[Tool]) -> Presence {
    let blind = tools.iter().filter(|tool| tool.doubt.as_deref() == Some(NO_WAY));
    presence.unanswered.extend(blind.map(|tool| (tool.task_id.clone(), NO_WAY.to_owned())));
    presence
}

/// The tools that sessions know.
fn known_tools(
    around: &Surroundings,
    past: &Past,
    expectations: &Expectations,
    offer: &Offer<'_>,
) -> Vec<Sought> {
    let tools = expectations.tools.iter();
    tools.map(|(id, expected)| known_tool(id, expected, around, past, offer)).collect()
}

/// The tools of one session, each with what all of them together say of it.
fn tools_of(
    session: &Session,
    around: &Surroundings,
    past: &Past,
    expectations: &Expectations,
    offer: &Offer<'_>,
) -> Vec<Sought> {
    let own = past.tools_of(session).into_iter();
    own.map(|(id, claim)| {
        let expected = expectations.tools.get(&id);
        let mut sought = known_tool(&id, expected.unwrap_or(&claim), around, past, offer);
        sought.tool.expected = expected.cloned();
        sought
    })
    .collect()
}

fn known_tool(
    id: &TaskId,
    expected: &Expected,
    around: &Surroundings,
    past: &Past,
    offer: &Offer<'_>,
) -> Sought {
    let planned = past.plan_behind(id, expected).and_then(|plan| plan.task(id));
    let listed = offer.get(id.as_str()).map(|offered| offered.task);
    let name = planned.and_then(|task| task.name.clone());
    let category = planned.and_then(|task| task.category.clone());
    let name = name.or_else(|| Some(listed?.name.clone())).filter(|name| !name.is_empty());
    let category = category.or_else(|| Some(listed?.category.clone()));
    Sought {
        tool: Tool {
            task_id: id.clone(),
            name: name.unwrap_or_else(|| id.to_string()),
            category: category.unwrap_or_else(|| UNSORTED.to_owned()),
            found: None,
            doubt: None,
            // It was there.
            can_be_had: true,
            expected: Some(expected.clone()),
        },
        look: past.look_for(id, expected, offer, around),
    }
}

/// Where tools stand that say no category.
const UNSORTED: &str = "other";

/// The rest of the catalog.
fn other_tools(
    around: &Surroundings,
    catalog: &Catalog,
    expectations: &Expectations,
    offer: &Offer<'_>,
) -> Vec<Sought> {
    let platform = platform(&around.environment);
    let tasks = catalog.tasks().map(|listed| &listed.item);
    let is_known = |task: &Task| expectations.tools.contains_key(&task.id);
    let tasks = tasks.filter(|task| !is_known(task) && !task.is_upkeep());
    let sought = |task: &Task| Sought {
        tool: Tool {
            task_id: task.id.clone(),
            name: if task.name.is_empty() { task.id.to_string() } else { task.name.clone() },
            category: task.category.clone(),
            found: None,
            doubt: None,
            can_be_had: can_be_had(task, &platform),
            expected: None,
        },
        look: Some(Look::of_catalog(task, offer, &around.environment)).filter(Look::can_see),
    };
    tasks.map(sought).collect()
}

/// Takes the machine as it was seen: from now on that is what is expected. Says which session holds
/// it; `None` where it differs in nothing and that is on record.
pub fn adopt(
    around: &Surroundings,
    audit: &Audit,
    agent: Agent,
) -> Result<Option<SessionId>, RunError> {
    if audit.drift.count() == 0 && audit.baseline.is_some() {
        return Ok(None);
    }
    let past = Past::read(around)?;
    if past.expectations() != audit.expectations {
        // What it set up would count as what came before, and be overruled.
        return Err(RunError::SetUpMeanwhile);
    }
    let is_complete = |session: &&Session| session.meta.status == SessionStatus::Completed;
    let newest = past.sessions.iter().rev().find(is_complete).or(past.sessions.last());
    let id = newest.map(|session| session.meta.id.clone()).ok_or(RunError::NothingToAdopt)?;
    let mut recorder = around.store.open_record(&id, &around.pen, &around.clock.now())?;
    let sighting = audit.sighting();
    let event = EventKind::BaselineRecorded { origin: BaselineOrigin::Adopted, agent, sighting };
    let recorded = recorder.record(vec![event], &around.clock.now());
    recorder.close()?;
    recorded?;
    Ok(Some(id))
}

/// How the machine differs from what its sessions say, as far as that is known within a moment;
/// `None` where there is nothing to compare with, or too much.
pub fn drift_at_a_glance(
    around: &Surroundings,
    catalog: &Catalog,
    patience: Duration,
) -> Result<Option<Drift>, RunError> {
    let begin = around.clock.now().steady;
    let Some(past) = Past::read_within(around, Some(patience))? else { return Ok(None) };
    let patience = patience.saturating_sub(around.clock.now().steady.saturating_sub(begin));
    let expectations = past.expectations();
    if expectations.tools.is_empty() {
        return Ok(None);
    }
    let offer = shelf::offer(catalog);
    let known = known_tools(around, &past, &expectations, &offer);
    let others = other_tools(around, catalog, &expectations, &offer);
    let can_come = |sought: &Sought| {
        expectations.baseline.as_ref().is_some_and(|before| before.lacked(&sought.tool.task_id))
    };
    let known: Vec<Look> = known.into_iter().filter_map(|sought| sought.look).collect();
    let others = others.into_iter().filter(can_come);
    let others: Vec<Look> = others.filter_map(|sought| sought.look).collect();
    let looked_for: HashSet<TaskId> =
        known.iter().chain(&others).map(|look| look.id.clone()).collect();
    within_runtime(async {
        let mut signals = Signals::listen().map_err(RunError::Runtime)?;
        let look = async {
            let depth = |versions| Depth { versions, patience: Some(patience) };
            let (mut seen, others) = tokio::join!(
                look_at(known, depth(true), &around.environment),
                look_at(others, depth(false), &around.environment),
            );
            seen.absorb(others);
            Drift::between(&expectations, &seen, &looked_for)
        };
        tokio::select! {
            drift = look => Ok(Some(drift)),
            _ = signals.next() => Err(RunError::Interrupted),
        }
    })
}
