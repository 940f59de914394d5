//! The walk as a machine: an input makes events and effects, and what it waits for follows from
//! the record.

use std::collections::HashSet;

use agentic_provision::{
    flow::{
        Ask, Effect, Input, Offer, Offered, Presence, Refusal, Rehearsal, Stack, Waiting, Walk,
    },
    model::{ApprovedBy, EventKind, ExecutionMode, Found, Phase, Platform, Profile, Session, Task},
};
use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::harness::{created, moment};

/// Everything a walk goes by, and the session it makes.
struct Scene {
    tasks: Vec<Task>,
    profile: Profile,
    platform: Platform,
    there: Option<Presence>,
    held: HashSet<String>,
    session: Rehearsal,
}

fn task(mut fields: Value) -> Task {
    if fields.get("install").is_none() {
        fields["install"] = json!({"steps": [{"command": "true"}]});
    }
    serde_json::from_value(fields).unwrap()
}

fn scene() -> Scene {
    let tasks = vec![
        task(json!({"id": "git"})),
        task(json!({"id": "vim"})),
        task(json!({"id": "emacs", "conflicts_with": ["vim"],
                    "options": [{"id": "size", "prompt": "Size", "type": "number", "default": "1"}]})),
        task(
            json!({"id": "key", "options": [{"id": "phrase", "prompt": "Phrase", "type": "secret"}]}),
        ),
    ];
    let profile = json!({
        "metadata": {"id": "p", "name": "P"},
        "selection_prompt": {"letter": "Q"},
        "required_tasks": ["git"],
        "question_flow": [
            {"id": "editor", "question": "Which editor?", "options": [
                {"letter": "A", "text": "Vim", "tasks": ["vim"], "follow_up": "plugins"},
                {"letter": "B", "text": "Emacs", "tasks": ["emacs"]},
                {"letter": "C", "text": "Help", "action": "explain", "explanation": "Both edit."}
            ]},
            {"id": "plugins", "question": "Plugins?", "options": [
                {"letter": "A", "text": "Yes"}, {"letter": "B", "text": "No"}
            ]},
            {"id": "sign", "question": "Sign?", "options": [
                {"letter": "A", "text": "Yes", "tasks": ["key"], "user_data_required": ["mail"]},
                {"letter": "B", "text": "No"}
            ]}
        ],
        "user_data": {"mail": {"prompt": "Mail", "pattern": ".+@.+"}}
    });
    let EventKind::SessionCreated(created) = created() else { unreachable!() };
    Scene {
        tasks,
        profile: serde_json::from_value(profile).unwrap(),
        platform: Platform { family: "linux".into(), id: "debian".into(), ..Platform::default() },
        there: None,
        held: HashSet::new(),
        session: Rehearsal::begin(*created, moment(0).wall).unwrap(),
    }
}

