//! Histories: a fixed long walk, and random ones that follow the rules.

use agentic_provision::model::{
    Agent, ApprovedBy, Arch, AttemptOutcome, BaselineOrigin, Category, CommandFinished,
    CommandSkipped, CommandStarted, CommandVerdict, DeferReason, Digest, EventKind, ExecutionMode,
    Extra, FailureContext, Found, GateLevel, GateRecord, GateStatus, Impact, Machine, Outcome,
    PauseReason, Phase, PlannedTask, ProbeFinished, ProbeKind, ProfileChoice, ResumeAction,
    Session, SessionCreated, SessionRevised, Severity, ShellBlockWritten, Sighting, TaskId,
    TaskStatus, VERSION,
};
use serde_json::{Value, json};

pub fn task(name: &str) -> TaskId {
    name.parse().unwrap()
}

fn digest(letter: char) -> Digest {
    letter.to_string().repeat(64).parse().unwrap()
}

pub fn created() -> EventKind {
    EventKind::SessionCreated(Box::new(SessionCreated {
        format: VERSION.into(),
        session_id: super::id(),
        machine: Machine {
            hostname: "test".into(),
            os_version: "12".into(),
            arch: Arch::Arm64,
            chip: "none".into(),
            machine_id: None,
            extra: Extra::new(),
        },
        agent: Agent::unattended(),
        objective: Some("test the record".into()),
        branch: None,
        starting_commit: None,
        expanded_from: None,
    }))
}

fn phase_completed(phase: Phase) -> EventKind {
    EventKind::PhaseCompleted {
        phase,
        evidence: Extra::new(),
        outputs: Extra::new(),
        commands_executed: Vec::new(),
    }
}

fn started(session: Option<&Session>, tasks: &[&str], index: usize) -> EventKind {
    let first = task(tasks[0]);
    let known = session
        .and_then(|session| session.tasks.get(&first)?.command(index)?.attempts)
        .unwrap_or(0);
    EventKind::CommandStarted(Box::new(CommandStarted {
        task_id: first,
        task_ids: tasks.iter().map(|name| task(name)).collect(),
        command_index: index,
        attempt: known + 1,
        command: format!("install {} {index}", tasks.join(" ")),
        arguments: vec!["GIT_NAME".into()],
        agent: Agent::unattended(),
        description: Some("Install it".into()),
        user_choice: None,
        idempotent: index == 1,
        digest: digest('d'),
        cookie: "cookie".into(),
        boot_id: "boot".into(),
    }))
}

fn finished(task_id: TaskId, started_seq: u64, exit_code: i32) -> EventKind {
    let failed = exit_code != 0;
    EventKind::CommandFinished(Box::new(CommandFinished {
        started_seq,
        task_id,
        command: "install".into(),
        arguments: Vec::new(),
        agent: Agent::unattended(),
        status: if failed { CommandVerdict::Failure } else { CommandVerdict::Success },
        outcome: if exit_code < 0 { AttemptOutcome::Indeterminate } else { AttemptOutcome::Exited },
        exit_code: (exit_code >= 0).then_some(exit_code),
        signal: None,
        duration_ms: 1234,
        error: failed.then(|| "E: no \"network\"\n\u{1b}[31mred".into()),
        output_summary: Some("Zoë 🦀".into()),
        recovered: exit_code == 2,
        log: Some(format!("attempts/{started_seq}")),
        resume: (exit_code == 3).then_some(ResumeAction::Retry),
    }))
}

fn plan(tasks: &[&str]) -> EventKind {
    EventKind::PlanPresented {
        digest: digest('d'),
        categories: vec![Category {
            name: "Tools".into(),
            items: tasks.iter().map(ToString::to_string).collect(),
            extra: Extra::new(),
        }],
        tasks: tasks.iter().map(|t| PlannedTask { task_id: task(t), commands: 2 }).collect(),
        manifest_digests: [("tasks/cli.yaml".into(), "abc".into())].into_iter().collect(),
    }
}

