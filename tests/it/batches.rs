//! Packages of several tasks in one call of their manager: who is served by it, and what becomes of
//! each when it fails. With a stand-in for npm that fails in all the ways it can, and with real apt.

use std::{
    fs,
    io::{BufRead, BufReader},
};

use serde_json::{Value, json};

use crate::{
    harness::{
        Home, Output,
        overlay::Overlay,
        processes,
        screen::{Screen, USUAL},
        stub, wait_until,
    },
    real_apt::is_installed,
};

/// A home with an npm of ours: what it is told to install becomes a file, and each call a line.
struct Shop {
    home: Home,
}

impl Shop {
    /// `before` is run before anything is installed, with the names in `$@`.
    fn new(before: &str) -> Self {
        let shop = Self { home: Home::new() };
        fs::create_dir(shop.home.path().join("packages")).unwrap();
        shop.sell(before);
        shop
    }

    fn sell(&self, before: &str) {
        let place = self.home.path().join("packages");
        let text = format!(
            "cd '{}'; shift 2; echo \"$*\" >> ../calls\n{before}\nfor p; do echo 1.2.3 > \"$p\"; done",
            place.display()
        );
        stub(&self.home.path().join("stubs"), "npm", &text);
    }

    /// A task whose package has its name.
    fn task(&self, name: &str) -> Value {
        let file = self.home.path().join("packages").join(name);
        json!({
            "id": name, "path": [self.home.path().join("stubs")],
            "packages": {"manager": "npm", "names": [name]},
            "detection": {
                "installed_indicator": file, "version_command": format!("cat '{}'", file.display())},
            "commands": [{
                "command": format!("npm install --global {name}"),
                "idempotent": true, "locks": ["npm"]}],
        })
    }

    fn tasks(&self, names: &[&str]) -> Vec<Value> {
        names.iter().map(|name| self.task(name)).collect()
    }

