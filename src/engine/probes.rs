//! What is there already, whether it works, and which version it is.

use serde_json::{Map, Value};

use super::{RunError, run::Run, verification::Verified};
use crate::{
    exec::{PROBE_LIMIT, Probe, ProbeEnd, probe, redact},
    flow,
    model::{CommandVerdict, EventKind, PlanTask, ProbeFinished, ProbeKind},
};

/// What a probe found out.
pub(super) struct Seen {
    pub output: String,
    pub error: Option<String>,
    pub end: ProbeEnd,
}

impl Run<'_> {
    /// What is known of a task that is done already; `None` if it is not.
    pub(super) async fn detect(
        &self,
        task: &PlanTask,
    ) -> Result<Option<Map<String, Value>>, RunError> {
        let Some(detection) = &task.detection else { return Ok(None) };
        let mut result = Map::new();
        let mut found = false;
        if let Some(command) = &detection.check_command {
            let seen = self.probe(task, ProbeKind::Detection, command, |_| Ok(())).await?;
            found = seen.error.is_none();
            let place = seen.output.lines().next().filter(|line| line.starts_with('/'));
            if let Some(place) = place.filter(|_| found) {
                result.insert("path".into(), place.into());
            }
        }
        if let Some(path) = detection.installed_indicator.as_deref().filter(|_| !found) {
            let place = self.around.environment.expand(path);
            found = place.exists();
            let why = (!found).then(|| format!("`{}` is not there", place.display()));
            self.record_probe(
                task,
                ProbeKind::Detection,
                &format!("test -e {path}"),
                0,
                None,
                why,
                "",
            );
            if found {
                result.insert("path".into(), place.to_string_lossy().into());
            }
        }
        result.insert("already_installed".into(), true.into());
        Ok(found.then_some(result))
    }

    /// Whether a task is not there, beyond doubt.
    pub(super) async fn is_surely_gone(&self, task: &PlanTask) -> Result<bool, RunError> {
        let Some(detection) = &task.detection else { return Ok(false) };
        let indicator = detection.installed_indicator.as_deref();
        if indicator.is_some_and(|path| self.around.environment.expand(path).exists()) {
            return Ok(false);
        }
        let Some(command) = &detection.check_command else { return Ok(indicator.is_some()) };
        let seen = self.probe(task, ProbeKind::Detection, command, |_| Ok(())).await?;
        Ok(matches!(seen.end, ProbeEnd::Exited { code, .. } if code != 0))
    }

    pub(super) async fn version(&self, task: &PlanTask) -> Result<Option<String>, RunError> {
        let command = task.detection.as_ref().and_then(|found| found.version_command.as_ref());
        let Some(command) = command else { return Ok(None) };
        let seen = self.probe(task, ProbeKind::Version, command, |_| Ok(())).await?;
        Ok(flow::version_in(&seen.output).filter(|_| seen.error.is_none()))
    }

    /// Whether a task turns out to be done though nobody knows how its command ended.
    pub(super) async fn is_done_after_all(&self, task: &PlanTask) -> Result<bool, RunError> {
        if task.verification.is_some() {
            return Ok(self.verify(task).await? == Verified::Passed);
        }
        Ok(self.detect(task).await?.is_some())
    }

    pub(super) async fn probe(
        &self,
        task: &PlanTask,
        kind: ProbeKind,
        command: &str,
        judge: impl Fn(&str) -> Result<(), String>,
    ) -> Result<Seen, RunError> {
        let path = self.path_of(task);
        let setup = self.setup_of(task, true);
        let around = self.around;
        let before = around.clock.now().steady;
        let asked = Probe { command, environment: &around.environment, path: &path, setup: &setup };
        let end = probe(&asked).await;
        let took = around.clock.now().steady.saturating_sub(before);
        let (code, output, error) = match &end {
            ProbeEnd::Exited { code, output } => {
                let output = String::from_utf8_lossy(output).into_owned();
                let error = if *code == 0 {
                    judge(&output).err()
                } else {
                    // What a check says is why it is not content.
                    let said = flow::last_line(&redact(&self.data.secrets(), output.as_bytes()));
                    let said = said.filter(|_| kind == ProbeKind::Verification);
                    let said = said.map_or_else(String::new, |said| format!(": {said}"));
                    Some(format!("exit code {code}{said}"))
                };
                (Some(*code), output, error)
            }
            ProbeEnd::Signaled(signal) => {
                (None, String::new(), Some(format!("ended by signal {signal}")))
            }
            ProbeEnd::TimedOut => {
                let error = format!("no answer within {} s", PROBE_LIMIT.as_secs());
                (None, String::new(), Some(error))
            }
            ProbeEnd::NotStarted(error) => (None, String::new(), Some(error.clone())),
        };
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        // It was judged by all it said; what is kept and shown of it holds no secret.
        let output = redact(&self.data.secrets(), output.as_bytes());
        let output = String::from_utf8_lossy(&output).into_owned();
        self.record_probe(task, kind, command, millis, code, error.clone(), &output);
        Ok(Seen { output, error, end })
    }

    #[expect(clippy::too_many_arguments, reason = "each becomes a field of the event")]
    fn record_probe(
        &self,
        task: &PlanTask,
        kind: ProbeKind,
        command: &str,
        duration_ms: u64,
        exit_code: Option<i32>,
        error: Option<String>,
        output: &str,
    ) {
        let failed = error.is_some();
        let event = ProbeFinished {
            task_id: task.id.clone(),
            kind,
            command: command.into(),
            agent: self.options.agent.clone(),
            status: if failed { CommandVerdict::Failure } else { CommandVerdict::Success },
            exit_code,
            duration_ms,
            error,
            output_summary: flow::last_line(output.as_bytes()),
        };
        self.queue(EventKind::ProbeFinished(Box::new(event)));
    }
}
