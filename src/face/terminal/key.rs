//! Bytes from a terminal, as the keys that were pressed. Knows no clock: whoever reads the bytes
//! says when nothing came for a while, which is what tells the Escape key from a sequence.

/// A key. What a prompt has no use for is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    /// Ctrl and a lower-case letter or sign.
    Control(char),
    Alt(char),
    Enter,
    Tab,
    BackTab,
    Escape,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

/// How many silences a sequence may be cut into before the rest of it is given up.
const PATIENCE: u8 = 10;
/// More of a sequence than this is swallowed, but not kept.
const LONGEST_SEQUENCE: usize = 32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// The bytes of one character, until there are as many as the first one says.
    Character {
        wanted: usize,
    },
    Escape,
    /// `ESC [`, then parameters, then one final byte.
    Sequence,
    /// The Linux console's function keys, `ESC [ [` and one byte; and `ESC O` and one byte.
    OneMore,
    /// A terminal's report, which ends with BEL or `ESC \`.
    Report,
}

/// Turns bytes into keys, one byte at a time.
#[derive(Debug, Default)]
pub(super) struct Keys {
    state: State,
    bytes: Vec<u8>,
    silences: u8,
}

impl Keys {
    /// One byte more.
    pub(super) fn push(&mut self, byte: u8) -> Option<Key> {
        self.silences = 0;
        // These are obeyed even in the middle of something that was not understood.
        if matches!(byte, 3 | 26 | 28) {
            self.reset();
            return single(byte);
        }
        match self.state {
            State::Ground => self.first(byte),
            State::Character { wanted } => self.character(byte, wanted),
            State::Escape => self.after_escape(byte),
            State::Sequence => self.sequence(byte),
            State::OneMore => {
                let is_application = self.bytes.is_empty();
                self.reset();
                if is_application { named(byte) } else { None }
            }
            State::Report => {
                let is_over = byte == 7 || (byte == b'\\' && self.bytes.last() == Some(&27));
                self.bytes = vec![byte];
                if is_over {
                    self.reset();
                }
                None
            }
        }
    }

    /// Nothing came for a while.
    pub(super) fn silence(&mut self) -> Option<Key> {
        match self.state {
            State::Ground => None,
            State::Escape => {
                self.reset();
                Some(Key::Escape)
            }
            // A slow line may cut a sequence; the rest of it must not be taken for letters.
            State::Character { .. } | State::Sequence | State::OneMore | State::Report => {
                self.silences += 1;
                if self.silences >= PATIENCE {
                    self.reset();
                }
                None
            }
        }
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn first(&mut self, byte: u8) -> Option<Key> {
        let wanted = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            27 => {
                self.state = State::Escape;
                return None;
            }
            _ => return single(byte),
        };
        self.state = State::Character { wanted };
        self.bytes.push(byte);
        None
    }

    fn character(&mut self, byte: u8, wanted: usize) -> Option<Key> {
        if !(0x80..=0xbf).contains(&byte) {
            self.reset();
            return self.first(byte);
        }
        self.bytes.push(byte);
        if self.bytes.len() < wanted {
            return None;
        }
        let character = std::str::from_utf8(&self.bytes).ok().and_then(|text| text.chars().next());
        self.reset();
        character.filter(|character| !character.is_control()).map(Key::Character)
    }

    fn after_escape(&mut self, byte: u8) -> Option<Key> {
        match byte {
            b'[' => self.state = State::Sequence,
            b'O' => self.state = State::OneMore,
            b']' | b'P' | b'_' | b'^' | b'X' => self.state = State::Report,
            // Some terminals say Alt with a second Escape in front.
            27 => {}
            8 | 127 => {
                self.reset();
                return Some(Key::Control('w'));
            }
            b' '..=b'~' => {
                self.reset();
                return Some(Key::Alt(char::from(byte)));
            }
            _ => {
                self.reset();
                return self.first(byte);
            }
        }
        None
    }

    fn sequence(&mut self, byte: u8) -> Option<Key> {
        match byte {
            b'[' if self.bytes.is_empty() => {
                self.state = State::OneMore;
                self.bytes.push(byte);
                None
            }
            0x40..=0x7e => {
                let key = control_sequence(&self.bytes, byte);
                self.reset();
                key
            }
            0x20..=0x3f => {
                if self.bytes.len() < LONGEST_SEQUENCE {
                    self.bytes.push(byte);
                }
                None
            }
            _ => {
                self.reset();
                self.first(byte)
            }
        }
    }
}

/// What one byte means by itself.
fn single(byte: u8) -> Option<Key> {
    Some(match byte {
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Tab,
        8 | 127 => Key::Backspace,
        1..=26 => Key::Control(char::from(byte - 1 + b'a')),
        28 => Key::Control('\\'),
        b' '..=b'~' => Key::Character(char::from(byte)),
        _ => return None,
    })
}

/// The final byte of a sequence that needs nothing else.
fn named(byte: u8) -> Option<Key> {
    Some(match byte {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        _ => return None,
    })
}

