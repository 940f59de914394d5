//! Which boot of the machine this is.

/// Different after every start of the machine, the same for all that runs in between.
#[cfg(target_os = "linux")]
pub fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| started_at(), |id| id.trim().to_owned())
}

#[cfg(not(target_os = "linux"))]
pub fn boot_id() -> String {
    started_at()
}

/// To the second: two boots are further apart than that.
fn started_at() -> String {
    format!("started-{}", sysinfo::System::boot_time().unwrap_or_default())
}
