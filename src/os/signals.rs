//! How this process was told to take signals when it began.

/// Whether `signal` was ignored when the process began, as `nohup` and the background of a script
/// arrange it: whoever asked for that is not to be overruled. `false` where nobody can say.
#[cfg(target_os = "linux")]
pub fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

#[cfg(not(target_os = "linux"))]
pub fn is_ignored(_: i32) -> bool {
    false
}
