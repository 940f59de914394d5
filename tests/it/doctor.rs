//! Machines that are not well: what is wrong is found before anything is run, named with what to
//! do, and mended where that was approved, once.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    harness::{Home, Output, overlay::Overlay, processes},
    package_locks::Holder,
};

/// A package whose configuration says that it has begun and then waits, once.
const PACKAGE: &str = r"
set -eu
mkdir -p /package/DEBIAN
cat > /package/DEBIAN/control <<END
Package: half-way
Version: 1
Architecture: all
Maintainer: Nobody <nobody@example.com>
Description: a package for tests
END
cat > /package/DEBIAN/postinst <<'END'
#!/bin/sh
[ -e /begun ] || exit 0
echo configuring > /begun
read nothing < /waits
END
chmod 755 /package/DEBIAN/postinst
dpkg-deb --build /package /package.deb >/dev/null
";

/// Installs it, and kills dpkg in the middle.
const BREAK: &str = r#"
mkfifo /begun /waits
dpkg -i /package.deb & dpkg=$!
read -r word < /begun
postinst=$(cat "/proc/$dpkg/task/$dpkg/children")
kill -KILL "$dpkg" $postinst
wait "$dpkg"
rm /begun /waits
"#;

/// What apt says while dpkg is in that state, and no more once it is mended.
const INSTALL: &str = "apt-get install -y half-way";

fn machine() -> Option<Overlay> {
    let machine = Overlay::with_apt()?;
    machine.said(&["sh", "-c", PACKAGE]);
    assert_eq!(machine.said(&["dpkg", "--audit"]), "");
    Some(machine)
}

fn broken_machine() -> Option<Overlay> {
    let machine = machine()?;
    machine.said(&["bash", "-c", &format!("{BREAK}\ntrue")]);
    assert!(machine.said(&["dpkg", "--audit"]).contains("half-way"));
    Some(machine)
}

fn plan(machine: &Overlay, commands: &[&str]) -> [&'static str; 4] {
    let tasks: Vec<_> = commands
        .iter()
        .enumerate()
        .map(|(number, command)| {
            let command = json!({"command": command, "requires_sudo": true});
            json!({"id": format!("task-{number}"), "commands": [command]})
        })
        .collect();
    machine.write("/plan.json", &json!({"format": "plan-v1", "tasks": tasks}).to_string());
    ["provision", "apply", "/plan.json", "--yes"]
}

/// The sessions, oldest first, as `sessions` lists them.
fn sessions(machine: &Overlay) -> Vec<Value> {
    let listed = machine.said(&["provision", "--json", "sessions"]);
    let mut listed: Value = serde_json::from_str(&listed).unwrap();
    let mut sessions = listed["sessions"].take().as_array().unwrap().clone();
    // Two ids of one second are in no order.
    sessions.sort_by_key(|session| session["created_at"].as_str().unwrap().to_owned());
    sessions
}

fn findings(output: &Output) -> Vec<Value> {
    let last = output.stdout.lines().last().unwrap();
    let document: Value = serde_json::from_str(last).unwrap();
    document["findings"].as_array().unwrap().clone()
}

fn finding(output: &Output, id: &str) -> Value {
    let found = findings(output).into_iter().find(|finding| finding["id"] == id);
    found.unwrap_or_else(|| panic!("{id} is not found: {}", output.stdout))
}