    fn apply(&self, tasks: &[Value], more: &[&str]) -> Output {
        self.home.apply(&json!(tasks), more)
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.home.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    fn status(&self, task: &str) -> String {
        let document = self.home.latest_document();
        document["tasks"][task]["status"].as_str().unwrap().to_owned()
    }
}

/// What npm says of a package that nobody has published.
const UNKNOWN: &str = r#"for p; do if [ "$p" = bad ]; then
    echo "npm error code E404" >&2
    echo "npm error 404 Not Found - GET /bad" >&2
    echo "npm error 404  The requested resource 'bad@*' could not be found or you do not have permission to access it." >&2
    exit 1
  fi; done"#;

#[test]
fn packages_of_one_manager_are_one_call_and_each_task_has_its_own_record() {
    let shop = Shop::new("");
    fs::write(shop.home.path().join("packages/there"), "1.0.0\n").unwrap();
    let mut tasks = shop.tasks(&["one", "two", "there", "three"]);
    tasks[1]["verification"] = json!({"command": "cat packages/two", "expected_pattern": "1.2"});
    let output = shop.apply(&tasks, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    // What is there already needs no call.
    assert_eq!(shop.calls(), ["one two three"]);
    let id = shop.home.latest();
    let events = shop.home.events(&id);
    let starts: Vec<_> = events.iter().filter(|e| e["event"] == "command_started").collect();
    assert_eq!(starts.len(), 1);
    assert_eq!(starts[0]["task_ids"], json!(["one", "two", "three"]));
    assert_eq!(starts[0]["command"], "npm install --global one two three");
    let document = shop.home.latest_document();
    for task in ["one", "two", "three"] {
        let record = &document["tasks"][task];
        assert_eq!(record["result"]["version"], "1.2.3");
        let commands = record["commands"].as_array().unwrap();
        let call = commands.iter().find(|c| c["command_index"] == 0).unwrap();
        assert_eq!(call["log"], format!("attempts/{}", starts[0]["seq"]));
        assert_eq!((&call["exit_code"], &call["retry_count"]), (&json!(0), &json!(0)));
        assert_eq!(call["task_ids"], json!(["one", "two", "three"]));
        let kinds: Vec<_> = commands.iter().filter_map(|c| c["kind"].as_str()).collect();
        let verified = if task == "two" { vec!["verification"] } else { vec![] };
        assert_eq!(kinds, [&["detection"][..], &verified, &["version"]].concat());
        // The call is found from each of them.
        assert!(shop.home.run(&["logs", &id, task]).stdout.contains("npm install --global"));
    }
    assert_eq!(document["tasks"]["there"]["result"]["already_installed"], true);
    assert_eq!(shop.home.run(&["logs", &id]).stdout.matches("npm install").count(), 1);
}

#[test]
fn whom_the_manager_names_fails_and_the_rest_is_one_call_again() {
    let shop = Shop::new(UNKNOWN);
    let mut tasks = shop.tasks(&["one", "bad", "two"]);
    tasks.push(json!({"id": "needs", "depends_on": ["bad"], "commands": [{"command": "true"}]}));
    let output = shop.apply(&tasks, &["--keep-going"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert_eq!(shop.calls(), ["one bad two", "one two"]);
    let document = shop.home.latest_document();
    let status = |task: &str| document["tasks"][task]["status"].clone();
    assert_eq!((status("one"), status("two")), (json!("completed"), json!("completed")));
    assert_eq!((status("bad"), status("needs")), (json!("failed"), json!("skipped")));
    assert_eq!(document["tasks"]["bad"]["failure_context"]["error_type"], "package_not_found");
    let call = |task: &str| {
        let commands = document["tasks"][task]["commands"].as_array().unwrap().clone();
        commands.into_iter().find(|c| c["command_index"] == 0).unwrap()
    };
    assert_eq!(
        (call("one")["retry_count"].clone(), call("one")["exit_code"].clone()),
        (json!(1), json!(0))
    );
    assert_eq!(call("bad")["exit_code"], 1);
    // Only that one is left to be tried again.
    assert_eq!(document["resume_points"].as_array().unwrap().len(), 1);
    assert_eq!(document["resume_point"]["task_id"], "bad");
    stub(
        &shop.home.path().join("stubs"),
        "npm",
        &format!(
            "cd '{}'; shift 2; echo \"$*\" >> ../calls; for p; do echo 2 > \"$p\"; done",
            shop.home.path().join("packages").display()
        ),
    );
    assert_eq!(shop.home.run(&["resume", &shop.home.latest(), "--retry"]).code, Some(0));
    assert_eq!(shop.calls()[2..], ["bad"]);
    assert_eq!(shop.status("needs"), "completed");
}

#[test]
fn a_bad_one_does_not_keep_the_others_from_being_installed_though_nobody_keeps_going() {
    let shop = Shop::new(UNKNOWN);
    let mut tasks = shop.tasks(&["one", "bad", "two"]);
    tasks.push(json!({"id": "needs", "depends_on": ["bad"], "commands": [{"command": "true"}]}));
    assert_eq!(shop.apply(&tasks, &[]).code, Some(3));
    assert_eq!(shop.calls(), ["one bad two", "one two"]);
    for (task, status) in
        [("one", "completed"), ("bad", "failed"), ("two", "completed"), ("needs", "skipped")]
    {
        assert_eq!(shop.status(task), status, "{task}");
    }
}

#[test]
fn where_nobody_is_named_each_goes_by_itself() {
    let shop =
        Shop::new(r#"case "$*" in *odd*) echo "npm error something broke" >&2; exit 1;; esac"#);
    let tasks = shop.tasks(&["one", "odd", "two"]);
    assert_eq!(shop.apply(&tasks, &["--keep-going"]).code, Some(3));
    let mut calls = shop.calls();
    assert_eq!(calls.remove(0), "one odd two");
    calls.sort();
    assert_eq!(calls, ["odd", "one", "two"]);
    assert_eq!(shop.status("odd"), "failed");
    assert_eq!((shop.status("one"), shop.status("two")), ("completed".into(), "completed".into()));
}

#[test]
fn what_a_failed_call_has_installed_all_the_same_is_done() {
    let shop = Shop::new(
        r#"case "$*" in *odd*) for p; do [ "$p" = odd ] && break; echo 1.2.3 > "$p"; done
           echo "npm error something broke" >&2; exit 1;; esac"#,
    );
    let tasks = shop.tasks(&["one", "two", "odd", "three"]);
    assert_eq!(shop.apply(&tasks, &["--keep-going"]).code, Some(3));
    let mut calls = shop.calls();
    assert_eq!(calls[..2], ["one two odd three", "odd three"]);
    calls[2..].sort();
    assert_eq!(calls[2..], ["odd", "three"]);
    let document = shop.home.latest_document();
    let one = &document["tasks"]["one"];
    assert_eq!((&one["status"], &one["result"]["version"]), (&json!("completed"), &json!("1.2.3")));
    let call =
        one["commands"].as_array().unwrap().iter().find(|c| c["command_index"] == 0).unwrap();
    assert_eq!(call["exit_code"], 1, "its record says how the call ended");
    assert_eq!(document["tasks"]["odd"]["status"], "failed");
}

#[test]
fn what_passes_by_itself_is_tried_again_as_one_call() {
    let shop = Shop::new(
        r#"[ -e ../once ] || { touch ../once; echo "npm error network request failed, reason: connect ECONNREFUSED 127.0.0.1:9" >&2
           echo "npm error code ECONNREFUSED" >&2; exit 1; }"#,
    );
    let output = shop.apply(&shop.tasks(&["one", "two"]), &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(shop.calls(), ["one two", "one two"]);
}

#[test]
fn one_by_one_nothing_is_shared() {
    let shop = Shop::new("");
    assert_eq!(shop.apply(&shop.tasks(&["one", "two"]), &["--jobs", "1"]).code, Some(0));
    assert_eq!(shop.calls(), ["one", "two"]);
}

#[test]
fn only_calls_that_are_alike_are_made_as_one() {
    let shop = Shop::new("");
    let mut tasks = shop.tasks(&["one", "two", "other", "own", "three"]);
    tasks[2]["commands"][0]["env"] = json!({"NPM_CONFIG_X": "1"});
    tasks[3]["commands"][0]["command"] = json!("npm install --global own && true");
    assert_eq!(shop.apply(&tasks, &[]).code, Some(0));
    let mut calls = shop.calls();
    calls.sort();
    assert_eq!(calls, ["one two three", "other", "own"]);
}

#[test]
fn a_manager_that_takes_one_package_at_a_time_is_called_for_each() {
    let shop = Shop::new("");
    // Like earlier releases of pipx: what stands behind the first name is not known to it.
    let strict = r#"[ $# = 2 ] || { echo "unrecognized arguments" >&2; exit 2; }
        cd packages && echo "$2" >> ../calls && echo 1.2.3 > "$2""#;
    stub(&shop.home.path().join("stubs"), "pipx", strict);
    let mut tasks = shop.tasks(&["one", "two", "three"]);
    for task in &mut tasks {
        let name = task["id"].as_str().unwrap().to_owned();
        task["packages"]["manager"] = json!("pipx");
        task["commands"][0]["command"] = json!(format!("pipx install {name}"));
        task["commands"][0]["locks"] = json!(["pipx"]);
    }
    let output = shop.apply(&tasks, &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(shop.calls(), ["one", "two", "three"]);
}

#[test]
fn what_can_begin_only_later_gathers_a_call_of_its_own() {
    let shop = Shop::new("");
    let mut tasks = shop.tasks(&["one", "two", "late", "later"]);
    tasks.insert(0, json!({"id": "first", "commands": [{"command": "sleep 0.3"}]}));
    tasks[3]["depends_on"] = json!(["first"]);
    tasks[4]["depends_on"] = json!(["first"]);
    assert_eq!(shop.apply(&tasks, &[]).code, Some(0));
    assert_eq!(shop.calls(), ["one two", "late later"]);
}

#[test]
fn whoever_looks_at_each_step_sees_each_tasks_own_command() {
    let shop = Shop::new("");
    let plan = shop.home.plan(&json!(shop.tasks(&["one", "two"])));
    let line = format!("{} apply {}", env!("CARGO_BIN_EXE_provision"), plan.display());
    let mut screen = Screen::beside(&shop.home, USUAL, &line);
    screen.ready().types("b").sees("Run this for one?").ready();
    assert!(screen.text().contains("$ npm install --global one"));
    screen.types("a").sees("Run this for two?").ready().types("a");
    screen.ends(0);
    assert_eq!(shop.calls(), ["one", "two"]);
}

#[test]
fn after_a_failure_elsewhere_the_rest_of_a_failed_call_waits_for_nobody_who_will_not_come() {
    let shop = Shop::new("");
    // The call takes until the other one has failed, and fails then.
    let before = format!("until [ -e ../failed ]; do sleep 0.02; done; sleep 0.3\n{UNKNOWN}");
    shop.sell(&before);
    let failed = shop.home.path().join("failed");
    let mut tasks = shop.tasks(&["one", "bad", "two", "late"]);
    let command =
        format!("until [ -e calls ]; do sleep 0.02; done; touch '{}'; false", failed.display());
    tasks.insert(0, json!({"id": "other", "commands": [{"command": command}]}));
    tasks[4]["depends_on"] = json!(["other"]);
    let output = shop.apply(&tasks, &[]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert_eq!(shop.calls()[1..], ["one two"]);
    assert_eq!((shop.status("one"), shop.status("bad")), ("completed".into(), "failed".into()));
}

/// A run that was killed while its call for several tasks went on.
fn killed_in_a_call(shop: &Shop, tasks: &[Value]) -> String {
    let plan = shop.home.plan(&json!(tasks));
    let mut run = shop
        .home
        .command(&["apply", plan.to_str().unwrap(), "--yes"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the call", || shop.calls().len() == 1);
    run.kill().unwrap();
    run.wait().unwrap();
    shop.home.latest()
}

#[test]
fn a_call_that_outlives_its_run_is_taken_up_once_also_one_by_one() {
    for jobs in ["1", "4"] {
        let shop = Shop::new("until [ -e ../go ]; do sleep 0.02; done");
        let mut tasks = shop.tasks(&["one", "two"]);
        // The second one leads, for more needs it.
        tasks
            .push(json!({"id": "needs", "depends_on": ["two"], "commands": [{"command": "true"}]}));
        let id = killed_in_a_call(&shop, &tasks);
        fs::write(shop.home.path().join("go"), "").unwrap();
        let output = shop.home.run(&["resume", &id, "--jobs", jobs]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert_eq!(shop.calls().len(), 1);
        let document = shop.home.latest_document();
        for task in ["one", "two"] {
            let commands = document["tasks"][task]["commands"].as_array().unwrap();
            let call = commands.iter().find(|c| c["command_index"] == 0).unwrap();
            assert_eq!(call["recovered"], true);
        }
    }
}

#[test]
fn whoever_does_not_wait_for_what_a_call_left_lets_all_of_its_tasks_go() {
    let shop = Shop::new("until [ -e ../go ]; do sleep 0.02; done");
    let id = killed_in_a_call(&shop, &shop.tasks(&["one", "two", "three"]));
    for supervisor in processes::with_in_command_line(&["__supervise", &id]) {
        processes::signal(supervisor, "KILL");
    }
    wait_until("their end", || processes::with_in_command_line(&["__supervise", &id]).is_empty());
    let mut run =
        shop.home.command(&["resume", &id]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.by_ref().any(|line| line.contains("waiting for what it left")));
    processes::signal(run.id(), "INT");
    assert_eq!(run.wait().unwrap().code(), Some(4));
    fs::write(shop.home.path().join("go"), "").unwrap();
    // What is there by then is not installed again.
    wait_until("the end of what was left", || shop.home.path().join("packages/three").exists());
    assert_eq!(shop.home.run(&["resume", &id]).code, Some(0));
    assert_eq!(shop.calls().len(), 1);
}

/// Small packages that need nothing else, and are seldom there.
const SMALL: [&str; 14] = [
    "hello",
    "sl",
    "rolldice",
    "figlet",
    "cmatrix",
    "bc",
    "dc",
    "pv",
    "xcowsay",
    "ncal",
    "lolcat",
    "fortune-mod",
    "toilet",
    "tty-clock",
];

fn apt_task(package: &str) -> Value {
    let check = format!("dpkg-query -W -f '${{db:Status-Status}}' {package} | grep -qx installed");
    json!({
        "id": package, "packages": {"manager": "apt", "names": [package]},
        "detection": {
            "check_command": check,
            "version_command": format!("dpkg-query -W -f '${{Version}}' {package}")},
        "commands": [{
            "command": format!("apt-get install -y --no-install-recommends {package}"),
            "idempotent": true, "requires_sudo": true, "locks": ["apt"]}],
    })
}

/// An overlay, and packages that can be had and are not there.
fn machine() -> Option<(Overlay, Vec<&'static str>)> {
    let machine = Overlay::with_apt()?;
    machine.said(&["rm", "-f", "/etc/apt/apt.conf.d/docker-clean", "/var/lib/man-db/auto-update"]);
    let lists = fs::read_dir(machine.path("/var/lib/apt/lists")).unwrap();
    if lists
        .filter(|f| f.as_ref().unwrap().file_name().to_string_lossy().contains("Packages"))
        .count()
        == 0
    {
        machine.said(&["apt-get", "update"]);
    }
    let can_be_had = |package: &&str| {
        !is_installed(&machine, package)
            && machine.run(&["apt-get", "install", "--simulate", "--yes", package]).code == Some(0)
    };
    let wanted: Vec<_> = SMALL.into_iter().filter(can_be_had).take(10).collect();
    assert_eq!(wanted.len(), 10, "too few packages can be had: {wanted:?}");
    Some((machine, wanted))
}

/// What apt itself says it was told to do since the machine was made.
fn installs(machine: &Overlay, before: usize) -> Vec<String> {
    let history = fs::read_to_string(machine.path("/var/log/apt/history.log")).unwrap_or_default();
    let calls = history.lines().filter_map(|line| line.strip_prefix("Commandline: "));
    calls.skip(before).filter(|call| call.contains(" install ")).map(str::to_owned).collect()
}

fn calls_before(machine: &Overlay) -> usize {
    let history = fs::read_to_string(machine.path("/var/log/apt/history.log")).unwrap_or_default();
    history.lines().filter(|line| line.starts_with("Commandline: ")).count()
}

#[test]
fn ten_packages_of_apt_are_one_install() {
    let Some((machine, wanted)) = machine() else { return };
    let tasks: Vec<_> = wanted.iter().map(|package| apt_task(package)).collect();
    machine.write("/plan.json", &json!({"format": "plan-v1", "tasks": tasks}).to_string());
    let before = calls_before(&machine);
    machine.said(&["provision", "apply", "/plan.json", "--yes"]);
    let calls = installs(&machine, before);
    assert_eq!(calls.len(), 1, "{calls:#?}");
    let document = machine.document();
    for package in wanted {
        assert!(is_installed(&machine, package), "{package}");
        let record = &document["tasks"][package];
        let version = machine.said(&["dpkg-query", "-W", "-f", "${Version}", package]);
        let known = record["result"]["version"].as_str().unwrap();
        assert!(version.contains(known), "{package}: {known} of {version}");
    }
}

#[test]
fn an_unknown_package_among_ten_of_apt_fails_alone() {
    let Some((machine, mut wanted)) = machine() else { return };
    wanted[4] = "no-such-package-at-all";
    let mut tasks: Vec<_> = wanted.iter().map(|package| apt_task(package)).collect();
    tasks
        .push(json!({"id": "needs", "depends_on": [wanted[4]], "commands": [{"command": "true"}]}));
    machine.write("/plan.json", &json!({"format": "plan-v1", "tasks": tasks}).to_string());
    let before = calls_before(&machine);
    let output = machine.run(&["provision", "apply", "/plan.json", "--yes"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    assert_eq!(installs(&machine, before).len(), 1, "the nine were one install");
    let document = machine.document();
    for package in &wanted {
        let is_bad = *package == wanted[4];
        assert_eq!(is_installed(&machine, package), !is_bad, "{package}");
        let expected = if is_bad { "failed" } else { "completed" };
        assert_eq!(document["tasks"][*package]["status"], expected);
    }
    let failure = &document["tasks"][wanted[4]]["failure_context"];
    assert_eq!(failure["error_type"], "package_not_found");
    assert_eq!(document["tasks"]["needs"]["status"], "skipped");
    // Just that one is left.
    let points = document["resume_points"].as_array().unwrap();
    assert_eq!(points.len(), 1, "{points:#?}");
    assert_eq!(points[0]["task_id"], wanted[4]);
    let starts = |machine: &Overlay| {
        machine.events().into_iter().filter(|e| e["event"] == "command_started").collect::<Vec<_>>()
    };
    let known = starts(&machine).len();
    let id = document["meta"]["id"].as_str().unwrap();
    assert_eq!(machine.run(&["provision", "resume", id, "--retry"]).code, Some(3));
    let again = starts(&machine);
    assert_eq!(again.len(), known + 1);
    assert_eq!(again[known]["task_ids"], json!([wanted[4]]));
}
