//! Root's rights for someone who is not root: the password is asked for once, or not at all.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use serde_json::{Value, json};

use crate::harness::{
    overlay::Overlay,
    screen::{CTRL_C, ENTER, Screen, USUAL},
    skip,
    terminal::Terminal,
    wait_until,
};

const PASSWORD: &str = "correct horse 7";
const HOME: &str = "/home/ada";

/// A machine with Ada, who may do everything if sudo believes that it is her.
struct Machine {
    overlay: Overlay,
}

impl Machine {
    fn new(sudoers: &str) -> Option<Self> {
        let overlay = Overlay::with_apt()?;
        if overlay.run(&["sh", "-c", "command -v sudo && command -v script"]).code != Some(0) {
            skip("sudo or script is not installed");
            return None;
        }
        overlay.said(&["useradd", "--create-home", "--shell", "/bin/bash", "ada"]);
        overlay.said(&["sh", "-c", &format!("echo 'ada:{PASSWORD}' | chpasswd")]);
        let rule = overlay.path("/etc/sudoers.d/ada");
        fs::write(&rule, format!("{sudoers}\n")).unwrap();
        fs::set_permissions(rule, fs::Permissions::from_mode(0o440)).unwrap();
        Some(Self { overlay })
    }

    fn with_password() -> Option<Self> {
        Self::new("ada ALL=(ALL:ALL) ALL")
    }

    /// A command that Ada gives; words may follow.
    fn as_ada(&self) -> Command {
        let mut command = self.overlay.command(&[
            "setpriv",
            "--reuid=ada",
            "--regid=ada",
            "--init-groups",
            "env",
            "--chdir",
            HOME,
            &format!("HOME={HOME}"),
            "USER=ada",
            "LOGNAME=ada",
        ]);
        command.env_remove("AGENTIC_PROVISION_HOME");
        command
    }

    fn plan(&self, tasks: &Value) {
        let plan = json!({"format": "plan-v1", "tasks": tasks}).to_string();
        fs::write(self.overlay.path("/home/ada/plan.json"), plan).unwrap();
    }

    fn on_terminal(&self, line: &str) -> Terminal {
        Terminal::start(self.as_ada(), line)
    }

    /// Ada's run where there is no terminal.
    fn unattended(&self, words: &[&str]) -> crate::harness::Output {
        crate::harness::Output::of(self.as_ada().args(words))
    }

    fn document(&self) -> Value {
        let mut command = self.as_ada();
        command.args(["provision", "--json", "sessions"]);
        let sessions = crate::harness::Output::of(&mut command);
        let sessions: Value = serde_json::from_str(&sessions.stdout).unwrap();
        let path = sessions["sessions"][0]["path"].as_str().unwrap();
        serde_json::from_slice(&fs::read(self.overlay.path(path)).unwrap()).unwrap()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.overlay.path(path)).unwrap_or_default()
    }
}

/// Steps that become root in every way there is.
fn many_ways() -> Value {
    json!([
        {"id": "step", "commands": [
            {"command": "id -u > /etc/by-step; echo \"$DEBIAN_FRONTEND $EDITION $HOME\" >> /etc/by-step",
             "requires_sudo": true, "env": {"EDITION": "two words"}},
        ]},
        {"id": "pipe", "commands": [
            {"command": "echo piped | sudo tee /etc/by-pipe | sed 's/^/seen: /'"},
        ]},
        {"id": "script", "commands": [
            {"command": "printf 'sudo -E sh -c \"id -u; echo $DEBIAN_FRONTEND\" > ~/by-script\\n' | bash"},
        ]},
        {"id": "again", "depends_on": ["step"], "commands": [
            {"command": "sudo sudo id -un > ~/again; sudo -u nobody id -un >> ~/again", },
            {"command": "id -un > /etc/again", "requires_sudo": true},
        ]},
    ])
}

