//! Plan files of anyone's making: checked, shown, and named by their digest.
#![no_main]

use agentic_provision::{face, flow::plan_problems, model::Plan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(plan) = serde_json::from_slice::<Plan>(bytes) else { return };
    let problems = plan_problems(&plan);
    let _ = problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    let _ = face::plan_text(&plan, true);
    let digest = plan.compute_digest();
    // Whoever keeps it keeps what was approved.
    let kept = serde_json::to_vec_pretty(&plan).expect("JSON");
    let again: Plan = serde_json::from_slice(&kept).expect("a plan");
    assert_eq!(again, plan);
    assert_eq!(again.compute_digest(), digest);
    assert_eq!(plan_problems(&again), problems);
});
