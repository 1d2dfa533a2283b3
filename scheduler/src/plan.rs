//! The plan: one subject, its cells and every case of them, with stable ids. Pure expansion; it must never resolve a version, touch a
//! file or look at an outcome.

use std::collections::BTreeMap;

use ocsweep_proto::axes::{Flavour, Jit, Tier};
use ocsweep_proto::config::{Config, InventoryExpect, LogLevel, Variant};
use ocsweep_proto::ids::{BUN_TEST, CaseAxes, CaseId, ScenarioId, SweepId, VariantName};
use ocsweep_proto::job::{BunTests, CaseWork, Host, Overlay, PrepareWork, Subject};
use ocsweep_proto::limits::Limits;
use ocsweep_proto::scenario::{Mode, Scenario};
use serde_json::{Map, Value};

/// What a plan is made of.
#[derive(Debug, Clone)]
pub struct PlanInput {
    /// The run's id.
    pub sweep: SweepId,
    /// How to get the subject.
    pub prepare: PrepareWork,
    /// The host versions in order, each in the flavours that the variants need; the first is required, the others are allowed to fail.
    pub hosts: Vec<BTreeMap<Flavour, Host>>,
    /// The variants of each version. One whose flavour a version does not have gives no cell there.
    pub variants: Vec<Variant>,
    /// The selected tiers.
    pub tiers: Vec<Tier>,
    /// The selected scenarios, in file order.
    pub scenarios: Vec<Scenario>,
    /// The project's own test files, when they are selected: one case, of the first cell.
    pub bun: Option<BunTests>,
    /// The plugin's configuration.
    pub config: Config,
    /// Why the live tier cannot run, in words; `None` would mean that it can.
    pub live_skip: Option<LiveSkip>,
}

/// Why live cases do not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveSkip {
    /// No key is set.
    NoKey,
    /// This build has no live tier.
    NotBuilt,
}

/// A subject, its cells and their cases.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The run's id.
    pub sweep: SweepId,
    /// The case id of the preparation.
    pub prepare_case: CaseId,
    /// The preparation.
    pub prepare: PrepareWork,
    /// Cells in report order.
    pub cells: Vec<Cell>,
    settings: Settings,
    bun: Option<BunTests>,
}

#[derive(Debug, Clone)]
struct Settings {
    expect: InventoryExpect,
    options: Map<String, Value>,
    log_level: LogLevel,
    jit: Option<Jit>,
    limits: Limits,
    live_skip: Option<LiveSkip>,
    live_keys: Vec<String>,
}

/// Subject x version x variant.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The host.
    pub host: Host,
    /// The variant.
    pub variant: VariantName,
    /// Whether a failure counts.
    pub required: bool,
    /// Cases, the load case first when it is selected.
    pub cases: Vec<PlannedCase>,
    /// What the variant changes.
    pub overlay: Overlay,
    /// Plugin options of the variant.
    pub options: Map<String, Value>,
    /// The id that the load case has, also when the tier is not selected: a subject that cannot be prepared is reported there.
    pub load_case: CaseId,
}

/// One case of a cell.
#[derive(Debug, Clone)]
pub struct PlannedCase {
    /// Stable id.
    pub case: CaseId,
    /// Tier.
    pub tier: Tier,
    /// `load` or the scenario's id.
    pub id: ScenarioId,
    /// The scenario, unless it is the load case.
    pub scenario: Option<Scenario>,
}

