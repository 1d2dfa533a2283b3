//! The agent: PID 1 of a case container. It takes one job on standard input, does it, and sends what it saw as frames on standard output.
//!
//! It must never judge, never reach beyond loopback, and never let the user's processes read or change what it sends.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ocsweep_proto::agent::{After, AgentJob, Report, paths};
use ocsweep_proto::frame::Kind;
use rustix::process::DumpableBehavior;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::capture::KILL_PATIENCE;
use crate::output::{Closed, Output};
use crate::processes::Children;

mod assets;
mod capture;
mod collect;
mod dns;
mod host;
mod input;
mod launch;
mod lines;
mod observer;
mod output;
mod preflight;
mod processes;
mod run;
mod sandbox;
mod sources;
mod stub;
mod user;
mod watch;
mod workspace;

/// For the executor to judge the report. After that nobody will ask for the workspace.
const AFTER_PATIENCE: Duration = Duration::from_secs(60);
/// 128 and the number of SIGTERM, as a shell says it.
const TERMINATED: u8 = 143;

type Input = mpsc::Receiver<Result<Vec<u8>, String>>;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some(user::ARGUMENT) => return user::main(),
        Some(word) if launch::is_argument(word) => return launch::main(),
        Some(_) => return fail("the agent takes no arguments"),
    }
    // Another process of the container must not read this one's memory or descriptors, whatever its ids.
    if let Err(error) = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        return fail(&format!("cannot protect the agent: {error}"));
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start the runtime: {error}")),
    };
    let code = runtime.block_on(serve());
    // A blocking read or write may never return; the end of the process ends it.
    runtime.shutdown_background();
    code
}

fn fail(text: &str) -> ExitCode {
    // Standard output is frames; nobody may read standard error either.
    let _ = writeln!(std::io::stderr(), "{text}");
    ExitCode::FAILURE
}

async fn serve() -> ExitCode {
    let (mut terminate, children) = match (signal(SignalKind::terminate()), Children::start()) {
        (Ok(terminate), Ok(children)) => (terminate, children),
        (Err(error), _) | (_, Err(error)) => return fail(&format!("cannot handle signals: {error}")),
    };
    // A pipe, as an engine gives it to a container without a terminal.
    let stdout = std::io::stdout().as_fd().try_clone_to_owned().and_then(pipe::Sender::from_owned_fd);
    let (output, writer) = match stdout {
        Ok(stdout) => output::channel(stdout),
        Err(error) => return fail(&format!("standard output cannot take frames: {error}")),
    };
    let mut input = input::lines();
    let code = tokio::select! {
        written = converse(&mut input, output, &children, writer) => match written {
            Ok(()) => ExitCode::SUCCESS,
            Err(text) => fail(&text),
        },
        _ = terminate.recv() => ExitCode::from(TERMINATED),
    };
    processes::kill_all(KILL_PATIENCE).await;
    code
}

/// The whole conversation. The writer is polled beside it and not in a task, so that its error ends everything at once.
async fn converse(
    input: &mut Input,
    output: Output,
    children: &Children,
    writer: impl Future<Output = std::io::Result<()>>,
) -> Result<(), String> {
    let talk = async {
        let talked = talk(input, &output, children).await;
        // Until the writer has written the end frame.
        match talked {
            Ok(()) => std::future::pending().await,
            Err(Closed) => Err(Closed.to_string()),
        }
    };
    tokio::select! {
        biased;
        written = writer => written.map_err(|error| format!("cannot write the evidence stream: {error}")),
        failed = talk => failed,
    }
}

async fn talk(input: &mut Input, output: &Output, children: &Children) -> Result<(), Closed> {
    match next::<AgentJob>(input).await {
        Ok(job) => run::run(&job, output, children).await?,
        Err(text) => run::send(&Report { fault: Some(format!("cannot read the job: {text}")), ..Report::default() }, output).await?,
    }
    // A closed input is an answer too: nothing more is wanted.
    let after = tokio::time::timeout(AFTER_PATIENCE, next::<After>(input)).await;
    if matches!(after, Ok(Ok(After::Workspace))) {
        workspace(output).await?;
    }
    output.end().await
}

async fn next<T: serde::de::DeserializeOwned>(input: &mut Input) -> Result<T, String> {
    let line = input.recv().await.unwrap_or_else(|| Err("standard input has ended".to_owned()))?;
    serde_json::from_slice(&line).map_err(|error| error.to_string())
}

async fn workspace(output: &Output) -> Result<(), Closed> {
    let sender = output.clone();
    let sent = tokio::task::spawn_blocking(move || workspace::send(Path::new(paths::PROJECT), &sender)).await;
    let remark = match sent {
        Ok(Ok(remark)) => remark,
        Ok(Err(error)) => Some(format!("the workspace archive is incomplete: {error}")),
        Err(error) => Some(format!("the workspace archive is incomplete: {error}")),
    };
    match remark {
        Some(remark) => output.send(Kind::Note, output.note(None, &remark)).await,
        None => Ok(()),
    }
}
