use std::cell::RefCell;
use std::fmt::Display;
use std::io::Write;

/// Lines for people on stderr. No time (the runtime's log has it); the sandbox and interface
/// stand in front, so that the lines of one pod can be found.
pub(crate) struct Log<'a> {
    out: RefCell<&'a mut dyn Write>,
    subject: RefCell<String>,
}

impl<'a> Log<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            out: RefCell::new(out),
            subject: RefCell::default(),
        }
    }

    /// Names what the following lines are about.
    pub(crate) fn about(&self, verb: &str, container_id: &str, ifname: &str) {
        let subject = [verb, container_id, ifname].join(" ");
        *self.subject.borrow_mut() = format!(" {}", subject.trim_end());
    }

    pub(crate) fn warn(&self, text: impl Display) {
        self.line("warning: ", &text);
    }

    pub(crate) fn note(&self, text: impl Display) {
        self.line("", &text);
    }

    fn line(&self, level: &str, text: &dyn Display) {
        let subject = self.subject.borrow();
        // A stderr that is closed must not fail a pod.
        let _ = writeln!(self.out.borrow_mut(), "ipledger{subject}: {level}{text}");
    }
}
