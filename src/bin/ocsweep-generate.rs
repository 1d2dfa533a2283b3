//! Writes everything that is generated and committed: JSON Schemas and the reference. `make schema` runs it in the repository's root.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    for (path, text) in ocsweep::reference::files() {
        let path = Path::new(path);
        let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(path, text));
        if let Err(error) = written {
            ocsweep::output::Printer::new(ocsweep::cli::OutputArgs::default())
                .error(&format!("error: cannot write {}: {error}", path.display()));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
