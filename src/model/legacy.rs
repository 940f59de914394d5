//! Documents of earlier shapes, brought into the present one key by key.
//!
//! Nothing is made up: what a document does not say is left out, and every change is told. Keys
//! that have no place in the present shape stay where they are, as unknown fields.

use std::fmt;

use chrono::{DateTime, FixedOffset, NaiveDateTime};
use serde_json::{Map, Value, json};

use super::{Phase, TaskId};

/// What was read differently from how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adaptation {
    pub place: String,
    pub change: String,
}

impl fmt::Display for Adaptation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.change)
    }
}

/// What a time without a zone meant where it was written.
pub type LocalTime<'a> = &'a dyn Fn(NaiveDateTime) -> Option<DateTime<FixedOffset>>;

/// Whether a document is older than the journal: it has none, and only its own word counts.
pub fn is_legacy(document: &Value) -> bool {
    let meta = &document["meta"];
    let version = version_text(&meta["version"]);
    let mut parts = version.as_deref().unwrap_or("1.0").split('.').map(str::parse::<u64>);
    let first = (parts.next(), parts.next().unwrap_or(Ok(0)));
    meta.is_object() && meta["revision"].is_null() && matches!(first, (Some(Ok(1)), Ok(0)))
}

/// Brings a legacy document into the present shape; tells every change.
pub fn modernize(document: &mut Value, local: LocalTime<'_>) -> Vec<Adaptation> {
    let mut reader = Reader { local, told: Vec::new() };
    if let Value::Object(root) = document {
        reader.meta(root);
        reader.phase(root);
        reader.profile(root);
        reader.plan(root);
        reader.resume_point(root);
        reader.executed_commands(root);
        reader.tasks(root);
        reader.times(root);
    }
    reader.told
}

type Object = Map<String, Value>;

struct Reader<'a> {
    local: LocalTime<'a>,
    told: Vec<Adaptation>,
}

