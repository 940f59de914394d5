//! The catalog that the program carries.

macro_rules! embed {
    ($path:literal) => {
        ($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path)))
    };
}

/// Every file of `tasks/` and `profiles/`, by its path from the top of the project.
pub const FILES: &[(&str, &str)] = &[
    embed!("tasks/ai-tools.yaml"),
    embed!("tasks/api-tools.yaml"),
    embed!("tasks/cli-tools.yaml"),
    embed!("tasks/cloud.yaml"),
    embed!("tasks/containers.yaml"),
    embed!("tasks/data-science.yaml"),
    embed!("tasks/databases.yaml"),
    embed!("tasks/editors.yaml"),
    embed!("tasks/fonts.yaml"),
    embed!("tasks/languages.yaml"),
    embed!("tasks/mobile.yaml"),
    embed!("tasks/package-managers.yaml"),
    embed!("tasks/rust-tools.yaml"),
    embed!("tasks/security.yaml"),
    embed!("tasks/shells.yaml"),
    embed!("tasks/system-settings.yaml"),
    embed!("tasks/version-control.yaml"),
    embed!("profiles/data-science.yaml"),
    embed!("profiles/devops.yaml"),
    embed!("profiles/essentials.yaml"),
    embed!("profiles/fullstack-web.yaml"),
    embed!("profiles/mobile-dev.yaml"),
    embed!("profiles/rust-systems.yaml"),
];