#[test]
fn an_interrupted_dpkg_is_found_blocks_and_is_mended_where_that_is_approved() {
    let Some(machine) = broken_machine() else { return };
    let doctor = machine.run(&["provision", "doctor"]);
    assert_eq!(doctor.code, Some(4), "{}", doctor.stdout);
    let said = "blocks dpkg_interrupted: dpkg was interrupted: half-way is half configured";
    assert!(doctor.stdout.contains(said), "{}", doctor.stdout);
    assert!(doctor.stderr.contains("hint: provision doctor --repair"), "{}", doctor.stderr);
    let found = finding(&machine.run(&["provision", "--json", "doctor"]), "dpkg_interrupted");
    assert_eq!(found["level"], "blocks");
    let digest = found["repair"]["digest"].as_str().unwrap().to_owned();

    // Approval of the plan is not approval of its repair.
    let apply = plan(&machine, &[INSTALL]);
    let paused = machine.run(&apply);
    assert_eq!(paused.code, Some(4), "{}", paused.stderr);
    assert!(paused.stderr.contains("paused: dpkg was interrupted"), "{}", paused.stderr);
    let hint = format!("--repair (repair {}: dpkg ", &digest[..12]);
    assert!(paused.stderr.contains(&hint), "{}", paused.stderr);
    assert!(machine.events().iter().all(|event| event["event"] != "command_started"));
    assert_eq!(machine.document()["lifecycle"]["paused_reason"], "system_error");

    let mended = machine.run(&["provision", "--json", "resume", "--repair"]);
    assert_eq!(mended.code, Some(0), "{}", mended.stderr);
    assert_eq!(machine.said(&["dpkg", "--audit"]), "");
    let all = sessions(&machine);
    assert_eq!(all.len(), 2, "the repair is a session of its own");
    let (main, repair) = (all[0]["id"].as_str().unwrap(), all[1]["id"].as_str().unwrap());
    let events: Vec<Value> =
        mended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends: Vec<_> = events.iter().filter(|event| event["event"] == "run_ended").collect();
    let ended: Vec<_> = ends.iter().map(|end| end["session_id"].as_str().unwrap()).collect();
    assert_eq!(ended, [repair, main], "the last word is the session's own");
    assert_eq!(events.last().unwrap()["status"], "completed");
    let created = events.iter().find(|event| event["event"] == "session_created").unwrap();
    assert_eq!(created["objective"], format!("repair for session {main}"));
    let approved = events.iter().find(|event| event["event"] == "plan_approved").unwrap();
    assert_eq!(approved["digest"], digest);
    for id in [main, repair] {
        machine.said(&["provision", "history", id, "--verify"]);
    }
    assert_eq!(machine.run(&["provision", "doctor"]).code, Some(0));
}