fn assert_done(machine: &Machine) {
    let document = machine.document();
    assert_eq!(document["meta"]["status"], "completed");
    assert_eq!(machine.read("/etc/by-step"), "0\nnoninteractive two words /root\n");
    assert_eq!(machine.read("/etc/by-pipe"), "piped\n");
    assert_eq!(machine.read("/home/ada/by-script"), "0\nnoninteractive\n");
    assert_eq!(machine.read("/home/ada/again"), "root\nnobody\n");
    assert_eq!(machine.read("/etc/again"), "root\n");
}

#[test]
fn a_password_is_asked_for_once() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&many_ways());
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    terminal
        .wait_for("root's rights are needed for step, pipe")
        .wait_for("(not shown) > ")
        .type_in(&format!("{PASSWORD}\n"));
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("not shown").count(), 1, "{screen}");
    assert!(!screen.contains(PASSWORD), "{screen}");
    assert_done(&machine);
    // It is in no file, and in no process that is left.
    let found = machine.overlay.run(&["grep", "--recursive", "--text", PASSWORD, HOME]);
    assert_eq!(found.code, Some(1), "{}", found.stdout);
}

#[test]
fn nobody_but_sudo_is_told_the_password() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&json!([
        {"id": "step", "commands": [{"command": "true", "requires_sudo": true}]},
        {"id": "thief", "commands": [{"command":
            "\"$SUDO_ASKPASS\" 'provision: the password for sudo' > ~/stolen; test ! -s ~/stolen"}]},
    ]));
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    terminal.wait_for("(not shown) > ").type_in(&format!("{PASSWORD}\n"));
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("not shown").count(), 1, "{screen}");
}

#[test]
fn three_wrong_passwords_pause() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&many_ways());
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    for _ in 0..3 {
        terminal.wait_for("(not shown) > ").type_in("wrong\n");
    }
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(4), "{screen}");
    assert!(screen.contains("try 3 of 3"), "{screen}");
    let document = machine.document();
    assert_eq!(document["meta"]["status"], "paused");
    assert_eq!(document["tasks"]["step"]["status"], "pending");
    let context = document["lifecycle"]["paused_context"].as_str().unwrap();
    assert!(context.contains("sudo did not accept the password"), "{context}");
    assert_eq!(machine.read("/etc/by-step"), "");
    // And with the right one it goes on.
    let mut terminal = machine.on_terminal("exec provision resume");
    terminal.wait_for("(not shown) > ").type_in("wrong\n");
    terminal.wait_for("try 2 of 3").wait_for("(not shown) > ").type_in(&format!("{PASSWORD}\n"));
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_done(&machine);
}

#[test]
fn ctrl_c_at_the_password_pauses_and_typing_is_seen_again() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&many_ways());
    let line = "trap : INT; provision apply plan.json --yes; echo \"code $?\"; stty -a";
    let mut terminal = machine.on_terminal(line);
    terminal.wait_for("(not shown) > ").type_in("\u{3}");
    terminal.wait_for("code 4");
    let (screen, _) = terminal.end();
    assert!(screen.contains(" echo "), "{screen}");
    assert_eq!(machine.document()["meta"]["status"], "paused");
}

#[test]
fn without_anyone_to_ask_it_fails_at_once() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&many_ways());
    let output = machine.unattended(&["provision", "apply", "plan.json", "--yes"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let document = machine.document();
    let context = &document["tasks"]["step"]["failure_context"];
    assert_eq!(context["error_type"], "permission_required", "{document:#}");
    // On a terminal, too, if nobody is to be asked.
    let terminal = machine.on_terminal("exec provision apply plan.json --yes --no-input");
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(3), "{screen}");
    assert!(!screen.contains("not shown"), "{screen}");
}

#[test]
fn without_a_password_nobody_is_asked() {
    let Some(machine) = Machine::new("ada ALL=(ALL:ALL) NOPASSWD: ALL") else { return };
    machine.plan(&many_ways());
    let (screen, code) = machine.on_terminal("exec provision apply plan.json --yes").end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("not shown"), "{screen}");
    assert_done(&machine);
    let output = machine.unattended(&["provision", "apply", "plan.json", "--yes"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn a_password_that_nothing_needs_is_not_asked_for() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&json!([
        {"id": "there", "detection": {"check_command": "true"},
         "found": {}, "commands": [{"command": "true", "requires_sudo": true}]},
        {"id": "plain", "commands": [{"command": "echo done > ~/plain"}]},
    ]));
    let (screen, code) = machine.on_terminal("exec provision apply plan.json --yes").end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("not shown"), "{screen}");
}

