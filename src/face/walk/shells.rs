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
    let show = Lettered::quiet('s', "show the lines");
    let choice = Choice {
        heading: "May these lines be added?".into(),
        options: vec![
            Lettered::new('A', "Yes").meaning(
                "one line in your file sources them; `provision shell remove` removes both",
            ),
            Lettered::new('B', "No").meaning("your files stay as they are"),
            show,
        ],
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
