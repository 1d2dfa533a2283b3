//! The commands: each turns resolved arguments into calls and results into text and an exit code.

use std::ffi::OsString;

use ocsweep_proto::exit::ExitCode;
use tracing_subscriber::EnvFilter;

use crate::cli::{self, Command, ParseEnd};
use crate::output::Printer;
use crate::run::{self, Refusal};
use crate::settings::Settings;
use crate::signals::{self, Shutdown};

mod doctor;
mod gc;
mod init;
mod report;
mod validate;

/// Parses, runs, and says how it ended.
pub fn main(args: impl IntoIterator<Item = OsString>) -> std::process::ExitCode {
    let silent = Printer::new(cli::OutputArgs::default());
    let code = match cli::parse(args) {
        Ok(cli) => start(cli.command),
        Err(ParseEnd::Shown(text)) => {
            silent.data(&text);
            ExitCode::Ok
        }
        Err(ParseEnd::Usage(text)) => {
            silent.error(&text);
            ExitCode::Usage
        }
    };
    std::process::ExitCode::from(code as u8)
}

fn start(command: Command) -> ExitCode {
    let printer = Printer::new(output_args(&command));
    log(&command);
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            printer.error(&format!("error: cannot start: {error}"));
            return ExitCode::Usage;
        }
    };
    let shutdown = Shutdown::default();
    let forced = shutdown.force.clone();
    let code = runtime.block_on(async {
        tokio::select! {
            code = dispatch(command, printer, &shutdown) => code,
            () = forced.cancelled() => {
                printer.error("interrupted twice: stopping at once; \"ocsweep run\" removes what is left the next time it starts");
                ExitCode::Interrupted
            }
        }
    });
    runtime.shutdown_timeout(std::time::Duration::from_millis(500));
    code
}

async fn dispatch(command: Command, printer: Printer, shutdown: &Shutdown) -> ExitCode {
    let watcher = match signals::watch(shutdown.clone()) {
        Ok(watcher) => watcher,
        Err(error) => return fail(&error.into(), printer),
    };
    let settings = Settings::from_env();
    let result = match command {
        Command::Init(args) => init::init(&args, printer),
        Command::Validate(_) => validate::validate(printer),
        Command::Run(args) => run::run(&args, printer, &settings, shutdown).await,
        Command::Report(args) => report::report(&args, printer),
        Command::Doctor(args) => doctor::doctor(args.isolation.into(), printer, &settings).await,
        Command::Gc(args) => gc::gc(&args, printer, &settings).await,
    };
    watcher.abort();
    result.unwrap_or_else(|error| fail(&error, printer))
}

/// A refusal brings its text and code; anything else is told with its causes.
fn fail(error: &anyhow::Error, printer: Printer) -> ExitCode {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        printer.error(&refusal.text);
        return refusal.code;
    }
    let mut text = format!("error: {error}");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("\n  caused by: {cause}"));
    }
    printer.error(&text);
    // Not a mistake of the person and not a plugin's: what was asked could not be found out.
    ExitCode::Indeterminate
}

fn output_args(command: &Command) -> cli::OutputArgs {
    match command {
        Command::Init(args) => args.output,
        Command::Validate(args) => *args,
        Command::Doctor(args) => args.output,
        Command::Run(args) => args.output,
        Command::Report(args) => args.output,
        Command::Gc(args) => args.output,
    }
}

/// Logs are talk: warnings and worse, or everything of ocsweep with `--verbose`; `RUST_LOG` overrides both.
fn log(command: &Command) {
    let args = output_args(command);
    let default = if args.verbose { "warn,ocsweep=debug,ocsweep_executor=debug,ocsweep_transport=debug" } else { "error" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ansi).with_target(false);
    // Only a second call in one process can fail, and then the first one's subscriber serves.
    let _ = subscriber.try_init();
}