impl Reader<'_> {
    fn tell(&mut self, place: impl Into<String>, change: impl Into<String>) {
        self.told.push(Adaptation { place: place.into(), change: change.into() });
    }

    /// Gives the value of `old` the name `new`, where there is no `new` yet.
    fn rename(&mut self, object: &mut Object, at: &str, old: &str, new: &str) {
        if object.contains_key(new) {
            return;
        }
        if let Some(value) = object.shift_remove(old) {
            self.tell(format!("{at}.{old}"), format!("read as `{new}`"));
            object.insert(new.into(), value);
        }
    }

    /// Replaces a word that is called differently now.
    fn reword(&mut self, object: &mut Object, at: &str, key: &str, words: &[(&str, &str)]) {
        let Some(Value::String(word)) = object.get_mut(key) else { return };
        if let Some((old, new)) = words.iter().find(|(old, _)| old == word) {
            *word = (*new).into();
            self.tell(format!("{at}.{key}"), format!("`{old}` read as `{new}`"));
        }
    }

    /// Makes an object of a section that was once the text of one of its fields.
    fn nest(&mut self, root: &mut Object, section: &str, field: &str) {
        if let Some(value @ Value::String(_)) = root.get_mut(section) {
            *value = json!({ field: value.take() });
            self.tell(section, format!("read as `{section}.{field}`"));
        }
    }

    fn meta(&mut self, root: &mut Object) {
        for (old, new) in [("created", "created_at"), ("updated", "updated_at")] {
            let known = root.get("meta").is_some_and(|meta| {
                meta.get(old).is_some() || meta.get(new).is_some() || !meta.is_object()
            });
            if !known && let Some(moment) = root.shift_remove(old) {
                root["meta"][new] = moment;
                self.tell(old, format!("read as `meta.{new}`"));
            }
        }
        let Some(Value::Object(meta)) = root.get_mut("meta") else { return };
        self.rename(meta, "meta", "created", "created_at");
        self.rename(meta, "meta", "updated", "updated_at");
        if !meta.contains_key("updated_at")
            && let Some(created) = meta.get("created_at").cloned()
        {
            meta.insert("updated_at".into(), created);
            self.tell("meta.updated_at", "missing; `created_at` stands in for it");
        }
        let words = [("active", "in_progress"), ("interrupted", "paused")];
        self.reword(meta, "meta", "status", &words);
        match version_text(meta.get("version").unwrap_or(&Value::Null)).as_deref() {
            Some("1.0.0") => {}
            given => {
                let given = given.map_or("missing".into(), |given| format!("`{given}`"));
                self.tell("meta.version", format!("{given}, read as `1.0.0`"));
                meta.insert("version".into(), json!("1.0.0"));
            }
        }
        if !meta.contains_key("machine") {
            self.tell("meta.machine", "missing: nobody knows which machine this was");
            let unknown = "unknown";
            let machine = json!({"hostname": unknown, "os_version": unknown, "arch": unknown});
            meta.insert("machine".into(), machine);
        }
        if let Some(Value::Object(machine)) = meta.get_mut("machine") {
            for key in ["hostname", "os_version", "arch"] {
                if !machine.contains_key(key) {
                    machine.insert(key.into(), json!("unknown"));
                    self.tell(format!("meta.machine.{key}"), "missing");
                }
            }
        }
    }

    fn phase(&mut self, root: &mut Object) {
        self.nest(root, "phase", "current");
        let Some(Value::Object(phase)) = root.get_mut("phase") else { return };
        self.reword(phase, "phase", "current", &[("init", Phase::SessionCheck.name())]);
        let Some(Value::Array(history)) = phase.get_mut("history") else { return };
        let mut timing = Object::new();
        for (at, entry) in history.iter_mut().enumerate() {
            let place = format!("phase.history[{at}]");
            let Value::Object(entry) = entry else { continue };
            self.reword(entry, &place, "phase", &[("init", Phase::SessionCheck.name())]);
            self.rename(entry, &place, "ended", "completed_at");
            // When a phase began has a place of its own now.
            if let (Some(name), Some(started)) =
                (entry.get("phase").and_then(Value::as_str), entry.get("started"))
            {
                let times =
                    json!({"started_at": started, "completed_at": entry.get("completed_at")});
                timing.insert(name.into(), times);
            }
        }
        let open = |entry: &Value| entry.get("completed_at").is_none_or(Value::is_null);
        if history.iter().any(open) {
            history.retain(|entry| !open(entry));
            self.tell("phase.history", "phases that had not ended are left out");
        }
        if !timing.is_empty() && !root.contains_key("phase_timing") {
            self.tell("phase.history[].started", "read as `phase_timing`");
            root.insert("phase_timing".into(), timing.into());
        }
    }

    fn profile(&mut self, root: &mut Object) {
        self.nest(root, "profile", "selected");
        if let Some(profile @ Value::Null) = root.get_mut("profile") {
            *profile = json!({});
        }
    }

    /// A plan was once a list: of categories, or of what would be installed.
    fn plan(&mut self, root: &mut Object) {
        match root.get_mut("plan") {
            Some(Value::Array(items)) => {
                let items = std::mem::take(items);
                let is_category =
                    |item: &Value| item["name"].is_string() && item["items"].is_array();
                let categories = if items.iter().all(is_category) {
                    Value::Array(items)
                } else {
                    let text = |item: Value| match item {
                        Value::String(text) => text,
                        other => other.to_string(),
                    };
                    json!([{"name": "Plan", "items": items.into_iter().map(text).collect::<Vec<_>>()}])
                };
                root.insert("plan".into(), json!({"categories": categories}));
                self.tell("plan", "a list, read as `plan.categories`");
            }
            Some(plan @ Value::Null) => *plan = json!({}),
            _ => {}
        }
    }

    fn resume_point(&mut self, root: &mut Object) {
        let Some(Value::Object(point)) = root.get_mut("resume_point") else { return };
        self.reword(point, "resume_point", "action", &[("retry_or_skip", "choose")]);
        for (key, stand_in) in [("command_index", json!(0)), ("context", json!(""))] {
            if !point.contains_key(key) {
                self.tell(format!("resume_point.{key}"), format!("missing; read as `{stand_in}`"));
                point.insert(key.into(), stand_in);
            }
        }
    }

    /// Commands once stood in one list for all tasks.
    fn executed_commands(&mut self, root: &mut Object) {
        let listed = root.get("tasks").and_then(Value::as_object).cloned().unwrap_or_default();
        let can_take = |task: &str| {
            listed.get(task).is_none_or(Value::is_object) && task.parse::<TaskId>().is_ok()
        };
        let Some(Value::Array(commands)) =
            root.get_mut("execution").and_then(|execution| execution.get_mut("commands"))
        else {
            return;
        };
        let mut homeless = Vec::new();
        let mut of_tasks: Vec<(String, Value)> = Vec::new();
        for mut command in std::mem::take(commands) {
            let task = command.as_object_mut().and_then(|command| {
                command.shift_remove("task_id").or_else(|| command.shift_remove("task"))
            });
            match task {
                Some(Value::String(task)) if can_take(&task) => of_tasks.push((task, command)),
                task => {
                    if let (Some(task), Some(command)) = (task, command.as_object_mut()) {
                        command.insert("task_id".into(), task);
                    }
                    homeless.push(command);
                }
            }
        }
        if let Some(execution) = root.get_mut("execution").and_then(Value::as_object_mut) {
            if homeless.is_empty() {
                execution.shift_remove("commands");
            } else {
                let count = homeless.len();
                self.tell(
                    "execution.commands",
                    format!("{count} without a task are left where they are"),
                );
                execution.insert("commands".into(), homeless.into());
            }
            if execution.is_empty() {
                root.shift_remove("execution");
            }
        }
        if of_tasks.is_empty() {
            return;
        }
        self.tell("execution.commands", "read as `tasks.<id>.commands`");
        if !root.get("tasks").is_some_and(Value::is_object) {
            root.insert("tasks".into(), json!({}));
        }
        for (task, command) in of_tasks {
            let record = &mut root["tasks"][&task];
            if record.is_null() {
                *record = json!({"status": "in_progress"});
                self.tell(format!("tasks.{task}"), "not listed, but it has commands");
            }
            if record["commands"].is_null() {
                record["commands"] = json!([]);
            }
            if let Some(commands) = record["commands"].as_array_mut() {
                commands.push(command);
            }
        }
    }

    fn tasks(&mut self, root: &mut Object) {
        let updated = root["meta"]["updated_at"].clone();
        let Some(Value::Object(tasks)) = root.get_mut("tasks") else { return };
        for (id, task) in tasks {
            let Value::Object(task) = task else { continue };
            let place = format!("tasks.{id}");
            if !task.contains_key("task_id") {
                task.shift_insert(0, "task_id".into(), json!(id));
            }
            self.task(task, &place);
            self.commands(task, &place, &updated);
        }
    }

    fn task(&mut self, task: &mut Object, place: &str) {
        let words = [("active", "in_progress"), ("interrupted", "in_progress")];
        self.reword(task, place, "status", &words);
        self.rename(task, place, "started", "started_at");
        let is_moment = task.get("completed").is_some_and(Value::is_string);
        if !task.contains_key("status") {
            let done = is_moment || task.get("completed") == Some(&json!(true));
            let status = match () {
                () if task.get("error").is_some_and(|error| !error.is_null()) => "failed",
                () if done => "completed",
                () if task.contains_key("started_at") => "in_progress",
                () => "pending",
            };
            self.tell(
                format!("{place}.status"),
                format!("missing; the rest of it says `{status}`"),
            );
            task.insert("status".into(), json!(status));
        }
        let failed = task["status"] == "failed";
        if is_moment {
            self.rename(
                task,
                place,
                "completed",
                if failed { "failed_at" } else { "completed_at" },
            );
        }
        if task["status"] == "skipped" && !task.contains_key("skipped") {
            task.insert("skipped".into(), json!(true));
        }
        if let Some(Value::Object(execution)) = task.get_mut("execution")
            && let Some(commands) = execution.shift_remove("commands")
        {
            let is_empty = execution.is_empty();
            if task.contains_key("commands") {
                task["execution"]["commands"] = commands;
            } else {
                self.tell(format!("{place}.execution.commands"), "read as `commands`");
                task.insert("commands".into(), commands);
                if is_empty {
                    task.shift_remove("execution");
                }
            }
        }
        if failed
            && !task.contains_key("failure_context")
            && let Some(Value::String(error)) = task.get("error").cloned()
        {
            task.shift_remove("error");
            self.tell(format!("{place}.error"), "read as `failure_context.error`");
            let context = json!({
                "error_type": "unknown",
                "suggested_resolution": "look at the error, and try it again",
                "error": error,
            });
            task.insert("failure_context".into(), context);
        }
    }

    fn commands(&mut self, task: &mut Object, place: &str, updated: &Value) {
        let stand_in = task.get("started_at").unwrap_or(updated).clone();
        let Some(Value::Array(commands)) = task.get_mut("commands") else { return };
        for (at, command) in commands.iter_mut().enumerate() {
            let place = format!("{place}.commands[{at}]");
            if let Value::String(text) = command {
                *command = json!({"command": text});
            }
            let Value::Object(command) = command else { continue };
            self.rename(command, &place, "started", "executed_at");
            if !command.contains_key("executed_at") {
                command.insert("executed_at".into(), stand_in.clone());
                self.tell(format!("{place}.executed_at"), "missing; the task's own time stands in");
            }
            if !command.contains_key("status") {
                let (status, change) = match command.get("exit_code").and_then(Value::as_i64) {
                    Some(0) => ("success", "missing; its exit code is 0"),
                    Some(_) => ("failed", "missing; its exit code is not 0"),
                    None => {
                        command.insert("outcome".into(), json!("indeterminate"));
                        ("failed", "missing: nobody knows how it ended")
                    }
                };
                command.insert("status".into(), json!(status));
                self.tell(format!("{place}.status"), change);
            }
            let negative =
                command.get("duration_ms").and_then(Value::as_f64).is_some_and(|d| d < 0.0);
            if negative && let Some(found) = command.shift_remove("duration_ms") {
                self.tell(format!("{place}.duration_ms"), format!("{found} is negative; left out"));
            }
        }
    }

    /// Times without a zone were those of the machine's own clock.
    fn times(&mut self, root: &mut Object) {
        let before = self.told.len();
        let mut count = 0;
        for_each_time(root, &mut |text| {
            if let Some(zoned) = self.zoned(text) {
                *text = zoned;
                count += 1;
            }
        });
        debug_assert_eq!(before, self.told.len(), "times are told together");
        if count > 0 {
            self.tell("times", format!("{count} without a zone, read as local time"));
        }
    }

    fn zoned(&self, text: &str) -> Option<String> {
        let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"];
        let naive = formats.iter().find_map(|f| NaiveDateTime::parse_from_str(text, f).ok())?;
        Some((self.local)(naive)?.to_rfc3339())
    }
}

