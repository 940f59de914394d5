//! Random catalogs and answers: whatever is asked of whatever, the plan is in order, complete, and
//! holds nothing else; and every mistake that was planted is found.

use std::collections::{BTreeSet, HashMap, HashSet};

use agentic_provision::{
    flow::{
        Input, Offer, Offered, PlanProblem, Planned, Presence, Rehearsal, Stack, Walk,
        plan_problems,
    },
    model::{EventKind, Found, Plan, PlanTask, Platform, Profile, Task, TaskId},
};
use rand::{RngExt, SeedableRng, rngs::SmallRng, seq::IndexedRandom, seq::SliceRandom};
use serde_json::{Value, json};

use crate::harness::{created, moment, seed, soak};

/// A catalog, what is asked of it, and what is there.
struct World {
    tasks: Vec<Task>,
    profile: Profile,
    answers: Vec<(String, String)>,
    decisions: Vec<(String, String)>,
    without: Vec<TaskId>,
    there: HashSet<TaskId>,
}

fn debian() -> Platform {
    Platform {
        family: "linux".into(),
        id: "debian".into(),
        release: Some("12".into()),
        arch: "x86_64".into(),
        ..Platform::default()
    }
}

fn id(number: usize) -> TaskId {
    format!("t{number}").parse().unwrap()
}

/// Some of the tasks before one, the nearest the most likely: so chains grow long.
fn earlier(random: &mut SmallRng, number: usize, most: usize) -> Vec<TaskId> {
    let mut found = BTreeSet::new();
    for _ in 0..random.random_range(0..=most) {
        if number > 0 {
            let back = random.random_range(1..=number.min(3));
            found.insert(number - back);
        }
    }
    found.into_iter().map(id).collect()
}

fn steps(random: &mut SmallRng) -> Value {
    let count = random.random_range(1..=3);
    let step = |n| json!({"command": format!("step {n} {}", random.random_range(0..1000))});
    json!((0..count).map(step).collect::<Vec<_>>())
}

fn task(random: &mut SmallRng, number: usize, of: usize) -> Task {
    let required = earlier(random, number, 2);
    let mut one_of = Vec::new();
    if number > 4 && random.random_bool(0.2) {
        let before: Vec<TaskId> = (0..number).map(id).filter(|t| !required.contains(t)).collect();
        one_of = before.sample(random, 3).cloned().collect();
    }
    // What would only be nice to have first may be anywhere, also behind.
    let optional: Vec<TaskId> = if random.random_bool(0.2) {
        let any = id(random.random_range(0..of));
        Some(any).filter(|t| *t != id(number)).into_iter().collect()
    } else {
        Vec::new()
    };
    let mut install = json!({"steps": steps(random)});
    if random.random_bool(0.25) {
        let keys = ["debian", "linux", "apt", "macos", "debian-12"];
        let mut variants: serde_json::Map<String, Value> = keys
            .sample(random, 3)
            .map(|key| ((*key).to_owned(), json!({"steps": steps(random)})))
            .collect();
        variants.insert("linux".into(), json!({"steps": steps(random)}));
        for dependency in &one_of {
            if random.random_bool(0.5) {
                variants.insert(dependency.to_string(), json!({"steps": steps(random)}));
            }
        }
        install = json!({"variants": variants});
    }
    let mut fields = json!({
        "id": id(number), "name": format!("Task {number}"),
        "dependencies": {"required": required, "one_of": one_of, "optional": optional},
        "install": install,
    });
    if random.random_bool(0.08) && number > 0 {
        fields["conflicts_with"] = json!([id(random.random_range(0..number))]);
    }
    if random.random_bool(0.06) {
        let condition = *["always", "if_missing", "user_choice"].choose(random).unwrap();
        fields["post_install"] =
            json!([{"task": id(random.random_range(0..of)), "condition": condition}]);
    }
    serde_json::from_value(fields).unwrap()
}

