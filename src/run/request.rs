//! What a run is asked for, after validation: arguments and configuration together, every mistake found before anything is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ocsweep_executor::subject;
use ocsweep_proto::axes::{Flavour, Isolation, Line, Tier, VersionWord};
use ocsweep_proto::config::{Config, Variant};
use ocsweep_proto::exit::ExitCode;
use ocsweep_proto::ids::SweepId;
use ocsweep_proto::job::{BunTests, Host, NpmSource, PathSource, PrepareWork, Source};
use ocsweep_proto::redact::Secrets;
use ocsweep_scheduler::config::{self, ScenarioFile};
use ocsweep_scheduler::init;
use ocsweep_scheduler::plan::{LiveSkip, PlanInput};
use serde_json::Value;

use crate::cli::{IsolationWord, RunArgs};
use crate::output::Printer;
use crate::settings::Settings;

/// Why nothing may run, for the person who asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// The exit code.
    pub code: ExitCode,
    /// The whole text, hint included.
    pub text: String,
}

impl Refusal {
    /// A mistake in arguments or configuration.
    pub fn configuration(text: impl Into<String>) -> Self {
        Self { code: ExitCode::Usage, text: text.into() }
    }
}

/// A validated request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) cwd: PathBuf,
    pub(crate) out: PathBuf,
    /// The output folder was chosen by hand; the default one may not lead out of the working directory.
    pub(crate) out_chosen: bool,
    pub(crate) subject: String,
    pub(crate) source: Source,
    pub(crate) line: Line,
    pub(crate) config: Config,
    pub(crate) scenarios: Vec<ScenarioFile>,
    pub(crate) versions: Vec<VersionWord>,
    pub(crate) keep: bool,
    pub(crate) isolation: Isolation,
    pub(crate) variants: Vec<Variant>,
    bun: Option<BunTests>,
    pub(crate) secrets: Secrets,
    sweep: SweepId,
    tiers: Vec<Tier>,
    live_skip: LiveSkip,
}

impl Request {
    pub(crate) fn read(args: &RunArgs, printer: Printer, settings: &Settings) -> anyhow::Result<Self> {
        let tiers = tiers(&args.tier)?;
        let chosen = config::parse_versions(&args.opencode).map_err(|error| Refusal::configuration(error.to_string()))?;
        let (cwd, npm) = target(args.subject.as_deref())?;
        own_checkout(args.isolation.into(), npm.as_ref())?;
        let loaded = config::load(&cwd).map_err(|error| Refusal::configuration(error.to_string()))?;
        let scenarios: Vec<ScenarioFile> = config::select(&loaded, &args.scenario)
            .map_err(|error| Refusal::configuration(error.to_string()))?
            .into_iter()
            .cloned()
            .collect();
        let bun = bun_tests(config::select_bun_tests(&loaded, &args.scenario), &cwd, npm.is_some(), printer)?;
        let mut config = loaded.config;
        let variants = variants(&config.variants, &args.variant)?;
        if args.isolation == IsolationWord::Process {
            without_images(&variants)?;
        }
        if let Some(jit) = args.jit {
            config.jit = Some(jit.into());
        }
        if npm.is_some() {
            config.plugin =
                ocsweep_proto::config::PluginConfig { options: config.plugin.options, ui: config.plugin.ui, ..Default::default() };
        }
        let package = read_package(&cwd.join(&config.plugin.path));
        let line = init::detect_line(package.as_ref().filter(|_| npm.is_none()));
        let report = config::check_host_configs(&cwd, &config.plugin.path, &loaded.scenarios, line);
        if let Some(error) = report.errors {
            return Err(Refusal::configuration(error.to_string()).into());
        }
        loaded.warnings.iter().chain(&report.warnings).for_each(|warning| printer.warn(warning));
        if args.gate || args.gate_artifact.is_some() {
            printer.warn("--gate and --gate-artifact have no effect: this version has no historical flake gate");
        }
        let keys = config.live.keys.iter().filter_map(|name| std::env::var(name).ok());
        let values: Vec<String> = keys.filter(|value| !value.is_empty()).collect();
        Ok(Self {
            out: args.out.clone().map_or_else(|| cwd.join(".opencode-ci/out"), |out| cwd_join(&out)),
            out_chosen: args.out.is_some(),
            subject: npm.as_ref().map_or_else(|| name_of(&cwd.join(&config.plugin.path), package.as_ref()), |npm| npm.name.clone()),
            source: npm.map_or_else(|| Source::Path(PathSource { directory: cwd.display().to_string() }), Source::Npm),
            line,
            versions: if chosen.is_empty() { config.opencode.versions.clone() } else { chosen },
            keep: args.keep || settings.keep,
            isolation: args.isolation.into(),
            variants,
            bun,
            live_skip: if values.is_empty() { LiveSkip::NoKey } else { LiveSkip::NotBuilt },
            secrets: Secrets::new(&values),
            sweep: sweep_id()?,
            cwd,
            config,
            scenarios,
            tiers,
        })
    }