fn approved() -> EventKind {
    EventKind::PlanApproved {
        digest: digest('d'),
        approved_by: ApprovedBy::Unattended,
        execution_mode: ExecutionMode::AllAtOnce,
    }
}

fn failure(task_id: TaskId) -> EventKind {
    EventKind::TaskFailed {
        task_id,
        error: "it would not install".into(),
        failure_context: FailureContext {
            error_type: "network".into(),
            suggested_resolution: "Check the network and retry".into(),
            extra: Extra::new(),
        },
    }
}

fn gate(status: GateStatus) -> GateRecord {
    GateRecord {
        gate: "store_writable".into(),
        level: GateLevel::Must,
        status,
        evidence: Some("wrote a file".into()),
        evaluated_at: None,
        extra: Extra::new(),
    }
}

/// A session of more than forty events that is paused, fails, is resumed and completes: every
/// shelf is visited. The element at index N is event N + 1.
pub fn long_walk() -> Vec<EventKind> {
    let answer = |id: &str| EventKind::AnswerGiven {
        question_id: id.into(),
        question: format!("Which {id}?"),
        answer: "A".into(),
        value: "first".into(),
    };
    let pause = || EventKind::SessionPaused {
        reason: PauseReason::UserRequest,
        context: Some("lunch".into()),
    };
    let ok = |name: &str| EventKind::TaskCompleted {
        task_id: task(name),
        result: json!({"version": "1.7"}).as_object().unwrap().clone(),
    };
    let start = |name: &str| EventKind::TaskStarted { task_id: task(name) };
    let mut walk = vec![
        created(),
        EventKind::GatesEvaluated {
            phase: Phase::SessionCheck,
            gates: vec![gate(GateStatus::Passed)],
        },
        phase_completed(Phase::SessionCheck),
        EventKind::StackSelected {
            profile: ProfileChoice {
                selected: Some("essentials".into()),
                manifest_path: None,
                base_tasks: Some(vec![task("jq")]),
                catalogs: Vec::new(),
                extra: Extra::new(),
            },
            question: "What will you do?".into(),
            answer: "A".into(),
        },
        phase_completed(Phase::StackSelection),
        answer("editor"),
        answer("shell"),
        EventKind::UserDataGiven { key: "git_name".into(), value: json!("Ada \"L\"\n") },
        pause(),
        EventKind::SessionResumed {},
        answer("database"),
        phase_completed(Phase::GatherRequirements),
        plan(&["jq", "git", "fd", "rg"]),
        approved(),
        phase_completed(Phase::PresentPlan),
    ];
    let attempt = |walk: &mut Vec<EventKind>, name: &str, index: usize, exit_code: i32| {
        let mut command = started(None, &[name], index);
        if let EventKind::CommandStarted(command) = &mut command {
            let before = walk.iter().filter(|event| {
                matches!(event, EventKind::CommandStarted(other)
                    if other.task_id == command.task_id && other.command_index == index)
            });
            command.attempt = u32::try_from(before.count()).unwrap() + 1;
        }
        walk.push(command);
        walk.push(finished(task(name), walk.len() as u64, exit_code));
    };
    walk.push(start("jq"));
    attempt(&mut walk, "jq", 0, 0);
    attempt(&mut walk, "jq", 1, 0);
    walk.push(ok("jq"));
    walk.push(start("git"));
    attempt(&mut walk, "git", 0, 1);
    walk.push(failure(task("git")));
    walk.push(EventKind::SessionFailed { error: "git would not install".into() });
    walk.push(EventKind::SessionResumed {});
    walk.push(start("git"));
    attempt(&mut walk, "git", 0, 0);
    attempt(&mut walk, "git", 1, 0);
    walk.push(ok("git"));
    walk.push(pause());
    walk.push(EventKind::SessionResumed {});
    walk.push(start("fd"));
    attempt(&mut walk, "fd", 0, -1);
    walk.push(failure(task("fd")));
    walk.push(EventKind::TaskSkipped {
        task_id: task("fd"),
        reason: "not needed".into(),
        because_of: None,
    });
    walk.push(EventKind::TaskSkipped {
        task_id: task("rg"),
        reason: "needs fd".into(),
        because_of: Some(task("fd")),
    });
    walk.push(phase_completed(Phase::Execute));
    walk.push(phase_completed(Phase::Completion));
    walk.push(EventKind::SessionCompleted {
        outcome: Some(Outcome { summary: "two of four".into(), ..Outcome::default() }),
    });
    assert!(walk.len() >= 40, "{}", walk.len());
    walk
}