impl World {
    fn random(random: &mut SmallRng) -> Self {
        let count = random.random_range(12..40);
        let tasks: Vec<Task> = (0..count).map(|number| task(random, number, count)).collect();
        let any = |random: &mut SmallRng, most: usize| -> Vec<TaskId> {
            let number = random.random_range(1..=most);
            (0..number).map(|_| id(random.random_range(count / 2..count))).collect()
        };
        let question = |number: usize, random: &mut SmallRng| {
            json!({"id": format!("q{number}"), "question": "Which?", "options": [
                {"letter": "A", "text": "One", "value": "one", "tasks": any(random, 2)},
                {"letter": "B", "text": "Other", "value": "other", "tasks": any(random, 2),
                 "follow_up": if number == 0 { json!("q9") } else { Value::Null }},
                {"letter": "C", "text": "None", "value": "none"}
            ]})
        };
        let mut questions: Vec<Value> =
            (0..random.random_range(1..4)).map(|number| question(number, random)).collect();
        questions.push(question(9, random));
        for option in questions.iter_mut().flat_map(|q| q["options"].as_array_mut().unwrap()) {
            if option.get("follow_up").is_some_and(Value::is_null) {
                option.as_object_mut().unwrap().remove("follow_up");
            }
        }
        let profile = json!({
            "metadata": {"id": "p", "name": "P"}, "required_tasks": any(random, 3),
            "question_flow": questions, "default_cli_tools": any(random, 2)
        });
        let profile: Profile = serde_json::from_value(profile).unwrap();
        let letters = ["A", "b", "C", "one", "OTHER", "none"];
        let ids = profile.question_flow.iter().map(|question| question.id.clone());
        let answers = ids.map(|id| (id, (*letters.choose(random).unwrap()).to_owned())).collect();
        let there = tasks.iter().map(|task| task.id.clone()).filter(|_| random.random_bool(0.2));
        let there = there.collect();
        let (decisions, without) = (Vec::new(), Vec::new());
        Self { tasks, profile, answers, decisions, without, there }
    }

    fn task(&self, id: &TaskId) -> &Task {
        self.tasks.iter().find(|task| task.id == *id).unwrap()
    }

