//! `provision start` and `provision plan`: what was typed, as a walk without a person.

use std::{path::Path, process::ExitCode};

use super::{
    catalog,
    failure::{Failure, Kind},
    output,
    run::{given_data, run_with, wishes},
    settings::Settings,
    shell, walk,
    walk_args::{DataArgs, ModeArg, RunArgs, WalkArgs},
};
use crate::{
    catalog::{Answers, Diagnostic, read_answers},
    disk::Fs,
    engine::{self, Request},
    face,
    model::ExecutionMode,
};

pub(super) fn start(
    settings: &Settings,
    walk: WalkArgs,
    mut run: RunArgs,
) -> Result<ExitCode, Failure> {
    // Standard input can be read only once: the data is the request's.
    let request = request(walk, &std::mem::take(&mut run.data))?;
    let mut wishes = wishes(settings, run)?;
    let around = settings.surroundings()?;
    let catalog = catalog::load(settings)?;
    if wishes.attended {
        return walk::start(settings, &around, &catalog, request, wishes);
    }
    if request.mode == ExecutionMode::ReviewEachStep {
        return Err(nobody_reviews());
    }
    run_with(settings, &around, |around, watcher| {
        let ready = engine::ready(around, &catalog, &request, &wishes, None)?;
        let asked = || engine::asked_of_plan(around, ready.plan(), &wishes);
        wishes.shell_integration = shell::decide(settings, &wishes, asked)?;
        ready.start(around, &wishes, watcher)
    })
}

pub(super) fn plan(
    settings: &Settings,
    walk: WalkArgs,
    data: &DataArgs,
    commands: bool,
    to: Option<&Path>,
) -> Result<(), Failure> {
    let request = request(walk, data)?;
    let around = settings.surroundings()?;
    let catalog = catalog::load(settings)?;
    let prepared = engine::plan(&around, &catalog, &request)?;
    for note in &prepared.notes {
        output::note(settings, note);
    }
    let plan = &prepared.plan;
    let Some(path) = to else {
        return if settings.json {
            output::json_document(&face::plan_json(plan))
        } else {
            output::data(&face::plan_text(plan, commands))
        };
    };
    let mut text = serde_json::to_vec_pretty(plan).unwrap_or_default();
    text.push(b'\n');
    if path == Path::new("-") {
        return output::data(&String::from_utf8_lossy(&text));
    }
    output::file("the plan", path, &text)?;
    if settings.json {
        return output::json_document(&face::plan_json(plan));
    }
    if !settings.quiet {
        output::talk(&face::plan_text(plan, commands));
        output::talk(&format!(
            "written to {}; run it with: provision apply '{}' --approve {}\n",
            face::visible(&path.to_string_lossy()),
            face::visible(&path.to_string_lossy()),
            prepared.digest
        ));
    }
    Ok(())
}

pub(super) fn request(walk: WalkArgs, data: &DataArgs) -> Result<Request, Failure> {
    let file =
        walk.choice.answers.as_deref().map(read_answers_file).transpose()?.unwrap_or_default();
    if let (Some(typed), Some(in_file)) = (&walk.profile, &file.profile)
        && typed != in_file
    {
        let message =
            format!("the profile is `{typed}` here and `{in_file}` in the file with answers");
        return Err(Failure::new(Kind::Usage, message).hint("leave one of them away"));
    }
    let typed_mode = walk.mode.map(|mode| match mode {
        ModeArg::AllAtOnce => ExecutionMode::AllAtOnce,
        ModeArg::ReviewEachStep => ExecutionMode::ReviewEachStep,
    });
    let mode = typed_mode.or(file.mode).unwrap_or(ExecutionMode::AllAtOnce);
    let mut answers = file.answers;
    answers.extend(walk.choice.answer);
    Ok(Request {
        profile: walk.profile.or(file.profile),
        answers,
        options: file.options,
        user_data: file.user_data,
        data: given_data(data)?,
        add: file.add.into_iter().chain(walk.choice.add).collect(),
        without: file.without.into_iter().chain(walk.choice.without).collect(),
        mode,
    })
}

fn nobody_reviews() -> Failure {
    let message = "`review_each_step` asks before every step, and nobody is asked here";
    Failure::new(Kind::Usage, message)
        .hint("read the plan with `provision plan … --commands`, then approve it")
}

fn read_answers_file(path: &Path) -> Result<Answers, Failure> {
    read_answers(&Fs::real(), path).map_err(|mistakes| {
        let count = face::plural(mistakes.len(), "mistake");
        let message = format!("the file with answers `{}` has {count}", path.display());
        Failure::new(Kind::Usage, message)
            .causes(mistakes.iter().map(Diagnostic::placed))
            .hints(mistakes.iter().filter_map(|mistake| mistake.hint.clone()))
            .hint("`provision schema answers` prints its format")
            .file(path)
    })
}
