//! The terminal that this process belongs to.

/// Whether there is one, wherever its input and output go.
pub fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}
