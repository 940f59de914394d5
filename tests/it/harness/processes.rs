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
    children_of(parent).into_iter().filter(|pid| state(*pid) == Some('Z')).count()
}

pub fn children_of(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| stat(*pid).is_some_and(|(_, of)| of == parent);
    all().filter(is_child).collect()
}

/// The clock ticks that a process, or a thread `PID/task/TID`, has computed for; 0 if it is gone.
pub fn ticks(process: &str) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    // User time and system time.
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// The bytes that a process has written so far; 0 if it is gone.
pub fn bytes_written(pid: u32) -> u64 {
    let io = String::from_utf8(read(pid, "io")).unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar:"));
    line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}

/// The letter for what a process is about, `T` if it was stopped; `None` if it is gone.
pub fn state(pid: u32) -> Option<char> {
    stat(pid).map(|(state, _)| state)
}

/// The command line, word by word; empty if the process has ended.
pub fn command_line(pid: u32) -> Vec<String> {
    let line = String::from_utf8_lossy(&read(pid, "cmdline")).into_owned();
    line.split_terminator('\0').map(str::to_owned).collect()
}

/// The number that a process has where it lives.
pub fn number_inside(pid: u32) -> u32 {
    let status = String::from_utf8_lossy(&read(pid, "status")).into_owned();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap();
    numbers.split_whitespace().next_back().unwrap().parse().unwrap()
}

/// Every process in the same namespace of processes as this one.
pub fn in_namespace_of(pid: u32) -> Vec<u32> {
    let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let Some(wanted) = namespace(pid) else { return Vec::new() };
    all().filter(|pid| namespace(*pid).as_ref() == Some(&wanted)).collect()
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

/// What a process is about, and whose child it is.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = String::from_utf8_lossy(&read(pid, "stat")).into_owned();
    // The name before it may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn read(pid: u32, name: &str) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
