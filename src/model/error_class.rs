//! The kinds of failure that a record tells apart.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    PermissionRequired,
    Network,
    Dns,
    PackageNotFound,
    CommandNotFound,
    DiskFull,
    PackageLockHeld,
    PackageManagerBroken,
    ChecksumMismatch,
    Timeout,
    NeedsInput,
    Killed,
    VerificationFailed,
    DependencyFailed,
    Unknown,
}

impl ErrorClass {
    pub const ALL: [Self; 15] = [
        Self::PermissionRequired,
        Self::Network,
        Self::Dns,
        Self::PackageNotFound,
        Self::CommandNotFound,
        Self::DiskFull,
        Self::PackageLockHeld,
        Self::PackageManagerBroken,
        Self::ChecksumMismatch,
        Self::Timeout,
        Self::NeedsInput,
        Self::Killed,
        Self::VerificationFailed,
        Self::DependencyFailed,
        Self::Unknown,
    ];

    /// As it is written in a record.
    pub fn name(self) -> &'static str {
        match self {
            Self::PermissionRequired => "permission_required",
            Self::Network => "network",
            Self::Dns => "dns",
            Self::PackageNotFound => "package_not_found",
            Self::CommandNotFound => "command_not_found",
            Self::DiskFull => "disk_full",
            Self::PackageLockHeld => "package_lock_held",
            Self::PackageManagerBroken => "package_manager_broken",
            Self::ChecksumMismatch => "checksum_mismatch",
            Self::Timeout => "timeout",
            Self::NeedsInput => "needs_input",
            Self::Killed => "killed",
            Self::VerificationFailed => "verification_failed",
            Self::DependencyFailed => "dependency_failed",
            Self::Unknown => "unknown",
        }
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
