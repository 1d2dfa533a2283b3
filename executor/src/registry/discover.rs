//! Finds npm's configuration on this machine: environment, `.npmrc` of the project, the user and the installation, else npm's own answer.
//! It reads files and may start `npm config get registry`; it must never start anything else.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::npmrc::{self, Pair};
use super::{Environment, RegistryError, Settings};

/// npm is a node program: a cold start takes about a second.
const NPM_DEADLINE: Duration = Duration::from_secs(20);
const LARGEST_NPMRC_BYTES: u64 = 1024 * 1024;

/// The settings that npm would use in `directory`.
///
/// # Errors
/// When a file cannot be used, or nothing names a registry and npm cannot be asked.
pub async fn discover(env: &Environment, directory: &Path) -> Result<Settings, RegistryError> {
    let mut layers = vec![npmrc::from_environment(env)];
    for file in files(env, directory, &layers[0]) {
        layers.extend(read(&file, env)?);
    }
    let settings = Settings::from_layers(&layers)?;
    if settings.default_registry().is_some() {
        return Ok(settings);
    }
    layers.push(vec![("registry".to_owned(), ask_npm(env, directory).await?)]);
    Settings::from_layers(&layers)
}

/// The `.npmrc` files of the project, the user and the installation, in the order of their weight.
fn files(env: &Environment, directory: &Path, variables: &[Pair]) -> Vec<PathBuf> {
    let set = |key: &str| variables.iter().find(|(name, _)| name == key).map(|(_, value)| PathBuf::from(value));
    let user = set("userconfig").or_else(|| env.home().map(|home| home.join(".npmrc")));
    let prefix = set("prefix").or_else(|| env.get("PREFIX").map(PathBuf::from)).or_else(|| node_prefix(env));
    let global = set("globalconfig").or_else(|| prefix.map(|prefix| prefix.join("etc/npmrc")));
    let project = project_root(directory).join(".npmrc");
    [Some(project), user, global].into_iter().flatten().collect()
}

/// npm's project: the nearest directory with a `package.json` or `node_modules`, else the directory itself.
fn project_root(directory: &Path) -> &Path {
    let is_project = |candidate: &&Path| candidate.join("package.json").is_file() || candidate.join("node_modules").is_dir();
    directory.ancestors().find(is_project).unwrap_or(directory)
}

/// npm's installation prefix: two directories above the node program.
fn node_prefix(env: &Environment) -> Option<PathBuf> {
    let node = std::env::split_paths(env.get("PATH")?).map(|dir| dir.join("node")).find(|node| node.is_file())?;
    Some(node.canonicalize().ok()?.parent()?.parent()?.to_path_buf())
}

fn read(file: &Path, env: &Environment) -> Result<Option<Vec<Pair>>, RegistryError> {
    let unreadable = |source| RegistryError::Disk { doing: "cannot read", path: file.to_owned(), source };
    let metadata = match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if metadata.len() > LARGEST_NPMRC_BYTES {
        return Err(RegistryError::Settings { problem: format!("{} is larger than {LARGEST_NPMRC_BYTES} bytes", file.display()) });
    }
    let bytes = std::fs::read(file).map_err(unreadable)?;
    Ok(Some(npmrc::parse(&String::from_utf8_lossy(&bytes), env)))
}

async fn ask_npm(env: &Environment, directory: &Path) -> Result<String, RegistryError> {
    let problem = |what: String| RegistryError::Settings { problem: format!("no npm registry is configured, and {what}") };
    let mut command = Command::new("npm");
    command.args(["config", "get", "registry"]).current_dir(directory).env_clear().envs(env.iter());
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(NPM_DEADLINE, command.output()).await;
    let output = match output {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(problem(format!("npm cannot be started: {error}"))),
        Err(_) => return Err(problem(format!("`npm config get registry` did not end within {} s", NPM_DEADLINE.as_secs()))),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().map(str::trim).find(|line| line.starts_with("http")) {
        Some(url) if output.status.success() => Ok(url.to_owned()),
        _ => Err(problem("`npm config get registry` names none".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn machine(dir: &Path) -> Environment {
        write(dir.join("home/.npmrc"), "registry=https://user.example/\n//user.example/:_authToken=${TOKEN}\n");
        write(dir.join("prefix/etc/npmrc"), "registry=https://global.example/\ncafile=/global.pem\n");
        write(dir.join("project/package.json"), "{}");
        let home = dir.join("home").display().to_string();
        let prefix = dir.join("prefix").display().to_string();
        [("HOME", home), ("npm_config_prefix", prefix), ("TOKEN", "t".to_owned())].into_iter().collect()
    }

    async fn registry(env: &Environment, dir: &Path) -> String {
        discover(env, dir).await.unwrap().default_registry().unwrap().to_string()
    }

    #[tokio::test]
    async fn each_layer_wins_over_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let env = machine(dir.path());
        let below = dir.path().join("project/src");
        std::fs::create_dir_all(&below).unwrap();
        assert_eq!(registry(&env, &below).await, "https://user.example/");
        let settings = discover(&env, &below).await.unwrap();
        assert_eq!(settings.cafile.as_deref(), Some("/global.pem"));
        let url = reqwest::Url::parse("https://user.example/x").unwrap();
        assert_eq!(settings.authorization(&url), Some("Bearer t"));
        write(dir.path().join("project/.npmrc"), "registry=https://project.example/");
        assert_eq!(registry(&env, &below).await, "https://project.example/");
        let with_variable: Environment = env.iter().chain([("NPM_CONFIG_REGISTRY", "https://env.example")]).collect();
        assert_eq!(registry(&with_variable, &below).await, "https://env.example/");
        std::fs::remove_file(dir.path().join("project/.npmrc")).unwrap();
        std::fs::remove_file(dir.path().join("home/.npmrc")).unwrap();
        assert_eq!(registry(&env, &below).await, "https://global.example/");
    }

    fn npm_that_says(dir: &Path, script: &str) -> Environment {
        use std::os::unix::fs::PermissionsExt as _;
        let npm = dir.join("bin/npm");
        write(npm.clone(), &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(&npm, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.join("bin").display());
        let nowhere = dir.join("nowhere").display().to_string();
        [("PATH", path), ("HOME", nowhere.clone()), ("npm_config_prefix", nowhere)].into_iter().collect()
    }

    #[tokio::test]
    async fn npm_is_asked_last() {
        let dir = tempfile::tempdir().unwrap();
        let env = npm_that_says(dir.path(), r#"[ "$*" = "config get registry" ] && echo https://npm.example/deep"#);
        assert_eq!(registry(&env, dir.path()).await, "https://npm.example/deep/");
        let env = npm_that_says(dir.path(), "echo undefined");
        let error = discover(&env, dir.path()).await.unwrap_err();
        assert_eq!(error.to_string(), "no npm registry is configured, and `npm config get registry` names none");
    }

    #[tokio::test]
    async fn an_oversized_npmrc_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let env = machine(dir.path());
        let file = std::fs::File::create(dir.path().join("project/.npmrc")).unwrap();
        file.set_len(LARGEST_NPMRC_BYTES + 1).unwrap();
        assert!(matches!(discover(&env, &dir.path().join("project")).await, Err(RegistryError::Settings { .. })));
    }
}
