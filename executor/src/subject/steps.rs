//! What has to run in a prepare container, and what its end means. Pure descriptions: nothing here starts anything, and no secret of this
//! machine gets into a description.

use std::path::PathBuf;

use ocsweep_proto::config::PluginConfig;
use ocsweep_proto::verdict::Reason;

pub mod classify;
pub mod environment;

/// Steps with what they need. All paths are relative to the container's work directory, which is the root of the later bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrepareSteps {
    /// Files to lay into the work directory first.
    pub files: Vec<InputFile>,
    /// The steps, in order; the first failure ends them.
    pub steps: Vec<Step>,
    /// The plugin's directory.
    pub directory: String,
    /// Paths that do not belong into the bundle.
    pub exclude: Vec<String>,
    /// Whether install scripts are left out on purpose.
    pub scripts_were_skipped: bool,
}

/// A file for the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Where it goes.
    pub path: String,
    /// What is in it.
    pub content: InputContent,
}

/// The content of a file for the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputContent {
    /// These bytes.
    Bytes(Vec<u8>),
    /// A file of this machine.
    File(PathBuf),
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Which step it is.
    pub kind: StepKind,
    /// The command as a person wrote it, for messages.
    pub command: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub directory: String,
}

/// Which step a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// `plugin.install`, or the installation of a published package.
    Install,
    /// `plugin.build`.
    Build,
}

impl StepKind {
    /// The word in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Build => "build",
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepEnd {
    /// It exited.
    Exit(i64),
    /// A signal ended it.
    Signal(i64),
    /// It could not be started.
    NotStarted(String),
    /// It was stopped after so many milliseconds.
    TimedOut(u64),
}

/// A failed step, in the form of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFailure {
    /// Whose fault and which.
    pub reason: Reason,
    /// Sentences; the first one is the exact text of the step's failure.
    pub failures: Vec<String>,
}

impl StepEnd {
    /// The end that a container engine's exit code means: it reports a signal as 128 and its number.
    #[must_use]
    pub fn of_engine(code: i64) -> Self {
        if signal_name(code - 128).is_some() { Self::Signal(code - 128) } else { Self::Exit(code) }
    }
}

impl Step {
    /// A shell command.
    #[must_use]
    pub fn shell(kind: StepKind, command: &str, directory: &str) -> Self {
        let argv = ["bash", "-lc", command].map(str::to_owned).to_vec();
        Self { kind, command: command.to_owned(), argv, directory: directory.to_owned() }
    }

    /// The failure of this step, `None` when it succeeded. `log` is its output, both streams.
    #[must_use]
    pub fn failure(&self, end: &StepEnd, log: &str) -> Option<StepFailure> {
        let what = match end {
            StepEnd::Exit(0) => return None,
            StepEnd::Exit(code) => format!("exit code {code}."),
            StepEnd::Signal(number) => format!("signal {}.", signal_name(*number).map_or_else(|| number.to_string(), str::to_owned)),
            StepEnd::NotStarted(error) => {
                let text = format!("{} step failed to start ({}): {error}", self.kind.as_str(), self.command);
                return Some(StepFailure { reason: self.own_reason(), failures: vec![text] });
            }
            StepEnd::TimedOut(ms) => format!("not done after {ms} ms, the limit prepareMs."),
        };
        let mut failures = vec![format!("{} step failed ({}): {what}", self.kind.as_str(), self.command)];
        let finding = classify::classify(log);
        let reason = finding.as_ref().map_or_else(|| self.own_reason(), |finding| finding.reason.unwrap_or_else(|| self.own_reason()));
        failures.extend(finding.map(|finding| finding.text));
        Some(StepFailure { reason, failures })
    }

    fn own_reason(&self) -> Reason {
        match self.kind {
            StepKind::Install => Reason::InstallFailed,
            StepKind::Build => Reason::BuildFailed,
        }
    }
}