    /// Goes through the walk and plans, looking at `there`.
    fn plan_with<T>(&self, there: &HashSet<TaskId>, look: impl FnOnce(Planned<'_>) -> T) -> T {
        let mut presence = Presence::default();
        for id in there {
            presence.add(id.clone(), Found::default());
        }
        let offer = Offer::new(self.tasks.iter().map(|task| Offered { task, layer: "test" }));
        let platform = debian();
        let walk = Walk {
            offer: &offer,
            profiles: &[&self.profile],
            platform: &platform,
            facts: Some(&presence),
            held: None,
        };
        let EventKind::SessionCreated(created) = created() else { unreachable!() };
        let mut session = Rehearsal::begin(*created, moment(0).wall).unwrap();
        let mut tell = |input| {
            if let Ok(step) = walk.take(&session, input) {
                session.record(step.events).unwrap();
            }
        };
        tell(Input::Checked { unfinished: Vec::new() });
        let stack =
            Stack { profile: Some("p".into()), without: self.without.clone(), ..Stack::default() };
        tell(Input::Stack(Box::new(stack)));
        // Twice: what follows up on another answer is asked only then.
        for (question, answer) in self.answers.iter().chain(&self.answers).chain(&self.decisions) {
            tell(Input::Answer { question: question.clone(), answer: answer.clone() });
        }
        look(walk.plan(&session, &presence))
    }

    fn plan(&self) -> Result<Plan, Vec<PlanProblem>> {
        self.plan_with(&self.there, |planned| planned.plan)
    }

    /// Decides every conflict, one way or the other.
    fn decide_all(&mut self, random: &mut SmallRng) -> Result<Plan, Vec<PlanProblem>> {
        for _ in 0..100 {
            let problems = match self.plan() {
                Ok(plan) => return Ok(plan),
                Err(problems) => problems,
            };
            if problems.iter().any(|problem| matches!(problem, PlanProblem::Needed { .. })) {
                // The one that was dropped is needed: then it is both.
                let last = self.decisions.len().checked_sub(1).expect("nothing was dropped");
                self.decisions[last].1 = "both".into();
                continue;
            }
            let conflict = problems.iter().find_map(|problem| match problem {
                PlanProblem::Conflict { id, .. } => Some((id.clone(), 3)),
                PlanProblem::InstalledConflict { id, .. } => Some((id.clone(), 2)),
                _ => None,
            });
            let Some((id, letters)) = conflict else { return Err(problems) };
            let letter = ["A", "B", "C"][random.random_range(0..letters)];
            self.decisions.push((id, letter.to_owned()));
        }
        panic!("the conflicts have no end: {:?}", self.decisions);
    }

    fn is_in_a_decision(&self, task: &TaskId) -> bool {
        self.decisions.iter().any(|(id, _)| id.split(':').any(|name| name == task.as_str()))
    }

    /// Whether a person has decided about the two, and not against `one`.
    fn is_decided_for(&self, one: &TaskId, other: &TaskId) -> bool {
        let names = [format!("conflict:{one}:{other}"), format!("conflict:{other}:{one}")];
        self.plan_with(&self.there, |planned| {
            let mut conflicts = planned.selection.conflicts.iter();
            conflicts.any(|conflict| {
                let decision = self.decisions.iter().find(|(id, _)| *id == conflict.id);
                names.contains(&conflict.id)
                    && decision.is_some_and(|(_, answer)| {
                        let against = if conflict.one == *one { "B" } else { "A" };
                        let leaves_out = conflict.is_there && answer == "A";
                        answer != against && !leaves_out || conflict.is_there && answer == "B"
                    })
            })
        })
    }

    /// Everything that a plan must be.
    fn check(&self, plan: &Plan) {
        let place: HashMap<&TaskId, usize> =
            plan.tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
        assert_eq!(place.len(), plan.tasks.len(), "a task is planned twice");
        for planned in &plan.tasks {
            let task = self.task(&planned.id);
            for needed in &planned.depends_on {
                assert!(place[needed] < place[&planned.id], "{needed} is behind {}", planned.id);
            }
            self.check_after(planned, &place);
            for needed in &task.dependencies.required {
                assert!(planned.depends_on.contains(needed), "{} lacks {needed}", planned.id);
            }
            let one_of = &task.dependencies.one_of;
            let served: Vec<_> =
                planned.depends_on.iter().filter(|id| one_of.contains(id)).collect();
            let extra = planned.depends_on.len() - task.dependencies.required.len();
            assert_eq!(extra, usize::from(!one_of.is_empty()), "{}", planned.id);
            if !one_of.is_empty() {
                self.check_served(task, &served);
            }
            Self::check_variant(task, planned.variant.as_deref(), &served);
            for other in &task.conflicts_with {
                let both_there = self.there.contains(other) && self.there.contains(&task.id);
                let is_there = place.contains_key(other) || self.there.contains(other);
                let is_decided =
                    || self.is_decided_for(&task.id, other) || self.is_decided_for(other, &task.id);
                assert!(!is_there || both_there || is_decided(), "{} and {other}", task.id);
            }
        }
        // One that is there may be the only one to say that it is in the way.
        for task in self.tasks.iter().filter(|task| self.there.contains(&task.id)) {
            for other in task.conflicts_with.iter().filter(|other| place.contains_key(*other)) {
                let both_there = self.there.contains(other);
                let is_decided =
                    || self.is_decided_for(&task.id, other) || self.is_decided_for(other, &task.id);
                assert!(both_there || is_decided(), "{} is there, and {other}", task.id);
            }
        }
        self.check_nothing_else(plan, &place);
    }

    /// What it comes behind without need is noted, as far as it does, and nothing else is.
    fn check_after(&self, planned: &PlanTask, place: &HashMap<&TaskId, usize>) {
        let (id, task) = (&planned.id, self.task(&planned.id));
        let places: Vec<usize> = planned.after.iter().map(|earlier| place[earlier]).collect();
        assert!(places.is_sorted_by(|one, next| one < next), "{id}: {:?}", planned.after);
        for earlier in &planned.after {
            assert!(place[earlier] < place[id], "{earlier} is behind {id}");
            assert!(!planned.depends_on.contains(earlier), "{id} needs {earlier} anyway");
            let brings =
                self.task(earlier).post_install.iter().any(|p| p.task.as_ref() == Some(id));
            let is_wished = task.dependencies.optional.contains(earlier);
            assert!(brings || is_wished, "{id} comes after {earlier} for no reason");
        }
        for wished in &task.dependencies.optional {
            let comes_first = place.get(wished).is_some_and(|at| *at < place[id]);
            let is_noted = planned.after.contains(wished) || planned.depends_on.contains(wished);
            assert!(!comes_first || is_noted, "{id} does not say that it comes after {wished}");
        }
    }

    /// One that is there serves before any other.
    fn check_served(&self, task: &Task, served: &[&TaskId]) {
        let [served] = served else { panic!("{}: {served:?}", task.id) };
        let left_out = |id: &TaskId| self.is_in_a_decision(id);
        let any_there =
            task.dependencies.one_of.iter().any(|id| self.there.contains(id) && !left_out(id));
        assert!(!any_there || self.there.contains(*served), "{} is served by {served}", task.id);
    }

    fn check_variant(task: &Task, variant: Option<&str>, served: &[&TaskId]) {
        let variants = &task.install.variants;
        if variants.is_empty() {
            assert_eq!(variant, None);
            return;
        }
        let by_dependency =
            served.first().map(|id| id.as_str()).filter(|id| variants.contains_key(*id));
        let by_platform =
            ["debian-12", "debian", "linux"].into_iter().find(|key| variants.contains_key(*key));
        assert_eq!(variant, by_dependency.or(by_platform), "{}", task.id);
    }

    /// Everything planned is there because something asked for it, and all that was asked for is.
    fn check_nothing_else(&self, plan: &Plan, place: &HashMap<&TaskId, usize>) {
        let chosen = |question: &agentic_provision::model::Question| {
            let (_, answer) = self.answers.iter().find(|(id, _)| *id == question.id).unwrap();
            question.option(answer).unwrap().clone()
        };
        let mut roots = self.profile.required_tasks.clone();
        let mut droppable = self.profile.default_cli_tools.clone();
        for question in &self.profile.question_flow {
            let first = chosen(&self.profile.question_flow[0]);
            if question.id != "q9" || first.follow_up.as_deref() == Some("q9") {
                droppable.extend(chosen(question).tasks);
            }
        }
        for root in &roots {
            assert!(place.contains_key(root), "{root} is required and not planned");
        }
        for root in &droppable {
            let was_decided = self.is_in_a_decision(root);
            assert!(place.contains_key(root) || was_decided, "{root} was chosen and is missing");
        }
        roots.extend(droppable);
        let mut asked: HashSet<&TaskId> = HashSet::new();
        let mut open: Vec<&TaskId> = roots.iter().collect();
        while let Some(id) = open.pop() {
            if asked.insert(id)
                && let Some(at) = place.get(id)
            {
                open.extend(&plan.tasks[*at].depends_on);
                let behind = self.task(id).post_install.iter();
                open.extend(behind.filter_map(|entry| entry.task.as_ref()));
            }
        }
        for planned in &plan.tasks {
            assert!(asked.contains(&planned.id), "nobody asked for {}", planned.id);
        }
    }

    /// The longest chain of needs.
    fn depth(plan: &Plan) -> usize {
        let mut depths: HashMap<&TaskId, usize> = HashMap::new();
        for task in &plan.tasks {
            let below = task.depends_on.iter().filter_map(|id| depths.get(id)).max();
            depths.insert(&task.id, below.map_or(1, |depth| depth + 1));
        }
        depths.into_values().max().unwrap_or(0)
    }

    /// Tasks that are in every plan, whatever is chosen where there is a choice.
    fn certain(&self) -> Vec<TaskId> {
        let mut certain: Vec<&TaskId> = self.profile.required_tasks.iter().collect();
        let mut at = 0;
        while at < certain.len() {
            let more = self.task(certain[at]).dependencies.required.iter();
            let new: Vec<&TaskId> = more.filter(|id| !certain.contains(id)).collect();
            certain.extend(new);
            at += 1;
        }
        certain.into_iter().cloned().collect()
    }

    fn task_mut(&mut self, id: &TaskId) -> &mut Task {
        self.tasks.iter_mut().find(|task| task.id == *id).unwrap()
    }
}

/// Plants mistakes in what is planned; returns what must be found.
fn plant(world: &mut World, random: &mut SmallRng) -> Vec<(&'static str, TaskId)> {
    let certain = world.certain();
    let mut planted = Vec::new();
    let victim = certain.choose(random).unwrap().clone();
    if random.random_bool(0.25) {
        world.without.push(victim.clone());
        return vec![("needed", victim)];
    }
    if random.random_bool(0.6) {
        let nowhere: TaskId = "nowhere".parse().unwrap();
        world.task_mut(&victim).dependencies.required.push(nowhere.clone());
        planted.push(("unknown", nowhere));
    }
    if random.random_bool(0.6) {
        // One that requires it, directly or not, is now required by it.
        let mut above = victim.clone();
        for _ in 0..random.random_range(0..4) {
            let mut users = certain.iter();
            let next = users.find(|id| world.task(id).dependencies.required.contains(&above));
            above = next.cloned().unwrap_or(above);
        }
        world.task_mut(&victim).dependencies.required.push(above.clone());
        planted.push(("circle", above));
    }
    // What is there needs no way to be installed, nor does what only that needs.
    let is_needed = |id: &&TaskId| {
        let absent = certain.iter().filter(|user| !world.there.contains(*user));
        world.profile.required_tasks.contains(id)
            || absent.into_iter().any(|user| world.task(user).dependencies.required.contains(id))
    };
    let absent = certain.iter().filter(|id| !world.there.contains(*id));
    let victims: Vec<TaskId> = absent.filter(is_needed).cloned().collect();
    if let Some(victim) = victims.choose(random).filter(|_| random.random_bool(0.6)) {
        let steps = json!({"variants": {"macos": {"steps": [{"command": "x"}]}}});
        world.task_mut(victim).install = serde_json::from_value(steps).unwrap();
        planted.push(("variant", victim.clone()));
    }
    planted
}

fn is_found(what: &str, id: &TaskId, problems: &[PlanProblem]) -> bool {
    problems.iter().any(|problem| match (what, problem) {
        ("unknown", PlanProblem::UnknownTask { id: found, chain, .. }) => {
            found == id && chain.0.first().is_some_and(|first| first == "p") && chain.0.len() > 2
        }
        ("circle", PlanProblem::Circle { circle, .. }) => circle.contains(id),
        ("variant", PlanProblem::NoRecipe { id: found, chain, .. }) => {
            found == id && chain.0.last().is_some_and(|last| last == id.as_str())
        }
        ("needed", PlanProblem::Needed { id: found, .. }) => found == id,
        _ => false,
    })
}

/// Names the seed of a case that fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the case that failed: PROVISION_TEST_SEED={}", self.0);
        }
    }
}

