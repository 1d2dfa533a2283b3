//! What a person can type. Types and texts only; what an argument means is decided in `commands`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ocsweep_proto::axes;

/// Answers whether an opencode plugin works, with evidence.
#[derive(Debug, Parser)]
#[command(name = "ocsweep", version, disable_help_subcommand = true, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 no required failure, 1 a required case failed, 2 configuration or usage error, 3 a required case stayed indeterminate, \
4 the selection contains no case, 130 interrupted."
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a first configuration and an example scenario
    Init(InitArgs),
    /// Check configuration and scenarios without running anything
    Validate(OutputArgs),
    /// Run the plugin of this directory, or a published one, against real opencode binaries
    Run(Box<RunArgs>),
    /// Render a results file again
    Report(ReportArgs),
    /// Say what is missing on this machine and how to get it
    Doctor(DoctorArgs),
    /// Remove old cached binaries and volumes
    Gc(GcArgs),
}

/// How much is said, and in which form.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OutputArgs {
    /// Print data as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Print only data and errors
    #[arg(long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print what is done on the way
    #[arg(long)]
    pub verbose: bool,
}

/// `init`
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A directory with a plugin (default: this one), or `npm:<name>[@version]`
    #[arg(value_name = "SUBJECT")]
    pub subject: Option<String>,
    /// Tiers to run: load, scripted, live (repeatable, comma-separated; default: load and scripted, live when a key is set)
    #[arg(long, value_name = "TIER")]
    pub tier: Vec<String>,
    /// Scenarios to run, by id (repeatable, comma-separated; default: all)
    #[arg(long, value_name = "ID")]
    pub scenario: Vec<String>,
    /// opencode versions: x.y.z, latest, v1, v2 (repeatable, comma-separated; the first is required, the others may fail)
    #[arg(long, value_name = "VERSION")]
    pub opencode: Vec<String>,
    /// Variants to run, by name (repeatable, comma-separated; default: all)
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// How the host's JavaScript engine is tuned (default: reduced for load and scripted cases)
    #[arg(long, value_name = "HOW", value_enum)]
    pub jit: Option<JitWord>,
    /// Directory of results and evidence (default: .opencode-ci/out)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Keep every case's workspace, not only those of failures
    #[arg(long)]
    pub keep: bool,
    /// How cases are cut off from this machine; process is for your own checkout where there is no Docker
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub isolation: IsolationWord,
    /// Let the historical flake gate decide about live failures
    #[arg(long)]
    pub gate: bool,
    /// Name of the artifact that holds the gate's history
    #[arg(long, value_name = "NAME")]
    pub gate_artifact: Option<String>,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The isolation to ask about
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    pub isolation: IsolationWord,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A tuning of the host's JavaScript engine, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum JitWord {
    /// Less CPU for short runs
    Reduced,
    /// As the host is shipped
    Full,
}

impl From<JitWord> for axes::Jit {
    fn from(word: JitWord) -> Self {
        match word {
            JitWord::Reduced => Self::Reduced,
            JitWord::Full => Self::Full,
        }
    }
}

/// An isolation, as it is typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum IsolationWord {
    /// A fresh container
    #[default]
    Docker,
    /// Processes behind namespaces
    Process,
}

impl From<IsolationWord> for axes::Isolation {
    fn from(word: IsolationWord) -> Self {
        match word {
            IsolationWord::Docker => Self::Docker,
            IsolationWord::Process => Self::Process,
        }
    }
}

/// `report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The results file (default: .opencode-ci/out/results.json)
    #[arg(value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `gc`
#[derive(Debug, Args)]
pub struct GcArgs {
    /// Bytes to keep at most, with an optional suffix K, M or G
    #[arg(long, value_name = "SIZE", default_value = "10G")]
    pub max_size: String,
    /// Days after which something unused is removed
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub max_age: u64,
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Why there is nothing to run.
#[derive(Debug)]
pub enum ParseEnd {
    /// Help or version was asked for: data.
    Shown(String),
    /// A usage error: talk, exit code 2.
    Usage(String),
}

/// Parses arguments.
///
/// # Errors
/// Help, version or a usage error.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, ParseEnd> {
    let args: Vec<OsString> = args.into_iter().collect();
    let command = args.get(1).map_or_else(|| "ocsweep".to_owned(), |arg| arg.to_string_lossy().into_owned());
    Cli::try_parse_from(args).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ParseEnd::Shown(error.to_string()),
        ErrorKind::UnknownArgument => ParseEnd::Usage(unknown_argument(&command, &error)),
        _ => ParseEnd::Usage(error.to_string()),
    })
}

/// The reference tool's first line, then clap's suggestion.
fn unknown_argument(command: &str, error: &clap::Error) -> String {
    let mut text = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) => format!("Unknown argument for {command}: {arg}\n"),
        _ => return error.to_string(),
    };
    if let Some(ContextValue::String(suggestion)) = error.get(ContextKind::SuggestedArg) {
        text.push_str(&format!("hint: did you mean {suggestion}?\n"));
    }
    text.push_str(&format!("hint: ocsweep {command} --help\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(args: &[&str]) -> String {
        match parse(std::iter::once("ocsweep").chain(args.iter().copied()).map(OsString::from)) {
            Err(ParseEnd::Usage(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn unknown_flags_keep_the_reference_tools_line() {
        assert!(usage(&["run", "--teir", "load"]).starts_with("Unknown argument for run: --teir\nhint: did you mean --tier?\n"));
        assert!(usage(&["report", "--nope"]).starts_with("Unknown argument for report: --nope\n"));
    }

    #[test]
    fn a_value_is_needed_and_is_not_a_flag() {
        assert!(usage(&["run", "--tier"]).contains("value is required"));
        assert!(usage(&["run", "--tier", "--quiet"]).contains("value is required"));
    }
}
