//! The machine we are on, as a session document names it.

use sha2::{Digest as _, Sha256};

use crate::{
    model::{Arch, Digest, Extra, Machine},
    os,
};

pub fn machine() -> Machine {
    let facts = os::machine_facts();
    Machine {
        hostname: facts.hostname,
        os_version: facts.os_version,
        arch: Arch::from_name(facts.arch),
        chip: facts.chip,
        machine_id: facts.machine_id.as_deref().map(hashed),
        extra: Extra::new(),
    }
}

/// The system asks that its identifier be kept to itself: a hash tells machines apart as well.
fn hashed(id: &str) -> String {
    let mut sum = Sha256::new();
    sum.update(b"agentic-provision machine\n");
    sum.update(id.as_bytes());
    Digest::of(sum.finalize().into()).as_str()[..32].to_owned()
}
