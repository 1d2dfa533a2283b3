//! A stand-in for opencode, 1.x and 2.x, that plays a plan, so that tests of the orchestration need neither the real binary nor its seconds.
//!
//! It loads no plugin and runs no JavaScript: it writes the records that probes and observer would write. It must never be used to say
//! anything about a plugin.

mod host;
mod model;
mod plan;
mod v2;

use std::io::{Read, Write};
use std::process::ExitCode;

use plan::Plan;

/// Whole words for every version that a test asks for.
const VERSIONS: &str = "fake opencode 1.18.33 1.18.34 2.0.26 2.0.32";
/// `EX_SOFTWARE`: the stand-in itself could not do what the plan says.
const BROKEN: u8 = 70;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut stderr = std::io::stderr().lock();
    match play(&args, &mut stderr) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(stderr, "fake-opencode: {error}");
            ExitCode::from(BROKEN)
        }
    }
}

fn play(args: &[String], stderr: &mut impl Write) -> Result<u8, String> {
    let mut stdout = std::io::stdout().lock();
    if std::env::var_os("BUN_BE_BUN").is_some() {
        if is_v2() {
            let Some(line) = v2::Plan::read()?.answer(args.first().map_or("", String::as_str)) else { host::hang() };
            return if line.is_null() { Ok(1) } else { writeln!(stdout, "\n{line}").map(|()| 0).map_err(|error| error.to_string()) };
        }
        let Some(line) = Plan::read()?.preflight.line() else { host::hang() };
        return writeln!(stdout, "\n{line}").map(|()| 0).map_err(|error| error.to_string());
    }
    match args.first().map(String::as_str) {
        Some("--version") => writeln!(stdout, "{VERSIONS}").map(|()| 0).map_err(|error| error.to_string()),
        Some("run") => {
            let mut prompt = String::new();
            std::io::stdin().lock().read_to_string(&mut prompt).map_err(|error| format!("standard input: {error}"))?;
            if let Some(config) = v2::config() {
                for needed in ["--standalone", "--auto"] {
                    if !args.iter().any(|arg| arg == needed) {
                        return Err(format!("{needed} is missing in {args:?}"));
                    }
                }
                return v2::run(&config, &v2::Plan::read()?, &prompt, &mut v2::Streams { stdout: &mut stdout, stderr });
            }
            host::run(&Plan::read()?, &prompt, &mut stdout, stderr)
        }
        _ => Err(format!("unknown arguments {args:?}")),
    }
}

/// Before a configuration is written, the environment tells the lines apart: only v1 carries a configuration in it, and the static check of a
/// TUI plugin carries nothing.
fn is_v2() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    is_set("OPENCODE_LOG_LEVEL") || (!is_set("OPENCODE_CONFIG_CONTENT") && v2::has_plan())
}
