//! The question whether tasks may add lines to the configuration of shells.

use std::{io, sync::atomic::AtomicBool};

use crate::{
    engine::WantedBlock,
    face::{
        shell_lines, shell_question,
        terminal::{Choice, Lettered, Reply, Terminal},
    },
};

/// Asks once, with every line to be seen for whoever wants to.
pub fn ask_about_shells(
    terminal: Terminal,
    blocks: &[WantedBlock],
    cancelled: &AtomicBool,
) -> io::Result<Reply<bool>> {
    let option = |letter, text: &str, hint: &str| Lettered {
        letter,
        text: text.into(),
        hint: Some(hint.into()),
        is_quiet: false,
    };
    let show = Lettered { letter: 's', text: "show the lines".into(), hint: None, is_quiet: true };
    let choice = Choice {
        heading: "May these lines be added?".into(),
        place: None,
        options: vec![
            option('A', "Yes", "between markers; `provision shell remove` takes them out again"),
            option('B', "No", "your files stay as they are"),
            show,
        ],
        default: None,
        can_go_back: false,
        summary: Some("Lines for your shells".into()),
        is_weighty: true,
        ..Choice::default()
    };
    terminal.say(&shell_question(blocks));
    loop {
        return Ok(match terminal.choose(&choice, cancelled)? {
            Reply::Answer('A') => Reply::Answer(true),
            Reply::Answer('B') => Reply::Answer(false),
            Reply::Answer(_) => {
                terminal.say(&shell_lines(blocks));
                continue;
            }
            Reply::Back => Reply::Back,
            Reply::Left(left) => Reply::Left(left),
        });
    }
}