    /// The required version's word.
    pub(crate) fn required(&self) -> String {
        self.versions.first().map(ToString::to_string).unwrap_or_default()
    }

    /// The flavours that the variants need, each once.
    pub(crate) fn flavours(&self) -> BTreeSet<Flavour> {
        self.variants.iter().map(|variant| variant.flavour).collect()
    }

    pub(crate) fn plan_input(&self, hosts: Vec<BTreeMap<Flavour, Host>>) -> PlanInput {
        PlanInput {
            sweep: self.sweep.clone(),
            prepare: PrepareWork {
                subject: self.subject.clone(),
                source: self.source.clone(),
                plugin: self.config.plugin.clone(),
                limits: self.config.limits.resolve(),
            },
            hosts,
            variants: self.variants.clone(),
            tiers: self.tiers.clone(),
            scenarios: self.scenarios.iter().map(|file| file.scenario.clone()).collect(),
            bun: self.bun.clone(),
            config: self.config.clone(),
            live_skip: Some(self.live_skip),
        }
    }
}

fn tiers(args: &[String]) -> Result<Vec<Tier>, Refusal> {
    let mut tiers = Vec::new();
    for word in args.iter().flat_map(|arg| arg.split(',')).map(str::trim) {
        let tier = Tier::ALL.into_iter().find(|tier| tier.as_str() == word);
        let tier = tier.ok_or_else(|| Refusal::configuration(format!("Invalid --tier {word:?}: expected load, scripted or live.")))?;
        if !tiers.contains(&tier) {
            tiers.push(tier);
        }
    }
    Ok(if tiers.is_empty() { Tier::ALL.to_vec() } else { tiers })
}

/// The variants that were asked for, in the order of the configuration; all of them when none was, and a plain one when there are none.
fn variants(configured: &[Variant], args: &[String]) -> Result<Vec<Variant>, Refusal> {
    let all = if configured.is_empty() { vec![Variant::default()] } else { configured.to_vec() };
    let wanted: Vec<&str> = args.iter().flat_map(|arg| arg.split(',')).map(str::trim).collect();
    for name in &wanted {
        if !all.iter().any(|variant| variant.name.as_str() == *name) {
            let known: Vec<&str> = all.iter().map(|variant| variant.name.as_str()).collect();
            return Err(Refusal::configuration(format!(
                "Unknown --variant {name:?}: the configuration has {}.\nhint: variants are listed under `variants` in .opencode-ci/config.yaml",
                known.join(", ")
            )));
        }
    }
    Ok(all.into_iter().filter(|variant| wanted.is_empty() || wanted.contains(&variant.name.as_str())).collect())
}

/// The project's own tests, which are the checkout's: a published package has none of them.
fn bun_tests(files: &[PathBuf], cwd: &Path, published: bool, printer: Printer) -> Result<Option<BunTests>, Refusal> {
    if files.is_empty() {
        return Ok(None);
    }
    if published {
        printer
            .warn(&format!("{} test file(s) below .opencode-ci are the checkout's and are not run for a published package", files.len()));
        return Ok(None);
    }
    let place = subject::place::locate(cwd, ".").map_err(|error| Refusal::configuration(format!("error: {error}")))?;
    let text = |path: &Path| path.to_str().map(str::to_owned);
    let names: Option<Vec<String>> = files.iter().map(|file| text(file)).collect();
    let names = names.ok_or_else(|| Refusal::configuration("error: the name of a test file below .opencode-ci is not UTF-8"))?;
    Ok(Some(BunTests { directory: place.directory, files: names }))
}

/// Processes run on this machine's own system.
fn without_images(variants: &[Variant]) -> Result<(), Refusal> {
    match variants.iter().find(|variant| variant.image.is_some()) {
        Some(variant) => Err(Refusal::configuration(format!(
            "error: --isolation process has no images, and variant \"{}\" names one\nhint: choose other variants with --variant, or leave out --isolation",
            variant.name
        ))),
        None => Ok(()),
    }
}