#[test]
fn a_plan_names_what_a_task_comes_behind_without_needing_it() {
    let task = |id: &str, more: Value| -> Task {
        let mut fields = json!({"id": id, "name": id, "install": {"steps": [{"command": id}]}});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(fields).unwrap()
    };
    let wishes = |wished: &[&str], needed: &[&str]| json!({"dependencies": {"optional": wished, "required": needed}});
    let tasks = vec![
        // Two wishes, not in the order of the plan, one that is not planned, and one that is a need.
        task("user", wishes(&["late", "early", "absent", "need"], &["need"])),
        task("early", json!({"post_install": [{"task": "extra", "condition": "always"}]})),
        task("late", json!({})),
        task("need", json!({})),
        task("extra", json!({})),
        task("absent", json!({})),
        // Each would come behind the other: one gives way, and only the other says so.
        task("one", wishes(&["other"], &[])),
        task("other", wishes(&["one"], &[])),
    ];
    let profile = json!({
        "metadata": {"id": "p", "name": "P"},
        "required_tasks": ["user", "early", "late", "one", "other"],
        "question_flow": []
    });
    let world = World {
        tasks,
        profile: serde_json::from_value(profile).unwrap(),
        answers: Vec::new(),
        decisions: Vec::new(),
        without: Vec::new(),
        there: HashSet::new(),
    };
    let plan = world.plan().unwrap();
    let after = |task: &PlanTask| {
        let after: Vec<&str> = task.after.iter().map(TaskId::as_str).collect();
        format!("{}: {}", task.id, after.join(" "))
    };
    let told: Vec<String> = plan.tasks.iter().map(after).collect();
    let expected =
        ["early: ", "late: ", "need: ", "user: early late", "extra: early", "one: ", "other: one"];
    assert_eq!(told, expected);
    assert_eq!(plan_problems(&plan), []);
}

