//! What it takes to say what is on a machine: two hundred tools, each looked for and asked for its
//! version.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    program::{home, path_with, provision, succeeds, tool},
    table::{row, time as shown},
    turns::{Rival, against, time},
};

const COUNT: usize = 200;
const ROUNDS: usize = 9;

pub fn rows(place: &Path) {
    let tools = home(place, "tools-to-audit");
    let home = home(place, "audit");
    let catalog = place.join("catalog-to-audit");
    fs::create_dir_all(catalog.join("tasks")).unwrap();
    let mut tasks = "metadata: {category: bench}\ntasks:\n".to_owned();
    for number in 0..COUNT {
        let name = format!("bench-{number}");
        tool(&tools, &name, &format!("echo {name} 1.{number}\n"));
        let _ = write!(
            tasks,
            "  {name}:\n    name: {name}\n    description: Number {number}\n    \
             detection: {{check_command: command -v {name}, version_command: {name} --version}}\n    \
             install: {{steps: [{{command: 'false', description: Nobody gets here}}]}}\n"
        );
    }
    fs::write(catalog.join("tasks/bench.yaml"), tasks).unwrap();
    let path = path_with(&tools);

    let mut audit = provision(&home);
    audit.arg("--catalog").arg(&catalog).args(["audit", "--category", "bench"]);
    audit.env("PATH", &path);
    let line = format!(
        "for tool in $(seq -f 'bench-%g' 0 {}); do command -v $tool && $tool --version; done",
        COUNT - 1
    );
    let mut shell = Command::new("bash");
    shell.args(["--noprofile", "--norc", "-c", &line]).env("PATH", &path);
    shell.stdin(Stdio::null()).stdout(Stdio::null());
    let mut ours = || time(|| succeeds(&mut audit));
    let shell = Rival {
        name: "a shell loop that does the same",
        why_not: None,
        way: &mut || time(|| succeeds(&mut shell)),
    };
    let (measured, told) = against(ROUNDS, &mut ours, vec![shell]);
    row("audit of 200 tools with their versions", &shown(measured), &told, "0.4 s");
}
