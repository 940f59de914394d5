//! What keeps a machine from being set up, judged by what was seen of it: in words, with what to do,
//! and where that is a matter of commands, with a task that does it. What is seen is the engine's
//! part.

use std::collections::BTreeMap;

use super::{count, repair};
use crate::model::{ErrorClass, PlanTask, named};

pub use super::{
    machine_facts::{AptFacts, Facts, Index, Needs, Room, Use},
    repair::{HALF_DONE, repair_plan},
};

const MIB: u64 = 1024 * 1024;
/// How old an index may be before packages that it names are likely gone.
const OLDEST_INDEX_DAYS: u64 = 30;
/// How many packages are named.
const MOST_NAMED: usize = 5;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Level {
        /// Prevents all work until it is repaired.
        Blocks = "blocks",
        Warns = "warns",
    }
}

/// Something that is wrong with the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// The same in every version.
    pub id: &'static str,
    pub level: Level,
    /// What is wrong, and what shows it.
    pub what: String,
    /// What to do.
    pub advice: String,
    /// The task that mends it, where commands can. It needs an approval of its own.
    pub repair: Option<PlanTask>,
}

/// Everything that is wrong, what blocks first.
pub fn judge(needs: &Needs, facts: &Facts) -> Vec<Trouble> {
    let mut found = no_space(facts);
    if let Some(apt) = &facts.apt {
        found.extend(dpkg_interrupted(apt));
        found.extend(index(apt).filter(|_| !needs.fresh_index));
    }
    found.extend(no_sudo(needs, facts));
    if !facts.is_root && !facts.has_sudo {
        // Every repair takes the rights of root.
        for trouble in &mut found {
            trouble.repair = None;
        }
    }
    // What was said first stays first among equals: space before what needs it.
    found.sort_by_key(|trouble| trouble.level);
    found
}

/// Whether a failure of this class is what the trouble would bring about.
pub fn explains(trouble: &Trouble, class: ErrorClass) -> bool {
    // A failure that nobody could tell the kind of may be any.
    let is_certain = trouble.level == Level::Blocks;
    match trouble.id {
        "dpkg_interrupted" => {
            matches!(class, ErrorClass::PackageManagerBroken | ErrorClass::Unknown)
        }
        "apt_index_missing" => matches!(class, ErrorClass::PackageNotFound | ErrorClass::Unknown),
        "apt_index_stale" => matches!(class, ErrorClass::PackageNotFound | ErrorClass::Network),
        "no_space" => {
            class == ErrorClass::DiskFull
                || is_certain
                    && matches!(class, ErrorClass::PackageManagerBroken | ErrorClass::Unknown)
        }
        "sudo_missing" => {
            matches!(class, ErrorClass::PermissionRequired | ErrorClass::CommandNotFound)
        }
        _ => false,
    }
}

fn dpkg_interrupted(apt: &AptFacts) -> Option<Trouble> {
    if apt.in_use {
        return None;
    }
    let lines = apt.half_done.lines();
    let mut by_state = BTreeMap::<&str, Vec<&str>>::new();
    for line in lines {
        let mut words = line.split_whitespace();
        if let (Some(state), Some(_), Some(package)) = (words.next(), words.next(), words.next()) {
            by_state.entry(state).or_default().push(package);
        }
    }
    // The next run of dpkg sees to triggers by itself.
    let is_harmless = |state: &str| state.starts_with("triggers-");
    let level = if apt.unfinished_steps > 0 || !by_state.keys().all(|state| is_harmless(state)) {
        Level::Blocks
    } else if by_state.is_empty() {
        return None;
    } else {
        Level::Warns
    };
    let mut evidence: Vec<_> = by_state
        .iter()
        .map(|(state, packages)| format!("{} {}", listed(packages), in_words(state, packages)))
        .collect();
    if apt.unfinished_steps > 0 {
        let steps = count(apt.unfinished_steps, "step");
        evidence.push(format!("{steps} in /var/lib/dpkg/updates"));
    }
    Some(Trouble {
        id: "dpkg_interrupted",
        level,
        what: format!("dpkg was interrupted: {}", evidence.join(", ")),
        advice: "`dpkg --configure -a`, as root, finishes what was begun".into(),
        repair: repair::of_dpkg(),
    })
}

fn in_words(state: &str, packages: &[&str]) -> String {
    let is = if packages.len() == 1 { "is" } else { "are" };
    match state {
        "half-installed" => format!("{is} half installed"),
        "half-configured" => format!("{is} half configured"),
        "unpacked" => format!("{is} unpacked and not configured"),
        "triggers-awaited" | "triggers-pending" => {
            let wait = if packages.len() == 1 { "waits" } else { "wait" };
            format!("{wait} for triggers")
        }
        other => format!("{is} {other}"),
    }
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {}", count(more, "other")),
    }
}