/// The steps of a checkout: `plugin.install`, then `plugin.build`, in the plugin's directory. No steps, no container.
#[must_use]
pub fn of_checkout(plugin: &PluginConfig, directory: &str) -> PrepareSteps {
    let install = plugin.install.iter().map(|command| Step::shell(StepKind::Install, command, directory));
    let build = plugin.build.iter().map(|command| Step::shell(StepKind::Build, command, directory));
    PrepareSteps { steps: install.chain(build).collect(), directory: directory.to_owned(), ..PrepareSteps::default() }
}

/// The last lines of an output, for a row.
#[must_use]
pub fn log_tail(log: &str, lines: usize, bytes: usize) -> String {
    let all: Vec<&str> = log.lines().collect();
    let mut tail = all[all.len().saturating_sub(lines)..].join("\n");
    if tail.len() > bytes {
        let start = (tail.len() - bytes..=tail.len()).find(|at| tail.is_char_boundary(*at)).unwrap_or(tail.len());
        tail.replace_range(..start, "…");
    }
    tail
}

fn signal_name(number: i64) -> Option<&'static str> {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(kind: StepKind, command: &str, end: StepEnd) -> Option<(Reason, Vec<String>)> {
        Step::shell(kind, command, "").failure(&end, "").map(|failure| (failure.reason, failure.failures))
    }

    #[test]
    fn exact_texts() {
        let one = |text: &str| vec![text.to_owned()];
        let cases = [
            (StepKind::Build, "exit 3", StepEnd::Exit(3), Reason::BuildFailed, "build step failed (exit 3): exit code 3."),
            (StepKind::Install, "npm ci", StepEnd::Signal(9), Reason::InstallFailed, "install step failed (npm ci): signal SIGKILL."),
            (
                StepKind::Install,
                "x",
                StepEnd::NotStarted("no bash".into()),
                Reason::InstallFailed,
                "install step failed to start (x): no bash",
            ),
            (
                StepKind::Build,
                "x",
                StepEnd::TimedOut(600_000),
                Reason::BuildFailed,
                "build step failed (x): not done after 600000 ms, the limit prepareMs.",
            ),
        ];
        for (kind, command, end, reason, text) in cases {
            assert_eq!(texts(kind, command, end), Some((reason, one(text))));
        }
        assert_eq!(texts(StepKind::Build, "true", StepEnd::Exit(0)), None);
    }

    #[test]
    fn codes_of_the_engine() {
        for (code, end) in [
            (0, StepEnd::Exit(0)),
            (3, StepEnd::Exit(3)),
            (127, StepEnd::Exit(127)),
            (137, StepEnd::Signal(9)),
            (143, StepEnd::Signal(15)),
            (255, StepEnd::Exit(255)),
        ] {
            assert_eq!(StepEnd::of_engine(code), end, "{code}");
        }
    }

    #[test]
    fn a_checkout_installs_then_builds() {
        let plugin = PluginConfig { install: Some("npm ci && echo 'x'".into()), build: Some("tsc".into()), ..PluginConfig::default() };
        let steps = of_checkout(&plugin, "pkg/a").steps;
        assert_eq!(steps.iter().map(|step| step.kind).collect::<Vec<_>>(), [StepKind::Install, StepKind::Build]);
        assert_eq!(steps[0].argv, ["bash", "-lc", "npm ci && echo 'x'"]);
        assert_eq!(steps[0].directory, "pkg/a");
        assert!(of_checkout(&PluginConfig::default(), "").steps.is_empty());
    }

    #[test]
    fn a_registry_that_is_down_is_not_the_plugins_fault() {
        let step = Step::shell(StepKind::Install, "npm ci", "");
        let failure = step.failure(&StepEnd::Exit(1), "npm error code EAI_AGAIN\n").unwrap();
        assert_eq!(failure.reason, Reason::Registry);
        assert_eq!(failure.failures[0], "install step failed (npm ci): exit code 1.");
        assert_eq!(failure.failures.len(), 2);
    }

    #[test]
    fn tails() {
        assert_eq!(log_tail("a\nb\nc", 2, 100), "b\nc");
        assert_eq!(log_tail("", 2, 100), "");
        assert_eq!(log_tail("aéé", 5, 3), "…é");
    }
}