fn control_sequence(parameters: &[u8], last: u8) -> Option<Key> {
    let mut numbers = parameters.split(|byte| *byte == b';');
    let first = numbers.next().unwrap_or_default();
    // Shift is 2, Alt 3, Ctrl 5.
    let is_by_word = matches!(numbers.next(), Some(b"3" | b"5" | b"7"));
    match last {
        b'C' if is_by_word => Some(Key::Alt('f')),
        b'D' if is_by_word => Some(Key::Alt('b')),
        b'A'..=b'D' | b'F' | b'H' => named(last),
        b'Z' => Some(Key::BackTab),
        b'~' => match first {
            b"1" | b"7" => Some(Key::Home),
            b"4" | b"8" => Some(Key::End),
            b"3" => Some(Key::Delete),
            b"5" => Some(Key::PageUp),
            b"6" => Some(Key::PageDown),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Keys, PATIENCE};

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        let mut found: Vec<_> = bytes.iter().filter_map(|byte| keys.push(*byte)).collect();
        found.extend(keys.silence());
        found
    }

    #[test]
    fn arrows_are_known_in_both_of_their_forms() {
        let arrows = [Key::Up, Key::Down, Key::Right, Key::Left];
        assert_eq!(keys(b"\x1b[A\x1b[B\x1b[C\x1b[D"), arrows);
        assert_eq!(keys(b"\x1bOA\x1bOB\x1bOC\x1bOD"), arrows);
        assert_eq!(keys(b"\x1b[1;2A\x1b\x1b[B"), [Key::Up, Key::Down]);
        assert_eq!(keys(b"\x1b[1;5D\x1b[1;5C"), [Key::Alt('b'), Key::Alt('f')]);
    }

    #[test]
    fn home_end_and_delete_are_known_from_every_terminal() {
        for home in [&b"\x1b[H"[..], b"\x1bOH", b"\x1b[1~", b"\x1b[7~"] {
            assert_eq!(keys(home), [Key::Home], "{home:?}");
        }
        for end in [&b"\x1b[F"[..], b"\x1bOF", b"\x1b[4~", b"\x1b[8~"] {
            assert_eq!(keys(end), [Key::End], "{end:?}");
        }
        assert_eq!(keys(b"\x1b[3~\x7f\x08"), [Key::Delete, Key::Backspace, Key::Backspace]);
        assert_eq!(keys(b"\x1b[5~\x1b[6~\x1b[Z"), [Key::PageUp, Key::PageDown, Key::BackTab]);
    }

    #[test]
    fn escape_is_a_key_only_where_nothing_follows_it() {
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1bb"), [Key::Alt('b')]);
        let mut slow = Keys::default();
        assert_eq!(slow.push(27), None);
        assert_eq!(slow.push(b'['), None);
        assert_eq!(slow.silence(), None, "a slow line is not the Escape key");
        assert_eq!(slow.push(b'A'), Some(Key::Up));
    }

    #[test]
    fn a_sequence_without_an_end_is_given_up_in_time() {
        let mut keys = Keys::default();
        for byte in b"\x1b[1" {
            assert_eq!(keys.push(*byte), None);
        }
        for _ in 0..PATIENCE {
            assert_eq!(keys.silence(), None);
        }
        assert_eq!(keys.push(b'A'), Some(Key::Character('A')));
    }

    #[test]
    fn characters_of_several_bytes_come_whole_however_they_are_cut() {
        assert_eq!(keys("é日🦀".as_bytes()), ['é', '日', '🦀'].map(Key::Character));
        let mut cut = Keys::default();
        assert_eq!((cut.push(0xc3), cut.silence()), (None, None));
        assert_eq!(cut.push(0xa9), Some(Key::Character('é')));
        assert_eq!(keys(b"\xc3a\xffb\x80"), ['a', 'b'].map(Key::Character));
        assert_eq!(
            keys("\u{85}x".as_bytes()),
            [Key::Character('x')],
            "controls are not characters"
        );
    }

    #[test]
    fn what_is_not_understood_is_swallowed_whole() {
        assert_eq!(keys(b"\x1b[200~hi\x1b[201~"), ['h', 'i'].map(Key::Character));
        assert_eq!(keys(b"\x1b[?1;2;3cx\x1b[15~\x1b[[Ay"), ['x', 'y'].map(Key::Character));
        assert_eq!(keys(b"\x1b]11;rgb:00/00/00\x1b\\x"), [Key::Character('x')]);
        assert_eq!(keys(b"\x1b]0;t\x07x\x1bP1$r\x1b\\y"), ['x', 'y'].map(Key::Character));
        let mut long = b"\x1b[".to_vec();
        long.extend([b'1'; 1000]);
        long.extend(b"Ax");
        assert_eq!(keys(&long).last(), Some(&Key::Character('x')));
    }

    #[test]
    fn ctrl_c_is_heard_in_the_middle_of_anything() {
        assert_eq!(keys(b"\x03"), [Key::Control('c')]);
        assert_eq!(keys(b"\x1b[1\x03\x1b]x\x1a\xe6\x1c"), ['c', 'z', '\\'].map(Key::Control));
        assert_eq!(keys(b"\r\n\t\x04"), [Key::Enter, Key::Enter, Key::Tab, Key::Control('d')]);
    }
}