fn index(apt: &AptFacts) -> Option<Trouble> {
    let (id, what) = match apt.index {
        Index::Missing => ("apt_index_missing", "apt knows no packages: its index is empty".into()),
        Index::Fetched { days_ago } if days_ago > OLDEST_INDEX_DAYS => {
            ("apt_index_stale", format!("apt's index of packages is {days_ago} days old"))
        }
        Index::Fetched { .. } | Index::Unknown => return None,
    };
    Some(Trouble {
        id,
        level: Level::Warns,
        what,
        advice: "`apt-get update`, as root, fetches it".into(),
        repair: repair::of_index(),
    })
}

fn no_space(facts: &Facts) -> Vec<Trouble> {
    let archives = facts.apt.as_ref().and_then(|apt| apt.archives);
    let judge = |room: &Room| {
        let level = |left: u64, (blocks, warns): (u64, u64)| match left {
            left if left < blocks => Some(Level::Blocks),
            left if left < warns => Some(Level::Warns),
            _ => None,
        };
        let by_bytes = level(room.bytes, room.needed_for.limits());
        let by_files = room.files.and_then(|left| level(left, room.needed_for.file_limits()));
        // The worse of the two; what blocks comes first.
        let worst = by_bytes.into_iter().chain(by_files).min()?;
        let left = if by_bytes == Some(worst) {
            format!("{} bytes ({} MiB)", room.bytes, room.bytes / MIB)
        } else {
            format!("room for {}", count(room.files.unwrap_or_default(), "file"))
        };
        let (mount, why) = (&room.mount, room.needed_for.in_words());
        let kept = archives.filter(|(device, size)| *device == room.device && *size >= MIB);
        let clean = kept.map(|(_, size)| {
            format!("apt keeps {} MiB of packages that `apt-get clean` removes", size / MIB)
        });
        let prune = (room.needed_for == Use::Record)
            .then(|| "`provision prune` removes the logs of old sessions".to_owned());
        let advice = clean.or(prune).unwrap_or_else(|| format!("make space on {mount}"));
        Some(Trouble {
            id: "no_space",
            level: worst,
            what: format!("{mount} has only {left} left, and {why}"),
            advice,
            repair: kept.and_then(|_| repair::of_archives()),
        })
    };
    facts.rooms.iter().filter_map(judge).collect()
}

