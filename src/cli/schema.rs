//! `provision schema`

use super::{args::SchemaOf, failure::Failure, output};
use crate::model::{event_schema, plan_schema, session_schema};

pub(super) fn run(of: SchemaOf) -> Result<(), Failure> {
    output::json_document(&match of {
        SchemaOf::Session => session_schema(),
        SchemaOf::Event => event_schema(),
        SchemaOf::Plan => plan_schema(),
    })
}