/// The long walk as a script for the binary.
pub fn walk_script() -> Vec<Value> {
    let walk = long_walk().into_iter().skip(1).map(|kind| serde_json::to_value(kind).unwrap());
    std::iter::once(json!({"create": {"objective": "test"}})).chain(walk).collect()
}

/// Draws legal events at random, with a bias towards getting on.
pub struct Generator(u64);

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// splitmix64: the same seed gives the same history everywhere.
    pub fn draw(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % below as u64).unwrap()
    }

    /// Some event, legal or not.
    #[expect(clippy::too_many_lines, reason = "one arm for each kind of event")]
    pub fn any(&mut self, session: &Session) -> EventKind {
        const TASKS: [&str; 5] = ["jq", "git", "fd", "rg", "node-lts"];
        let name = TASKS[self.draw(TASKS.len())];
        let phase = Phase::ALL[self.draw(6)];
        let index = self.draw(3);
        let open = session
            .tasks
            .values()
            .flat_map(|t| &t.in_flight)
            .map(|open| (open.task_ids[0].clone(), open.seq));
        let open: Vec<_> = open.collect();
        match self.draw(40) {
            0..=4 => phase_completed(session.phase.current),
            5 => phase_completed(phase),
            6 => EventKind::PhaseReopened { phase, reason: "changed my mind".into() },
            7 => EventKind::StackSelected {
                profile: ProfileChoice {
                    selected: Some("custom".into()),
                    ..ProfileChoice::default()
                },
                question: "What?".into(),
                answer: "E".into(),
            },
            8 => EventKind::AnswerGiven {
                question_id: format!("q{index}"),
                question: "?".into(),
                answer: "B".into(),
                value: "é\"\\".into(),
            },
            9 => EventKind::AnswerWithdrawn { question_id: format!("q{index}") },
            10 => EventKind::UserDataGiven {
                key: format!("key{index}"),
                value: json!({"deep": [1, 2.5, null, "x"]}),
            },
            11 => EventKind::UserDataWithdrawn { key: format!("key{index}") },
            12 => plan(&TASKS[..=self.draw(5)]),
            13 | 14 => approved(),
            15..=17 => EventKind::TaskStarted { task_id: task(name) },
            18 => EventKind::TaskCompleted { task_id: task(name), result: Extra::new() },
            19 => failure(task(name)),
            20 => EventKind::TaskSkipped {
                task_id: task(name),
                reason: "no".into(),
                because_of: None,
            },
            21 => EventKind::TaskReset { task_id: task(name), reason: "waits".into() },
            22..=25 => {
                let running = session.tasks.values().filter(|t| t.status == TaskStatus::InProgress);
                let names: Vec<_> = running.map(|t| t.task_id.to_string()).collect();
                let mut tasks: Vec<_> = names.iter().map(String::as_str).collect();
                tasks.truncate(1 + self.draw(2));
                if tasks.is_empty() {
                    tasks.push(name);
                }
                started(Some(session), &tasks, index)
            }
            26..=28 if !open.is_empty() => {
                let (task_id, seq) = open[self.draw(open.len())].clone();
                finished(task_id, seq, i32::try_from(self.draw(5)).unwrap() - 1)
            }
            26..=28 => finished(task(name), 7, 0),
            29 => EventKind::CommandSkipped(CommandSkipped {
                task_id: task(name),
                command_index: index,
                command: "install".into(),
                description: None,
                user_choice: Some("C".into()),
                reason: "a person chose to".into(),
            }),
            30 => EventKind::ProbeFinished(Box::new(ProbeFinished {
                task_id: task(name),
                kind: [ProbeKind::Detection, ProbeKind::Version, ProbeKind::Verification][index],
                command: "command -v it".into(),
                agent: Agent::user(),
                status: CommandVerdict::Success,
                exit_code: Some(0),
                duration_ms: 3,
                error: None,
                output_summary: None,
            })),
            31 => EventKind::SessionPaused { reason: PauseReason::Inactivity, context: None },
            32 | 33 => EventKind::SessionResumed {},
            34 => EventKind::SessionFailed { error: "no".into() },
            35 => EventKind::SessionCompleted { outcome: None },
            36 => EventKind::GatesEvaluated {
                phase,
                gates: vec![gate(
                    [GateStatus::Passed, GateStatus::Forced, GateStatus::Failed][index],
                )],
            },
            37 => EventKind::SessionRevised(SessionRevised {
                phase_revisited: phase,
                impact: Impact::Moderate,
                reason: "another editor".into(),
                downstream_archived: vec!["plan.v1.json".into()],
                tasks_reset: vec![task(name)],
                tasks_to_redo: if index == 1 { vec![task(name)] } else { Vec::new() },
                tasks_to_review: Vec::new(),
            }),
            38 => EventKind::ResumeChosen {
                task_id: task(name),
                action: ResumeAction::Skip,
                context: "skip it".into(),
            },
            _ => self.remark(session, name, phase, index),
        }
    }

    /// What is said about a session rather than done in it.
    fn remark(&mut self, session: &Session, name: &str, phase: Phase, index: usize) -> EventKind {
        match self.draw(10) {
            0 => EventKind::ViolationRecorded {
                phase,
                requirement: "summary shown".into(),
                severity: Severity::Warning,
                recovery: None,
            },
            1 => EventKind::ErrorRecorded { error: format!("error {index}") },
            2 => EventKind::OverrideRecorded {
                task_id: task(name),
                reason: "I know".into(),
                verification: Some("exit code 1".into()),
            },
            3 => EventKind::VerificationDeferred {
                task_id: task(name),
                command: "curl localhost".into(),
                reason: DeferReason::Timeout,
            },
            4 => {
                let deferred = session.deferred_verifications.first();
                let task_id = deferred.map_or(task(name), |deferred| deferred.task_id.clone());
                let command = "curl localhost".into();
                if index == 2 {
                    let error = "exit code 1".into();
                    EventKind::VerificationRefuted { task_id, command, error }
                } else {
                    EventKind::VerificationResolved { task_id, command }
                }
            }
            5 => EventKind::TaskReviewed { task_id: task(name) },
            6 => EventKind::ShellIntegrationDecided { allowed: index == 0, agent: Agent::user() },
            7 => EventKind::ShellBlockWritten(Box::new(ShellBlockWritten {
                task_id: task(name),
                shell: "bash".into(),
                file: format!("/home/ada/.file{index}"),
                status: CommandVerdict::Success,
                changed: index == 1,
                error: None,
            })),
            8 => EventKind::BaselineRecorded {
                origin: if index == 0 {
                    BaselineOrigin::Adopted
                } else {
                    BaselineOrigin::Completion
                },
                agent: Agent::user(),
                sighting: Sighting {
                    present: [(task(name), Found::default())].into(),
                    absent: vec![task("never")],
                },
            },
            _ => EventKind::SessionAbandoned {},
        }
    }

    /// An event that may happen now; every illegal one drawn on the way is passed to `refused`.
    pub fn legal(
        &mut self,
        session: &Session,
        mut refused: impl FnMut(EventKind),
    ) -> Option<EventKind> {
        (0..400).find_map(|_| {
            let kind = self.any(session);
            if session.check(&kind).is_ok() {
                Some(kind)
            } else {
                refused(kind);
                None
            }
        })
    }
}
