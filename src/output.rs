//! The only place that writes to standard output and standard error. Data goes to stdout, talk to stderr; a closed pipe ends the talk
//! quietly and is never an error of the run.

use std::io::{IsTerminal, Write};

use ocsweep_collector::render::TableStyle;

use crate::cli::OutputArgs;

/// What may be shown.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    args: OutputArgs,
}

impl Printer {
    /// A printer for a command's arguments.
    #[must_use]
    pub fn new(args: OutputArgs) -> Self {
        Self { args }
    }

    /// Whether data is asked for as JSON.
    #[must_use]
    pub fn json(self) -> bool {
        self.args.json
    }

    /// Whether a moving progress display makes sense.
    #[must_use]
    pub fn interactive(self) -> bool {
        !self.args.quiet && !self.args.json && std::io::stderr().is_terminal()
    }

    /// How a table on standard output looks.
    #[must_use]
    pub fn table_style(self) -> TableStyle {
        let terminal = std::io::stdout().is_terminal();
        let color = terminal && std::env::var_os("NO_COLOR").is_none();
        TableStyle { width: None, color }
    }

    /// Data.
    pub fn data(self, text: &str) {
        write_to(&mut std::io::stdout().lock(), text);
    }

    /// Talk, unless quiet.
    pub fn say(self, text: &str) {
        if !self.args.quiet {
            write_to(&mut std::io::stderr().lock(), text);
        }
    }

    /// Talk for the curious.
    pub fn detail(self, text: &str) {
        if self.args.verbose {
            write_to(&mut std::io::stderr().lock(), text);
        }
    }

    /// A warning; quiet silences it, the results keep it.
    pub fn warn(self, text: &str) {
        self.say(&format!("warning: {text}"));
    }

    /// An error; always shown.
    pub fn error(self, text: &str) {
        write_to(&mut std::io::stderr().lock(), text);
    }
}

/// A reader that has gone away wants nothing more; there is nobody left to tell.
fn write_to(stream: &mut dyn Write, text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(stream, "{text}{end}").and_then(|()| stream.flush());
}