#[test]
fn a_script_that_hides_its_sudo_asks_when_it_gets_there() {
    let Some(machine) = Machine::with_password() else { return };
    fs::write(machine.overlay.path("/home/ada/install.sh"), "sudo id -un > ~/late\n").unwrap();
    machine.plan(&json!([{"id": "late", "commands": [
        {"command": "echo before; bash ~/install.sh; bash ~/install.sh; cat ~/late"}]}]));
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    terminal.wait_for("(not shown) > ").type_in(&format!("{PASSWORD}\n"));
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("not shown").count(), 1, "{screen}");
    assert_eq!(machine.read("/home/ada/late"), "root\n");
}

#[test]
fn what_runs_as_root_can_be_ended() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&json!([{"id": "long", "commands": [
        {"command": "trap 'echo asked to end; exit 9' TERM; sleep 1000 & wait", "requires_sudo": true}]}]));
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    terminal.wait_for("(not shown) > ").type_in(&format!("{PASSWORD}\n"));
    wait_until("the command runs", || !machine.overlay.running_as(&["sleep", "1000"]).is_empty());
    terminal.type_in("\u{3}").wait_for("pausing").type_in("\u{3}").wait_for("asking the command");
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(4), "{screen}");
    assert!(screen.contains("asked to end"), "{screen}");
    wait_until("nothing is left", || machine.overlay.running().is_empty());
}

#[test]
fn what_runs_as_root_and_does_not_listen_is_killed_in_the_end() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&json!([{"id": "long", "commands": [
        {"command": "trap '' TERM; sleep 1000; sleep 1001", "requires_sudo": true}]}]));
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    terminal.wait_for("(not shown) > ").type_in(&format!("{PASSWORD}\n"));
    wait_until("the command runs", || !machine.overlay.running_as(&["sleep", "1000"]).is_empty());
    terminal.type_in("\u{3}").wait_for("pausing").type_in("\u{3}").wait_for("asking the command");
    terminal.type_in("\u{3}").wait_for("killing the command");
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(4), "{screen}");
    wait_until("nothing is left", || machine.overlay.running().is_empty());
}

#[test]
fn whoever_may_not_use_sudo_is_told_so_at_once() {
    let Some(machine) = Machine::new("# nothing for anyone") else { return };
    machine.plan(&many_ways());
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    terminal.wait_for("(not shown) > ").type_in(&format!("{PASSWORD}\n"));
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(4), "{screen}");
    assert!(screen.contains("paused: this user may not use sudo"), "{screen}");
}

#[test]
fn on_a_screen_the_password_is_asked_for_above_the_bars_and_can_be_declined() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&many_ways());
    let start = |line: &str| {
        let mut command = machine.as_ada();
        command.args(["env", "TERM=xterm-256color", "LANG=C.UTF-8"]);
        Screen::of(command, USUAL, line)
    };
    let mut screen = start("provision apply plan.json");
    screen
        .sees("Should this run?")
        .ready()
        .types("a")
        .sees("root's rights are needed for step, pipe");
    screen.sees("not shown while you type").types(CTRL_C);
    screen.ends(4);
    assert_eq!(machine.document()["meta"]["status"], "paused");
    assert_eq!(machine.read("/etc/by-step"), "");

    let mut screen = start("provision resume");
    screen.sees("not shown while you type");
    screen.types(&format!("{PASSWORD}{ENTER}")).sees("Done: custom");
    let text = screen.ends(0);
    assert!(!text.contains(PASSWORD), "{text}");
    assert!(text.contains("given (not shown)"), "{text}");
    assert_done(&machine);
}