impl Scene {
    /// Looks at the walk as it stands.
    fn with<T>(&self, look: impl FnOnce(Walk<'_>, &Session) -> T) -> T {
        let offered = |task| Offered { task, layer: "test" };
        let offer = Offer::new(self.tasks.iter().map(offered));
        let walk = Walk {
            offer: &offer,
            profiles: &[&self.profile],
            platform: &self.platform,
            facts: self.there.as_ref(),
            held: Some(&self.held),
        };
        look(walk, &self.session)
    }

    fn tell(&mut self, input: Input) -> Result<Vec<Effect>, Refusal> {
        let step = self.with(|walk, session| walk.take(session, input))?;
        for effect in &step.effects {
            if let Effect::Hold { key, .. } = effect {
                self.held.insert(key.clone());
            }
        }
        self.session.record(step.events).unwrap();
        Ok(step.effects)
    }

    fn answer(&mut self, question: &str, answer: &str) -> Result<Vec<Effect>, Refusal> {
        self.tell(Input::Answer { question: question.into(), answer: answer.into() })
    }

    fn value(&mut self, key: &str, value: &str) -> Result<Vec<Effect>, Refusal> {
        self.tell(Input::Value { key: key.into(), value: value.into() })
    }

    /// What it waits for, in a word.
    fn waits(&self) -> String {
        self.with(|walk, session| match walk.waiting(session) {
            Waiting::Check => "check".into(),
            Waiting::Stack => "stack".into(),
            Waiting::Answer { asked, number, total } => format!("{} {number}/{total}", asked.id()),
            Waiting::Facts(tasks) => format!("facts of {}", tasks.len()),
            Waiting::Change(problems) => format!("change: {}", problems.len()),
            Waiting::Plan(plan) => {
                let ids: Vec<_> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
                format!("plan {}", ids.join(" "))
            }
            Waiting::Approval(_) => "approval".into(),
            Waiting::Execution => "execution".into(),
            Waiting::Nothing => "nothing".into(),
        })
    }

    /// As far as the first question.
    fn begun() -> Self {
        let mut scene = scene();
        scene.tell(Input::Checked { unfinished: Vec::new() }).unwrap();
        let stack = Stack { profile: Some("P".into()), ..Stack::default() };
        scene.tell(Input::Stack(Box::new(stack))).unwrap();
        scene
    }

    fn look(&mut self, there: &[&str]) {
        let mut presence = Presence::default();
        for id in there {
            presence.add(id.parse().unwrap(), Found::default());
        }
        self.there = Some(presence);
    }
}

#[test]
fn it_waits_for_one_thing_after_the_other() {
    let mut scene = scene();
    assert_eq!(scene.waits(), "check");
    scene.tell(Input::Checked { unfinished: Vec::new() }).unwrap();
    assert_eq!(scene.waits(), "stack");
    let stack = Stack { profile: Some("q".into()), ..Stack::default() };
    scene.tell(Input::Stack(Box::new(stack))).unwrap();
    assert_eq!(scene.waits(), "editor 1/2");
    scene.answer("editor", "vim").unwrap();
    assert_eq!(scene.waits(), "plugins 2/3");
    scene.answer("plugins", "b").unwrap();
    scene.answer("sign", "A").unwrap();
    assert_eq!(scene.waits(), "mail 4/4");
    scene.value("mail", "ada@example.com").unwrap();
    assert_eq!(scene.waits(), "facts of 4");
    scene.look(&[]);
    assert_eq!(scene.waits(), "phrase 5/5");
    scene.value("phrase", "a secret phrase").unwrap();
    assert_eq!(scene.waits(), "plan git vim key");
    scene.tell(Input::Present { manifests: IndexMap::new() }).unwrap();
    assert_eq!(scene.waits(), "approval");
    let digest = scene.session.plan.digest.clone().unwrap();
    let (by, mode) = (ApprovedBy::User, ExecutionMode::AllAtOnce);
    scene.tell(Input::Approve { digest, by, mode }).unwrap();
    assert_eq!(scene.waits(), "execution");
    assert_eq!(scene.session.phase.current, Phase::Execute);
    let recorded = serde_json::to_string(scene.session.document()).unwrap();
    assert!(!recorded.contains("a secret phrase"));
}

#[test]
fn an_explanation_is_shown_and_the_question_stays() {
    let mut scene = Scene::begun();
    let effects = scene.answer("editor", "c").unwrap();
    assert_eq!(effects, [Effect::Explain("Both edit.".into())]);
    assert_eq!(scene.waits(), "editor 1/2");
}

#[test]
fn back_takes_back_the_last_answer_then_the_one_before_then_the_stack() {
    let mut scene = Scene::begun();
    scene.answer("editor", "A").unwrap();
    scene.answer("plugins", "A").unwrap();
    scene.answer("sign", "A").unwrap();
    scene.value("mail", "a@b").unwrap();
    for waits in ["mail 4/4", "sign 3/3", "plugins 2/3", "editor 1/2"] {
        scene.tell(Input::Back).unwrap();
        assert_eq!(scene.waits(), waits);
    }
    scene.tell(Input::Back).unwrap();
    assert_eq!(scene.waits(), "stack");
    assert_eq!(scene.tell(Input::Back), Err(Refusal::NothingBefore));
}

#[test]
fn back_from_the_plan_keeps_the_answers() {
    let mut scene = Scene::begun();
    scene.answer("editor", "B").unwrap();
    scene.answer("sign", "B").unwrap();
    scene.look(&[]);
    assert_eq!(scene.waits(), "emacs.size 3/3");
    scene.value("emacs.size", "12").unwrap();
    scene.tell(Input::Present { manifests: IndexMap::new() }).unwrap();
    let first = scene.session.plan.digest.clone();
    scene.tell(Input::Back).unwrap();
    assert_eq!(scene.session.phase.current, Phase::GatherRequirements);
    assert_eq!(scene.waits(), "plan git emacs");
    scene.tell(Input::Back).unwrap();
    assert_eq!(scene.waits(), "emacs.size 3/3");
    scene.value("emacs.size", "13").unwrap();
    scene.tell(Input::Present { manifests: IndexMap::new() }).unwrap();
    assert_ne!(scene.session.plan.digest, first);
    assert!(scene.session.plan.approved_at.is_none());
}

#[test]
fn another_answer_takes_its_follow_up_away() {
    let mut scene = Scene::begun();
    scene.answer("editor", "A").unwrap();
    scene.answer("plugins", "A").unwrap();
    scene.answer("editor", "B").unwrap();
    assert_eq!(scene.waits(), "sign 2/2");
}

#[test]
fn what_is_not_asked_is_refused_with_what_is() {
    let mut scene = Scene::begun();
    let near = Some("editor".into());
    let refused = scene.answer("edtior", "A").unwrap_err();
    assert_eq!(refused, Refusal::NoQuestion { given: "edtior".into(), near });
    let refused = scene.answer("editor", "Z").unwrap_err();
    assert_eq!(refused.to_string(), "`Z` is no answer to `editor`: A (vim), B (emacs)");
    scene.answer("editor", "B").unwrap();
    scene.answer("sign", "A").unwrap();
    let refused = scene.value("mail", "nobody").unwrap_err();
    assert_eq!(refused.to_string(), "`mail`: `nobody` does not match `.+@.+`");
    assert_eq!(
        scene.tell(Input::Checked { unfinished: Vec::new() }),
        Err(Refusal::NotNow(Phase::GatherRequirements))
    );
    let present = Input::Present { manifests: IndexMap::new() };
    assert_eq!(scene.tell(present), Err(Refusal::NotNow(Phase::GatherRequirements)));
}

#[test]
fn a_conflict_with_what_is_there_is_a_question() {
    let mut scene = Scene::begun();
    scene.answer("editor", "B").unwrap();
    scene.answer("sign", "B").unwrap();
    scene.look(&["vim"]);
    assert_eq!(scene.waits(), "conflict:emacs:vim 3/4");
    let letters = scene.with(|walk, session| match walk.waiting(session) {
        Waiting::Answer { asked, .. } => match &asked.ask {
            Ask::Choice(question) => question.options.len(),
            Ask::Value(_) => 0,
        },
        _ => 0,
    });
    assert_eq!(letters, 2);
    scene.answer("conflict:emacs:vim", "A").unwrap();
    assert_eq!(scene.waits(), "plan git");
    scene.tell(Input::Back).unwrap();
    scene.answer("conflict:emacs:vim", "both").unwrap();
    scene.value("emacs.size", "2").unwrap();
    assert_eq!(scene.waits(), "plan git emacs");
}

#[test]
fn options_of_what_is_there_already_are_not_asked() {
    let mut scene = Scene::begun();
    scene.answer("editor", "B").unwrap();
    scene.answer("sign", "A").unwrap();
    scene.value("mail", "a@b").unwrap();
    scene.look(&["emacs", "key"]);
    assert_eq!(scene.waits(), "plan git emacs key");
}
