//! Being the one that orphans of our own tree come to.

/// From now on descendants whose parent ended are our children. Whether the system can do that.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> bool {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok()
}

#[cfg(not(target_os = "linux"))]
pub fn adopt_orphans() -> bool {
    false
}
