//! Tests that this machine cannot run. Each is named with its reason, and is a failure where no test
//! may be skipped.

use std::{env, fmt::Display, fs::File, io::Write, thread};

/// Names the test and why it, or a part of it, is skipped. Fails it if `PROVISION_TEST_REQUIRE=all`.
/// `tests/run` lists the skips at its end, from the file that `PROVISION_TEST_SKIPS` names.
pub fn skip(why: impl Display) {
    let thread = thread::current();
    let line = format!("skipped: {}: {why}", thread.name().unwrap_or("a test"));
    println!("{line}");
    if let Some(file) = env::var_os("PROVISION_TEST_SKIPS") {
        let mut file = File::options().append(true).create(true).open(file).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    let is_required = env::var_os("PROVISION_TEST_REQUIRE").is_some_and(|what| what == "all");
    assert!(!is_required, "{line}, and PROVISION_TEST_REQUIRE=all allows no skip");
}