/// Every place of a document where a time belongs.
fn for_each_time(root: &mut Object, change: &mut dyn FnMut(&mut String)) {
    let mut in_keys = |value: Option<&mut Value>, keys: &[&str]| {
        let Some(Value::Object(object)) = value else { return };
        for key in keys {
            if let Some(Value::String(text)) = object.get_mut(*key) {
                change(text);
            }
        }
    };
    in_keys(root.get_mut("meta"), &["created_at", "updated_at"]);
    in_keys(root.get_mut("plan"), &["approved_at"]);
    let history = root.get_mut("phase").and_then(|phase| phase.get_mut("history"));
    for entry in members(history) {
        in_keys(Some(entry), &["completed_at"]);
    }
    for timing in members(root.get_mut("phase_timing")) {
        in_keys(Some(timing), &["started_at", "completed_at"]);
    }
    for choice in members(root.get_mut("choices")) {
        in_keys(Some(choice), &["timestamp"]);
    }
    for expansion in members(root.get_mut("expansion_history")) {
        in_keys(Some(expansion), &["expanded_at"]);
    }
    for task in members(root.get_mut("tasks")) {
        in_keys(Some(task), &["started_at", "completed_at", "failed_at"]);
        for command in members(task.get_mut("commands")) {
            in_keys(Some(command), &["executed_at"]);
        }
    }
}

/// The elements of a list, or the values of an object.
fn members<'v>(
    value: impl Into<Option<&'v mut Value>>,
) -> Box<dyn Iterator<Item = &'v mut Value> + 'v> {
    match value.into() {
        Some(Value::Array(items)) => Box::new(items.iter_mut()),
        Some(Value::Object(fields)) => Box::new(fields.values_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// A version as text, also where it was written as a number.
fn version_text(version: &Value) -> Option<String> {
    match version {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
