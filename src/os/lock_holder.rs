//! Who holds a lock on a file that is not ours. Nothing is locked here, not even for a moment: a
//! try would be in the way of whoever wants the lock.

use std::path::Path;

use super::Process;

/// Someone who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// `None` where the process cannot be seen from here, as one outside of our container.
    pub pid: Option<u32>,
    pub name: Option<String>,
}

impl LockHolder {
    /// The process of this number; `None` if there is none.
    pub fn of(pid: u32) -> Option<Self> {
        let process = super::process::read(pid)?;
        Some(process.into())
    }
}

impl From<Process> for LockHolder {
    fn from(process: Process) -> Self {
        Self { pid: Some(process.pid), name: Some(process.name) }
    }
}

/// Who holds a lock on the file, or on a part of it. `None` if nobody does, or if there is no such
/// file. A file that we may not open is looked up in the system's list of locks, on Linux.
pub fn lock_holder(path: &Path) -> Option<LockHolder> {
    // Locks of another kind than the first are only in the list.
    let holder = blocking(path).or_else(|| listed(path))?;
    Some(holder.pid.and_then(LockHolder::of).unwrap_or(holder))
}

/// The one whose lock would keep us from ours, as the file itself tells.
fn blocking(path: &Path) -> Option<LockHolder> {
    use rustix::process::{Flock, FlockType, fcntl_getlk};
    let file = std::fs::File::open(path).ok()?;
    let lock = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)).ok()??;
    let pid = lock.pid.and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok());
    Some(LockHolder { pid, name: None })
}

/// The same from the list of all locks.
#[cfg(target_os = "linux")]
fn listed(path: &Path) -> Option<LockHolder> {
    use std::os::unix::fs::MetadataExt;
    let path = path.canonicalize().ok()?;
    let metadata = path.metadata().ok()?;
    let device = |number| (rustix::fs::major(number), rustix::fs::minor(number));
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    // An overlay names its files by another device than it is mounted as, and the list has the
    // latter.
    let devices: Vec<_> =
        mounted_device(&mounts, &path).into_iter().chain([device(metadata.dev())]).collect();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().filter_map(held).find_map(|(pid, device, inode)| {
        let is_it = inode == metadata.ino() && devices.contains(&device);
        (is_it && !is_ours(pid)).then_some(LockHolder { pid, name: None })
    })
}

/// Whether a process is one of this program's. Where two file systems number their files alike, our
/// own locks look like those of others.
#[cfg(target_os = "linux")]
fn is_ours(pid: Option<u32>) -> bool {
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    let theirs = pid.and_then(|pid| program(&pid.to_string()));
    theirs.is_some() && theirs == program("self")
}

#[cfg(not(target_os = "linux"))]
fn listed(_: &Path) -> Option<LockHolder> {
    None
}

#[cfg(target_os = "linux")]
type Device = (u32, u32);

/// Of `1: POSIX  ADVISORY  WRITE 77 08:01:382079 0 EOF` the process, the device and the file. Who
/// only waits for a lock (`1: -> …`) holds none.
#[cfg(target_os = "linux")]
fn held(line: &str) -> Option<(Option<u32>, Device, u64)> {
    let words: Vec<_> = line.split_ascii_whitespace().collect();
    let [_, kind, _, _, pid, file, ..] = words.as_slice() else { return None };
    if *kind == "->" {
        return None;
    }
    let mut parts = file.split(':');
    let mut hexadecimal = || u32::from_str_radix(parts.next()?, 16).ok();
    let device = (hexadecimal()?, hexadecimal()?);
    Some((pid.parse().ok().filter(|pid| *pid > 0), device, parts.next()?.parse().ok()?))
}

/// The device of the mount that a path is on, by `mountinfo`.
#[cfg(target_os = "linux")]
fn mounted_device(mounts: &str, path: &Path) -> Option<Device> {
    let mount = |line: &str| {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let [_, _, device, _, point, ..] = words.as_slice() else { return None };
        let (major, minor) = device.split_once(':')?;
        let depth = path.starts_with(point).then(|| Path::new(point).components().count())?;
        Some((depth, (major.parse().ok()?, minor.parse().ok()?)))
    };
    // Of several at one place the last hides the others.
    mounts.lines().filter_map(mount).max_by_key(|(depth, _)| *depth).map(|(_, device)| device)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;

    use super::{held, mounted_device};

    #[test]
    fn the_list_of_locks_names_process_device_and_file() {
        let held_by_7 = Some((Some(7), (0, 0x44), 382_079));
        assert_eq!(held("4: POSIX  ADVISORY  WRITE 7 00:44:382079 0 EOF"), held_by_7);
        assert_eq!(
            held("2: OFDLCK ADVISORY  WRITE -1 08:01:12 0 EOF"),
            Some((None, (8, 1), 12)),
            "such a lock is a file's, not a process's"
        );
        assert_eq!(held("2: -> POSIX  ADVISORY  WRITE 9 00:44:382079 0 EOF"), None);
        assert_eq!(held("nonsense"), None);
    }

    #[test]
    fn the_nearest_mount_is_the_one_a_file_is_on() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/a rw\n\
                      2 1 0:50 / /var rw - tmpfs tmpfs rw\n\
                      3 2 0:68 / /var/lib rw - overlay overlay rw\n\
                      4 1 0:70 / /variant rw - tmpfs tmpfs rw\n";
        for (path, device) in
            [("/var/lib/dpkg/lock", (0, 68)), ("/var/cache", (0, 50)), ("/etc", (8, 1))]
        {
            assert_eq!(mounted_device(mounts, Path::new(path)), Some(device), "{path}");
        }
    }
}