#[test]
fn a_new_session_mends_first_and_then_goes_on() {
    let Some(machine) = broken_machine() else { return };
    let apply = plan(&machine, &[INSTALL]);
    let run = machine.run(&[&apply[..], &["--repair"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(machine.said(&["dpkg", "--audit"]), "");
    assert!(run.stderr.contains("digest "), "what it would run is shown: {}", run.stderr);
    assert!(run.stderr.contains("$ dpkg --force-confdef --force-confold --configure -a"));
    assert!(run.stderr.trim_end().ends_with(sessions(&machine)[0]["id"].as_str().unwrap()));
}

/// A task that takes apt and a secret.
const CATALOG: &str = r#"
metadata: {category: demo}
tasks:
  half:
    name: Half
    detection: {installed_indicator: /told}
    options: [{id: pass_phrase, prompt: A pass phrase, type: secret}]
    install: {steps: [{command: 'apt-get install -y half-way && echo "${#PASS_PHRASE}" > /told'}]}
"#;

#[test]
fn a_session_from_the_catalog_goes_on_after_a_repair_with_its_secrets() {
    let Some(machine) = broken_machine() else { return };
    machine.said(&["mkdir", "/catalog"]);
    machine.write("/catalog/half.yaml", CATALOG);
    let words = ["provision", "--catalog", "/catalog", "start", "--add", "half", "--yes"];
    let secret = "correct horse battery";
    let start = |more: &[&str]| {
        let words = [&words[..], more].concat();
        Output::of(machine.command(&words).env("PROVISION_DATA_PASS_PHRASE", secret))
    };
    let paused = start(&[]);
    assert_eq!(paused.code, Some(4), "{}", paused.stderr);
    assert!(paused.stderr.contains("paused: dpkg was interrupted"), "{}", paused.stderr);
    let run = start(&["--repair"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(machine.said(&["cat", "/told"]).trim(), secret.len().to_string());
    assert!(!run.stderr.contains(secret), "{}", run.stderr);
    assert_eq!(machine.said(&["dpkg", "--audit"]), "");
}

#[test]
fn the_doctor_mends_when_asked_and_says_what_is_left() {
    let Some(machine) = broken_machine() else { return };
    let doctor = machine.run(&["provision", "doctor", "--repair"]);
    assert_eq!(doctor.code, Some(0), "{}{}", doctor.stdout, doctor.stderr);
    assert!(!doctor.stdout.contains("dpkg_interrupted"), "{}", doctor.stdout);
    assert_eq!(machine.said(&["dpkg", "--audit"]), "");
    assert_eq!(machine.document()["meta"]["objective"], "repair of this machine");
    assert_eq!(machine.document()["meta"]["status"], "completed");
}

#[test]
fn what_another_process_is_just_doing_is_not_called_interrupted() {
    let Some(machine) = broken_machine() else { return };
    let holder = Holder::of(&machine, "/var/lib/dpkg/lock-frontend");
    let doctor = machine.run(&["provision", "--json", "doctor"]);
    assert!(findings(&doctor).iter().all(|found| found["id"] != "dpkg_interrupted"));
    holder.let_go();
    finding(&machine.run(&["provision", "--json", "doctor"]), "dpkg_interrupted");
}

#[test]
fn dpkg_that_is_interrupted_in_a_run_is_named_and_mended_in_it_where_that_is_approved() {
    let Some(machine) = machine() else { return };
    let apply = plan(&machine, &[BREAK, INSTALL]);
    let failed = machine.run(&apply);
    assert_eq!(failed.code, Some(3), "{}", failed.stderr);
    let failure = &machine.document()["tasks"]["task-1"]["failure_context"];
    let advice = failure["suggested_resolution"].as_str().unwrap();
    assert!(advice.contains("dpkg was interrupted: half-way is half configured"), "{advice}");
    assert!(failed.stderr.contains("dpkg was interrupted"), "{}", failed.stderr);
    assert!(failed.stderr.contains("--repair (repair "), "{}", failed.stderr);
    assert_eq!(sessions(&machine).len(), 1);

    // From a machine that is well, with a repair that is approved.
    machine.said(&["dpkg", "--configure", "-a"]);
    machine.said(&["dpkg", "--purge", "half-way"]);
    let run = machine.run(&[&apply[..], &["--repair"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(machine.said(&["dpkg", "--audit"]), "");
    let all = sessions(&machine);
    assert_eq!(all.len(), 3);
    let statuses: Vec<_> = all.iter().map(|session| session["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["failed", "completed", "completed"]);
}

#[test]
fn a_repair_that_fails_is_not_tried_again() {
    let Some(machine) = broken_machine() else { return };
    machine.write("/var/lib/dpkg/info/half-way.postinst", "#!/bin/sh\nexit 1\n");
    let apply = plan(&machine, &[INSTALL]);
    let run = machine.run(&[&apply[..], &["--repair"]].concat());
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("the repair did not succeed"), "{}", run.stderr);
    let all = sessions(&machine);
    let statuses: Vec<_> = all.iter().map(|session| session["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["paused", "failed"]);
}

#[test]
fn what_is_still_wrong_after_its_repair_is_reported_as_that() {
    let Some(machine) = machine() else { return };
    // It has a complaint whenever it is asked, but for the third time: that is the repair's own
    // check.
    machine.write(
        "/usr/local/bin/dpkg-query",
        "#!/bin/sh\necho . >> /asked\n[ \"$(wc -l < /asked)\" = 3 ] || echo 'unpacked ok ghost'\n",
    );
    machine.said(&["chmod", "755", "/usr/local/bin/dpkg-query"]);
    let apply = plan(&machine, &["dpkg --configure -a"]);
    let run = machine.run(&[&apply[..], &["--repair"]].concat());
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    let said =
        "paused: dpkg was interrupted: ghost is unpacked and not configured, also after its repair";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert_eq!(sessions(&machine).len(), 2, "it is repaired once");
}

#[test]
fn an_interrupted_repair_leaves_the_session_where_it_was() {
    let Some(machine) = machine() else { return };
    machine.said(&["bash", "-c", &format!("{BREAK}\nmkfifo /begun /waits")]);
    let apply = plan(&machine, &[INSTALL]);
    let words = [&apply[..], &["--repair"]].concat();
    let mut run = machine.command(&words).stderr(Stdio::piped()).spawn().unwrap();
    // The repair has begun to configure the package, and waits.
    assert_eq!(fs::read_to_string(machine.path("/begun")).unwrap(), "configuring\n");
    processes::signal(machine.running_as(&words)[0], "INT");
    let mut stderr = BufReader::new(run.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("pausing as soon as the command is done") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    fs::write(machine.path("/waits"), "\n").unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(4), "{said}");
    machine.said(&["rm", "/begun", "/waits"]);
    let all = sessions(&machine);
    let statuses: Vec<_> = all.iter().map(|session| session["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["paused", "paused"], "{said}");
    let main = all[0]["id"].as_str().unwrap();
    let again = machine.run(&["provision", "resume", main, "--repair"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn an_index_that_is_missing_is_told_unless_the_plan_fetches_it() {
    let Some(machine) = machine() else { return };
    machine.said(&["sh", "-c", "rm -rf /var/lib/apt/lists/*; dpkg -i /package.deb"]);
    let missing = "note: apt knows no packages: its index is empty";
    let apply = plan(&machine, &[INSTALL]);
    let run = machine.run(&apply);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains(missing), "{}", run.stderr);
    let doctor = machine.run(&["provision", "--json", "doctor"]);
    assert_eq!(finding(&doctor, "apt_index_missing")["level"], "warns");

    let apply = plan(&machine, &["apt-get update --print-uris", INSTALL]);
    let run = machine.run(&apply);
    assert!(!run.stderr.contains(missing), "{}", run.stderr);
    let apply = plan(&machine, &["true"]);
    let run = machine.run(&apply);
    assert!(!run.stderr.contains("apt knows"), "it is no concern of this plan: {}", run.stderr);
}

#[test]
fn packages_that_apt_keeps_are_removed_to_make_room() {
    let Some(machine) = machine() else { return };
    // A file system of its own for /var, with too little room, and much of it taken by apt.
    machine.said(&[
        "sh",
        "-euc",
        "mkdir /small; mount -t tmpfs -o size=200m tmpfs /small
         mkdir -p /small/lib/apt/lists/partial /small/cache/apt/archives/partial /small/log/apt
         cp -a /var/lib/dpkg /small/lib/
         free=$(($(stat -f -c '%a * %S' /small) / 1024 / 1024))
         head -c $((free - 20))M /dev/zero > /small/cache/apt/archives/kept.deb
         mount --move /small /var",
    ]);
    let apply = plan(&machine, &["dpkg --configure -a"]);
    let paused = machine.run(&apply);
    assert_eq!(paused.code, Some(4), "{}", paused.stderr);
    assert!(paused.stderr.contains("paused: /var has only "), "{}", paused.stderr);
    assert!(paused.stderr.contains("that `apt-get clean` removes"), "{}", paused.stderr);
    let run = machine.run(&["provision", "resume", "--repair"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!machine.path("/var/cache/apt/archives/kept.deb").exists());
    // There is little room still, and that is only told.
    assert!(run.stderr.contains("note: /var has only "), "{}", run.stderr);
}

#[test]
fn a_home_without_room_for_packages_stops_the_run_until_there_is_some() {
    let Some(machine) = machine() else { return };
    machine.said(&["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", "/home-of-the-test"]);
    let packages = json!({"manager": "npm", "names": ["x"]});
    let commands = json!([{"command": "touch /done"}]);
    let tasks = json!([{"id": "x", "packages": packages, "commands": commands}]);
    machine.write("/plan.json", &json!({"format": "plan-v1", "tasks": tasks}).to_string());
    let paused = machine.run(&["provision", "apply", "/plan.json", "--yes", "--repair"]);
    assert_eq!(paused.code, Some(4), "{}", paused.stderr);
    assert!(paused.stderr.contains("paused: /home-of-the-test has only "), "{}", paused.stderr);
    assert!(!paused.stderr.contains("--repair"), "there is none: {}", paused.stderr);
    assert!(!machine.path("/done").exists());
    machine.said(&["mount", "-o", "remount,size=100m", "/home-of-the-test"]);
    let run = machine.run(&["provision", "resume"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn without_sudo_others_than_root_are_told_so() {
    let Some(machine) = machine() else { return };
    machine.said(&["rm", "-f", "/usr/bin/sudo", "/usr/local/bin/sudo", "/bin/sudo"]);
    let as_nobody = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--"];
    let doctor = ["provision", "--json", "--home", "/tmp/nobodys", "doctor"];
    let output = machine.run(&[&as_nobody[..], &doctor[..]].concat());
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_eq!(finding(&output, "sudo_missing")["level"], "blocks");
    assert!(!machine.path("/tmp/nobodys").exists(), "looking leaves nothing behind");
    let as_root = machine.run(&doctor);
    assert!(findings(&as_root).iter().all(|found| found["id"] != "sudo_missing"));
}

#[test]
fn a_store_that_cannot_be_used_is_a_finding() {
    let home = Home::new();
    fs::write(home.path().join("file"), "").unwrap();
    let place = home.path().join("file");
    let output = home.run(&["--home", place.to_str().unwrap(), "--json", "doctor"]);
    assert_eq!(output.code, Some(4), "{}", output.stderr);
    assert_eq!(finding(&output, "store_unusable")["level"], "blocks");
}
