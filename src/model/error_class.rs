//! The kinds of failure that a record tells apart.

use serde::{Deserialize, Serialize};

use super::named;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ErrorClass {
        PermissionRequired = "permission_required",
        Network = "network",
        Dns = "dns",
        PackageNotFound = "package_not_found",
        CommandNotFound = "command_not_found",
        DiskFull = "disk_full",
        PackageLockHeld = "package_lock_held",
        PackageManagerBroken = "package_manager_broken",
        ChecksumMismatch = "checksum_mismatch",
        Timeout = "timeout",
        NeedsInput = "needs_input",
        Killed = "killed",
        VerificationFailed = "verification_failed",
        DependencyFailed = "dependency_failed",
        Unknown = "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorClass;

    #[test]
    fn every_class_is_written_by_its_name() {
        for class in ErrorClass::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
    }
}
