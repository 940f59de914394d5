//! `provision schema`

use super::{args::SchemaOf, failure::Failure, output};
use crate::{
    catalog::{answers_schema, profile_schema, task_schema},
    model::{event_schema, plan_schema, session_schema},
};

pub(super) fn run(of: SchemaOf) -> Result<(), Failure> {
    output::json_document(&match of {
        SchemaOf::Session => session_schema(),
        SchemaOf::Event => event_schema(),
        SchemaOf::Plan => plan_schema(),
        SchemaOf::Task => task_schema(),
        SchemaOf::Profile => profile_schema(),
        SchemaOf::Answers => answers_schema(),
    })
}
