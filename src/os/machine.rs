//! Facts about the machine we run on.

use sysinfo::{CpuRefreshKind, RefreshKind, System};

/// As the system tells them; whatever it does not tell is empty or absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    pub hostname: String,
    pub os_version: String,
    pub arch: &'static str,
    pub chip: String,
    /// The machine's own identifier, as it is: hash it before it is written anywhere.
    pub machine_id: Option<String>,
}

pub fn machine_facts() -> MachineFacts {
    let wanted = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
    let system = System::new_with_specifics(wanted).ok();
    let cpu = system.as_ref().and_then(|system| system.cpus().first());
    let chip = cpu.map(|cpu| cpu.brand().trim().to_owned());
    MachineFacts {
        hostname: System::host_name().unwrap_or_default(),
        os_version: os_version(),
        arch: std::env::consts::ARCH,
        chip: chip.unwrap_or_default(),
        machine_id: machine_id(),
    }
}

/// "15.2" says enough where there is one system of that kind; on Linux the distribution matters.
fn os_version() -> String {
    let short = System::os_version();
    let version =
        if cfg!(target_os = "linux") { System::long_os_version().or(short) } else { short };
    version.unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn machine_id() -> Option<String> {
    let places = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
    let text = places.iter().find_map(|place| std::fs::read_to_string(place).ok())?;
    let id = text.trim();
    (!id.is_empty() && id != "uninitialized").then(|| id.to_owned())
}

/// The hardware's identifier, kept by the system across reinstalls.
#[cfg(not(target_os = "linux"))]
fn machine_id() -> Option<String> {
    sysinfo::Product::uuid().ok().filter(|id| !id.is_empty())
}
