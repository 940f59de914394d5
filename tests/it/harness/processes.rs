//! Looking at processes, and signals to them.

use std::{
    fs,
    process::{Command, Stdio},
};

/// Every process with `text` in its environment.
pub fn with_in_environment(text: &str) -> Vec<u32> {
    all().filter(|pid| contains(&read(*pid, "environ"), text)).collect()
}

/// Every process whose command line holds all of `words`.
pub fn with_in_command_line(words: &[&str]) -> Vec<u32> {
    let has_all = |pid: &u32| {
        let line = read(*pid, "cmdline");
        words.iter().all(|word| contains(&line, word))
    };
    all().filter(has_all).collect()
}

/// The most memory a process has had so far, in KiB; 0 if it is gone.
pub fn peak_memory(pid: u32) -> u64 {
    let status = String::from_utf8(read(pid, "status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Children of a process that have ended and that it has not collected.
pub fn zombies_of(parent: u32) -> usize {
    let is_zombie = |pid: &u32| {
        let stat = String::from_utf8_lossy(&read(*pid, "stat")).into_owned();
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        let mut fields = fields.split_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(&parent.to_string())
    };
    all().filter(is_zombie).count()
}

pub fn signal(pid: u32, signal: &str) {
    let _ = Command::new("kill")
        .args([&format!("-{signal}"), &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn read(pid: u32, name: &str) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
