//! Entry point: parse, run, exit code. Everything else is a library call.

use std::process::ExitCode;

fn main() -> ExitCode {
    ocsweep::commands::main(std::env::args_os())
}
