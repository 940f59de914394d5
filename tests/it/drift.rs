//! A machine that people change by hand, with the real apt, on an overlay of this one: what was
//! removed, upgraded and installed outside is told apart.

use serde_json::Value;

use crate::{
    harness::overlay::Overlay,
    real_apt::is_installed,
    toolbox::{ids, tool},
};

const PACKAGES: [&str; 4] = ["tree", "htop", "hyperfine", "zoxide"];
const APT: [&str; 4] = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes"];

fn apt(machine: &Overlay, words: &[&str]) {
    machine.said(&[&APT, words].concat());
}

/// This machine with none of the packages.
fn bare_machine() -> Option<Overlay> {
    let machine = Overlay::with_apt()?;
    machine.said(&["rm", "-f", "/etc/apt/apt.conf.d/docker-clean", "/var/lib/man-db/auto-update"]);
    for package in PACKAGES {
        if is_installed(&machine, package) {
            apt(&machine, &["purge", package]);
        }
        for directory in Overlay::program_directories() {
            let _ = std::fs::remove_file(machine.path(&format!("{directory}/{package}")));
        }
    }
    Some(machine)
}

fn audit(machine: &Overlay, code: i32) -> Value {
    let output = machine.run(&["provision", "--json", "audit"]);
    assert_eq!(output.code, Some(code), "{}{}", output.stdout, output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

/// Makes a newer package of an installed one, as its makers would: the same program, which says
/// another version. Gives both versions as the program says them.
fn upgrade(machine: &Overlay, package: &str) -> (String, String) {
    let version = machine.said(&["dpkg-query", "--show", "--showformat=${Version}", package]);
    let old = version.split('-').next().unwrap().to_owned();
    let new: String = old.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    let script = r#"
set -eu
cd "$HOME"
apt-get download "$1"
dpkg-deb --raw-extract "$1"_*.deb newer
LC_ALL=C sed -i "s/$2/$3/g" "newer/usr/bin/$1"
sed -i "s/^Version: .*/Version: $3-1/" newer/DEBIAN/control
dpkg-deb --build newer "./$1-newer.deb"
apt-get --yes install "./$1-newer.deb"
"#;
    machine.said(&["sh", "-c", script, "upgrade", package, &old, &new]);
    let now = machine.said(&["dpkg-query", "--show", "--showformat=${Version}", package]);
    assert_eq!(now, format!("{new}-1"), "apt has upgraded it");
    (old, new)
}

#[test]
fn what_is_done_by_hand_is_drift_until_it_is_adopted() {
    let Some(machine) = bare_machine() else { return };
    let before = audit(&machine, 0);
    assert_eq!(before["summary"]["sessions"], 0);
    assert_eq!(tool(&before, "zoxide")["installed"], false);

    let start = ["provision", "start", "--add", "tree,htop,hyperfine", "--yes", "--no-input"];
    machine.said(&start);
    let id = machine.document()["meta"]["id"].as_str().unwrap().to_owned();
    assert_eq!(ids(&audit(&machine, 0), "still_installed"), ["htop", "hyperfine", "tree"]);

    apt(&machine, &["remove", "htop"]);
    let (from, to) = upgrade(&machine, "tree");
    apt(&machine, &["install", "zoxide"]);
    let drifted = audit(&machine, 7);
    assert_eq!(ids(&drifted, "removed"), ["htop"]);
    assert_eq!(ids(&drifted, "version_changed"), ["tree"]);
    assert_eq!(ids(&drifted, "added_outside"), ["zoxide"]);
    assert_eq!(ids(&drifted, "still_installed"), ["hyperfine"]);
    let changed = &drifted["drift"]["version_changed"][0];
    assert_eq!(changed["from"], from.as_str());
    assert_eq!(changed["to"], to.as_str());
    for list in ["removed", "version_changed", "added_outside", "still_installed"] {
        assert_eq!(drifted["drift"][list][0]["session_id"], id.as_str(), "{list}");
    }
    println!("{}", machine.run(&["provision", "audit"]).stdout);

    // How it came, and that apt brought it.
    let told = machine.said(&["provision", "--json", "audit", "--explain", "tree"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["verdict"], "version_changed");
    let command = &told["sessions"][0]["commands"][0];
    assert_eq!(command["exit_code"], 0, "{told:#}");
    assert!(command["command"].as_str().unwrap().contains("apt-get install"), "{told:#}");
    println!("{}", machine.said(&["provision", "audit", "--explain", "tree"]));

    machine.said(&["provision", "audit", "--adopt", "--yes"]);
    let adopted = audit(&machine, 0);
    assert!(ids(&adopted, "still_installed").contains(&"zoxide"), "{:#}", adopted["drift"]);
    apt(&machine, &["remove", "zoxide"]);
    assert_eq!(ids(&audit(&machine, 7), "removed"), ["zoxide"]);
    // Nothing but the record was touched.
    assert_eq!(machine.said(&["dpkg", "--audit"]), "");
}