#[test]
fn plans_of_random_catalogs_are_in_order_complete_and_nothing_more() {
    let seed = seed("planner");
    let cases = if soak() { 10_000 } else { 1_000 };
    let (mut conflicts, mut one_of, mut variants, mut deep, mut after) = (0, 0, 0, 0, 0);
    let mut planted_in_all: HashMap<&str, usize> = HashMap::new();
    for case in 0..cases {
        let mut random = SmallRng::seed_from_u64(seed.wrapping_add(case));
        let _named = Named(seed.wrapping_add(case));
        let mut world = World::random(&mut random);
        let plan = match world.decide_all(&mut random) {
            Ok(plan) => plan,
            Err(problems) => panic!("{problems:?}"),
        };
        world.check(&plan);
        conflicts += u64::from(!world.decisions.is_empty());
        let uses = |of: fn(&Task) -> bool| plan.tasks.iter().any(|p| of(world.task(&p.id)));
        one_of += u64::from(uses(|task| !task.dependencies.one_of.is_empty()));
        variants += u64::from(uses(|task| !task.install.variants.is_empty()));
        deep += u64::from(World::depth(&plan) >= 5);
        after += u64::from(plan.tasks.iter().any(|task| !task.after.is_empty()));
        // Whoever lists the same in another order asks for the same.
        let digest = plan.compute_digest();
        world.tasks.shuffle(&mut random);
        world.answers.shuffle(&mut random);
        assert_eq!(world.plan().unwrap().compute_digest(), digest);
        // What is there decides what serves, and what is in the way; it changes nothing else.
        let mut there = world.there.clone();
        let plays_a_part: HashSet<TaskId> = world
            .tasks
            .iter()
            .flat_map(|task| {
                let conflicts = !task.conflicts_with.is_empty();
                let own = conflicts.then_some(&task.id).into_iter();
                own.chain(&task.dependencies.one_of).chain(&task.conflicts_with)
            })
            .cloned()
            .collect();
        for task in world.tasks.iter().filter(|task| !plays_a_part.contains(&task.id)) {
            if random.random_bool(0.5) && !there.remove(&task.id) {
                there.insert(task.id.clone());
            }
        }
        let again = world.plan_with(&there, |planned| planned.plan).unwrap();
        assert_eq!(again.compute_digest(), digest);
        let planted = plant(&mut world, &mut random);
        if planted.is_empty() {
            continue;
        }
        let problems = world.plan().map(drop).expect_err("something is wrong");
        for (what, id) in planted {
            assert!(is_found(what, &id, &problems), "{what} {id}: {problems:#?}");
            *planted_in_all.entry(what).or_default() += 1;
        }
    }
    println!(
        "of {cases} catalogs: {conflicts} with conflicts, {one_of} with one_of, {variants} with \
         variants, {deep} at least 5 deep, {after} with wishes; planted and found: {planted_in_all:?}"
    );
    for (what, count) in [
        ("conflicts", conflicts),
        ("one_of", one_of),
        ("variants", variants),
        ("deep", deep),
        ("after", after),
    ] {
        assert!(count * 10 >= cases * 3, "only {count} of {cases} {what}");
    }
    assert_eq!(planted_in_all.len(), 4, "{planted_in_all:?}");
}