fn no_sudo(needs: &Needs, facts: &Facts) -> Option<Trouble> {
    let who = needs.root.as_ref().filter(|_| !facts.is_root && !facts.has_sudo)?;
    Some(Trouble {
        id: "sudo_missing",
        level: Level::Blocks,
        what: format!(
            "{who} the rights of root; this user does not have them, and there is no sudo"
        ),
        advice: "run it as root, or have sudo installed".into(),
        repair: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{
        AptFacts, ErrorClass, Facts, Index, Level, Needs, Room, Trouble, Use, explains, judge,
        repair_plan,
    };
    use crate::flow::plan_problems;

    const MIB: u64 = 1024 * 1024;

    fn apt(facts: AptFacts) -> Vec<Trouble> {
        judge(&Needs::default(), &Facts { apt: Some(facts), is_root: true, ..Facts::default() })
    }

    fn one(troubles: Vec<Trouble>) -> Trouble {
        assert_eq!(troubles.len(), 1, "{troubles:#?}");
        troubles.into_iter().next().unwrap()
    }

    #[test]
    fn a_machine_of_which_nothing_bad_was_seen_has_no_trouble() {
        let fine = AptFacts { index: Index::Fetched { days_ago: 30 }, ..AptFacts::default() };
        assert_eq!(apt(fine), []);
        assert_eq!(judge(&Needs::of_machine(false, false), &Facts::default()), []);
    }

    #[test]
    fn half_done_packages_block_and_are_named() {
        let half_done = "half-configured ok b\nunpacked ok a\nunpacked ok c\n".to_owned();
        let trouble = one(apt(AptFacts { half_done, ..AptFacts::default() }));
        assert_eq!((trouble.id, trouble.level), ("dpkg_interrupted", Level::Blocks));
        assert_eq!(
            trouble.what,
            "dpkg was interrupted: b is half configured, a, c are unpacked and not configured"
        );
        let steps = one(apt(AptFacts { unfinished_steps: 2, ..AptFacts::default() }));
        assert_eq!(steps.what, "dpkg was interrupted: 2 steps in /var/lib/dpkg/updates");
    }

    #[test]
    fn what_someone_is_just_doing_is_not_half_done() {
        let half_done = "half-configured ok b\n".to_owned();
        assert_eq!(
            apt(AptFacts { in_use: true, unfinished_steps: 1, half_done, ..AptFacts::default() }),
            []
        );
    }

    #[test]
    fn triggers_only_warn() {
        let half_done = "triggers-pending ok man-db\n".to_owned();
        assert_eq!(one(apt(AptFacts { half_done, ..AptFacts::default() })).level, Level::Warns);
    }

    #[test]
    fn an_index_that_is_fetched_anyway_is_not_complained_of() {
        for (index, id) in [
            (Index::Missing, "apt_index_missing"),
            (Index::Fetched { days_ago: 31 }, "apt_index_stale"),
        ] {
            let facts = Facts {
                apt: Some(AptFacts { index, ..AptFacts::default() }),
                is_root: true,
                ..Facts::default()
            };
            let trouble = one(judge(&Needs::default(), &facts));
            assert_eq!((trouble.id, trouble.level), (id, Level::Warns));
            let needs = Needs { fresh_index: true, ..Needs::default() };
            assert_eq!(judge(&needs, &facts), []);
        }
    }

    #[test]
    fn room_is_measured_by_what_it_is_for() {
        let level = |needed_for, bytes, files| {
            let room = Room { mount: "/var".into(), device: 1, bytes, files, needed_for };
            let troubles = judge(
                &Needs::default(),
                &Facts { rooms: vec![room], is_root: true, ..Facts::default() },
            );
            troubles.first().map(|trouble| trouble.level)
        };
        for (needed_for, bytes, files, expected) in [
            (Use::Packages, 49 * MIB, None, Some(Level::Blocks)),
            (Use::Packages, 50 * MIB, None, Some(Level::Warns)),
            (Use::Packages, 500 * MIB, Some(1_000_000), None),
            (Use::Packages, 500 * MIB, Some(3), Some(Level::Blocks)),
            (Use::Scratch, 49 * MIB, None, Some(Level::Warns)),
            (Use::Scratch, 0, None, Some(Level::Blocks)),
            (Use::Record, 0, None, Some(Level::Warns)),
            (Use::Record, 50 * MIB, None, None),
        ] {
            assert_eq!(
                level(needed_for, bytes, files),
                expected,
                "{needed_for:?} {bytes} {files:?}"
            );
        }
    }

    #[test]
    fn kept_packages_are_cleaned_only_from_the_file_system_that_is_full() {
        let room = |device| Room {
            mount: "/var".into(),
            device,
            bytes: 10 * MIB,
            files: None,
            needed_for: Use::Packages,
        };
        for (device, mends) in [(1, true), (2, false)] {
            let apt = AptFacts { archives: Some((1, 99 * MIB)), ..AptFacts::default() };
            let facts = Facts {
                apt: Some(apt),
                rooms: vec![room(device)],
                is_root: true,
                ..Facts::default()
            };
            let trouble = one(judge(&Needs::default(), &facts));
            assert_eq!(trouble.repair.is_some(), mends);
            assert!(
                trouble.what.contains("/var has only 10485760 bytes (10 MiB)"),
                "{}",
                trouble.what
            );
        }
    }

    #[test]
    fn who_needs_root_and_cannot_be_it_is_told() {
        let needs = Needs { root: Some("jq needs".into()), ..Needs::default() };
        for (is_root, has_sudo, is_told) in
            [(false, false, true), (true, false, false), (false, true, false)]
        {
            let troubles = judge(&needs, &Facts { is_root, has_sudo, ..Facts::default() });
            assert_eq!(troubles.iter().any(|trouble| trouble.id == "sudo_missing"), is_told);
        }
    }

    #[test]
    fn repairs_go_together_into_one_sound_plan_each_once() {
        let apt = AptFacts {
            unfinished_steps: 1,
            index: Index::Missing,
            archives: Some((1, 99 * MIB)),
            ..AptFacts::default()
        };
        let room = |mount: &str| Room {
            mount: mount.into(),
            device: 1,
            bytes: 0,
            files: None,
            needed_for: Use::Packages,
        };
        let rooms = vec![room("/"), room("/var")];
        let troubles = judge(
            &Needs::default(),
            &Facts { apt: Some(apt), rooms, is_root: true, ..Facts::default() },
        );
        let plan = repair_plan(&troubles).unwrap();
        let ids: Vec<_> = plan.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["repair-space", "repair-dpkg", "repair-apt-index"], "space comes first");
        assert_eq!(plan_problems(&plan), []);
        assert_eq!(repair_plan(&[]), None);
    }

    #[test]
    fn a_failure_is_explained_by_the_trouble_that_would_cause_it() {
        let dpkg = one(apt(AptFacts { unfinished_steps: 1, ..AptFacts::default() }));
        let stale =
            one(apt(AptFacts { index: Index::Fetched { days_ago: 99 }, ..AptFacts::default() }));
        for (trouble, class, expected) in [
            (&dpkg, ErrorClass::PackageManagerBroken, true),
            (&dpkg, ErrorClass::Unknown, true),
            (&dpkg, ErrorClass::ChecksumMismatch, false),
            (&stale, ErrorClass::PackageNotFound, true),
            (&stale, ErrorClass::Unknown, false),
        ] {
            assert_eq!(explains(trouble, class), expected, "{} {class:?}", trouble.id);
        }
    }
}