#[test]
fn ctrl_z_does_not_uncover_what_is_typed() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&many_ways());
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    terminal.wait_for("(not shown) > ").type_in("\u{1a}");
    // It is a key like any other there.
    terminal.type_in("\n").wait_for("try 2 of 3").wait_for("(not shown) > ");
    terminal.type_in(&format!("{PASSWORD}\n"));
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains(PASSWORD), "{screen}");
}

#[test]
fn without_a_way_to_root_nothing_runs_as_somebody_else() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&json!([{"id": "step", "commands": [
        {"command": "id -u > ~/who", "requires_sudo": true}]}]));
    // A socket has no place in a home with such a name, nor anywhere else.
    let home = format!("{HOME}/{}", "long/".repeat(20));
    let line = format!("TMPDIR=/nowhere exec provision --home {home} apply plan.json --yes");
    machine.overlay.said(&["mkdir", "-p", &home]);
    machine.overlay.said(&["chown", "-R", "ada:", &format!("{HOME}/long")]);
    machine.overlay.said(&["chmod", "-R", "700", &format!("{HOME}/long")]);
    let (screen, code) = machine.on_terminal(&line).end();
    assert_eq!(code, Some(4), "{screen}");
    assert!(screen.contains("cannot be set up"), "{screen}");
    assert_eq!(machine.read("/home/ada/who"), "");
}

#[test]
fn sudo_by_its_path_is_answered_too_and_what_takes_no_password_just_works() {
    let Some(machine) = Machine::with_password() else { return };
    machine.plan(&json!([{"id": "step", "commands": [
        {"command": "set -e; sudo -k; sudo -K; sudo -V >/dev/null; sudo -v; \
                     /usr/bin/sudo -A id -un > ~/who; /usr/bin/sudo -A id -un >> ~/who"}]}]));
    let mut terminal = machine.on_terminal("exec provision apply plan.json --yes");
    terminal.wait_for("(not shown) > ").type_in(&format!("{PASSWORD}\n"));
    let (screen, code) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("not shown").count(), 1, "{screen}");
    assert_eq!(machine.read("/home/ada/who"), "root\nroot\n");
    let plan = json!([{"id": "step", "commands": [{"command": "sudo -k && sudo -K"}]}]);
    machine.plan(&plan);
    let output = machine.unattended(&["provision", "apply", "plan.json", "--yes"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

#[test]
fn root_needs_no_sudo_to_be_installed() {
    let Some(overlay) = Overlay::with_apt() else { return };
    let _ = fs::remove_file(overlay.path("/usr/bin/sudo"));
    let plan = json!({"format": "plan-v1", "tasks": [
        {"id": "step", "commands": [{"command": "id -u > /etc/by-step", "requires_sudo": true}]},
        {"id": "pipe", "commands": [
            {"command": "set -e; echo piped | sudo tee /etc/by-pipe; sudo -v; sudo -E X=1 sh -c 'echo $X $DEBIAN_FRONTEND' >> /etc/by-pipe; sudo -u nobody id -un >> /etc/by-pipe"}]},
    ]});
    fs::write(overlay.path("/plan.json"), plan.to_string()).unwrap();
    let output = overlay.run(&["provision", "apply", "/plan.json", "--yes"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert_eq!(fs::read_to_string(overlay.path("/etc/by-step")).unwrap(), "0\n");
    let piped = fs::read_to_string(overlay.path("/etc/by-pipe")).unwrap();
    assert_eq!(piped, "piped\n1 noninteractive\nnobody\n");
}

#[test]
fn whoever_cannot_become_root_is_told_before_anything_runs() {
    let Some(machine) = Machine::with_password() else { return };
    fs::remove_file(machine.overlay.path("/usr/bin/sudo")).unwrap();
    machine.plan(&many_ways());
    let output = machine.unattended(&["provision", "apply", "plan.json", "--yes"]);
    assert_eq!(output.code, Some(8), "{}", output.stderr);
    assert!(output.stderr.contains("there is no sudo"), "{}", output.stderr);
}