impl Plan {
    /// Expands the input into cells and cases.
    #[must_use]
    pub fn expand(input: PlanInput) -> Self {
        let mut cells = Vec::new();
        for (index, flavours) in input.hosts.iter().enumerate() {
            let variants = input.variants.iter().filter_map(|variant| Some((flavours.get(&variant.flavour)?, variant)));
            cells.extend(variants.map(|(host, variant)| cell(&input, host, variant, index == 0)));
        }
        let bun = input.bun.clone().filter(|_| input.tiers.contains(&Tier::Scripted));
        if let (Some(first), true) = (cells.first_mut(), bun.is_some()) {
            let id = ScenarioId::bun_test();
            let axes = CaseAxes {
                subject: &input.prepare.subject,
                opencode: &first.host.requested,
                variant: &first.variant,
                tier: Tier::Scripted,
                scenario: &id,
            };
            first.cases.push(PlannedCase { case: CaseId::of(axes), tier: Tier::Scripted, id, scenario: None });
        }
        Self {
            bun,
            prepare_case: CaseId::prepare(&input.prepare.subject),
            settings: Settings {
                expect: input.config.expect,
                options: input.config.plugin.options,
                log_level: input.config.log_level,
                jit: input.config.jit,
                limits: input.config.limits.resolve(),
                live_skip: input.live_skip,
                live_keys: input.config.live.keys,
            },
            sweep: input.sweep,
            prepare: input.prepare,
            cells,
        }
    }

    /// Number of cases.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.iter().map(|cell| cell.cases.len()).sum()
    }

    /// Whether the selection contains no case at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Why live cases are skipped, with the text of their rows.
    pub(crate) fn live_skip(&self) -> Option<(ocsweep_proto::verdict::Reason, String)> {
        use ocsweep_proto::verdict::Reason;
        Some(match self.settings.live_skip? {
            LiveSkip::NoKey => (Reason::NoKey, format!("no API key (set one of: {})", self.settings.live_keys.join(", "))),
            LiveSkip::NotBuilt => (Reason::NotApplicable, "the live tier is not part of this version of ocsweep".to_owned()),
        })
    }

    #[cfg(test)]
    pub(crate) fn settings_for_test(&mut self) -> &mut Map<String, Value> {
        &mut self.settings.options
    }

    /// The work of a case, once its subject is ready.
    #[must_use]
    pub fn work(&self, cell: &Cell, case: &PlannedCase, subject: &Subject) -> CaseWork {
        let mut options = self.settings.options.clone();
        options.extend(cell.options.clone());
        let own = case.scenario.as_ref().and_then(|scenario| scenario.plugin.as_ref()?.options.clone());
        options.extend(own.unwrap_or_default());
        CaseWork {
            subject: subject.clone(),
            host: cell.host.clone(),
            variant: cell.variant.clone(),
            tier: case.tier,
            id: case.id.clone(),
            scenario: case.scenario.clone(),
            expect: self.settings.expect.clone(),
            options,
            log_level: self.settings.log_level,
            overlay: cell.overlay.clone(),
            jit: self.settings.jit.unwrap_or(if case.tier == Tier::Live { Jit::Full } else { Jit::Reduced }),
            bun: self.bun.clone().filter(|_| case.id.as_str() == BUN_TEST),
            limits: self.settings.limits.clone(),
        }
    }
}

fn cell(input: &PlanInput, host: &Host, variant: &Variant, required: bool) -> Cell {
    let overlay =
        Overlay { flavour: variant.flavour, image: variant.image.clone(), env: variant.env.clone(), config: variant.config.clone() };
    let case = |tier: Tier, id: ScenarioId, scenario: Option<Scenario>| PlannedCase {
        case: CaseId::of(CaseAxes {
            subject: &input.prepare.subject,
            opencode: &host.requested,
            variant: &variant.name,
            tier,
            scenario: &id,
        }),
        tier,
        id,
        scenario,
    };
    let load = case(Tier::Load, ScenarioId::load(), None);
    let load_case = load.case.clone();
    let mut cases: Vec<PlannedCase> = input.tiers.contains(&Tier::Load).then_some(load).into_iter().collect();
    for (tier, mode) in [(Tier::Scripted, Mode::Scripted), (Tier::Live, Mode::Live)] {
        if input.tiers.contains(&tier) {
            let scenarios = input.scenarios.iter().filter(|scenario| scenario.mode == mode);
            cases.extend(scenarios.map(|scenario| case(tier, scenario.id.clone(), Some(scenario.clone()))));
        }
    }
    Cell { host: host.clone(), variant: variant.name.clone(), required, cases, overlay, options: variant.options.clone(), load_case }
}