/// The working directory, and the package when the subject is a published one.
fn target(subject: Option<&str>) -> Result<(PathBuf, Option<NpmSource>), Refusal> {
    let npm = subject
        .and_then(ocsweep_executor::subject::npm::parse)
        .transpose()
        .map_err(|error| Refusal::configuration(format!("error: {error}")))?;
    let directory = subject.filter(|_| npm.is_none()).unwrap_or(".");
    let cwd = Path::new(directory)
        .canonicalize()
        .map_err(|error| Refusal::configuration(format!("cannot use the directory {directory:?}: {error}.")))?;
    if !cwd.is_dir() {
        return Err(Refusal::configuration(format!(
            "{directory:?} is not a directory.\nhint: name the directory that holds the plugin, or npm:<name>[@version]"
        )));
    }
    Ok((cwd, npm))
}

/// Process isolation is no guard against somebody else's code.
fn own_checkout(isolation: Isolation, published: Option<&NpmSource>) -> Result<(), Refusal> {
    match (isolation, published) {
        (Isolation::Process, Some(npm)) => Err(Refusal::configuration(format!(
            "error: --isolation process runs only your own checkout, and npm:{} is published code\nhint: leave out --isolation, which runs it in a container",
            npm.name
        ))),
        _ => Ok(()),
    }
}

fn cwd_join(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The package's own facts; a file that cannot be read is reported when the entry is looked for.
pub(crate) fn read_package(directory: &Path) -> Option<Value> {
    let file = directory.join("package.json");
    let small = file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() < 4 * 1024 * 1024);
    small.then(|| std::fs::read(file).ok()).flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

fn name_of(directory: &Path, package: Option<&Value>) -> String {
    let named = package.and_then(|package| package.get("name")?.as_str()).filter(|name| !name.is_empty());
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    named.map_or_else(|| real.file_name().map_or_else(|| "plugin".to_owned(), |name| name.to_string_lossy().into_owned()), str::to_owned)
}

/// Unique on this machine: the second and the process.
fn sweep_id() -> anyhow::Result<SweepId> {
    let seconds = time::OffsetDateTime::now_utc().unix_timestamp();
    Ok(SweepId::new(format!("run-{seconds}-{}", std::process::id()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_lists_and_may_be_repeated() {
        let words = |args: &[&str]| tiers(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&[]).unwrap(), Tier::ALL);
        assert_eq!(words(&["scripted,load", "load"]).unwrap(), [Tier::Scripted, Tier::Load]);
        assert_eq!(words(&["lod"]).unwrap_err().text, "Invalid --tier \"lod\": expected load, scripted or live.");
    }

    #[test]
    fn a_published_package_is_not_run_in_processes() {
        let (_, npm) = target(Some("npm:left-pad@1.0.0")).unwrap();
        let refusal = own_checkout(Isolation::Process, npm.as_ref()).unwrap_err();
        assert!(refusal.text.starts_with("error: --isolation process runs only your own checkout, and npm:left-pad is"), "{refusal}");
        assert_eq!(own_checkout(Isolation::Docker, npm.as_ref()), Ok(()));
        assert_eq!(own_checkout(Isolation::Process, None), Ok(()));
    }

    #[test]
    fn variants_are_chosen_by_name() {
        let named = |name: &str| Variant { name: ocsweep_proto::ids::VariantName::new(name).unwrap(), ..Variant::default() };
        let configured = [named("a"), named("b"), named("c")];
        let chosen = |args: &[&str]| {
            let chosen = variants(&configured, &args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
            chosen.map(|variants| variants.iter().map(|variant| variant.name.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&[]).unwrap(), ["a", "b", "c"]);
        assert_eq!(chosen(&["c,a"]).unwrap(), ["a", "c"]);
        assert!(chosen(&["d"]).unwrap_err().text.starts_with("Unknown --variant \"d\": the configuration has a, b, c."));
        assert_eq!(variants(&[], &["default".to_owned()]).unwrap(), [Variant::default()]);
    }

    #[test]
    fn a_missing_directory_is_named() {
        assert!(target(Some("no such directory")).unwrap_err().text.starts_with("cannot use the directory \"no such directory\": "));
    }
}
