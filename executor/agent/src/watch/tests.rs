//! Which bound is reached when, and what it names.

use super::*;

const BOUNDS: Deadlines = Deadlines { start: 100, init: 30, no_output: 120, total: 1000 };

fn observed(json: serde_json::Value) -> Event {
    Event::Observed(serde_json::from_value(json).unwrap())
}

/// Feeds events at their times and gives the first bound that is reached, with its time.
fn run(events: &[(u64, Event)]) -> (u64, Bound, String) {
    run_on(StandIn::Observer, events)
}

fn run_on(stand_in: StandIn, events: &[(u64, Event)]) -> (u64, Bound, String) {
    let mut watch = Watch::new(BOUNDS, stand_in, 0);
    let mut events = events.iter();
    let mut next = events.next();
    loop {
        let due = watch.due();
        match next {
            Some((at, event)) if *at < due => {
                assert_eq!(watch.expired(*at), None);
                watch.apply(event, *at);
                next = events.next();
            }
            _ => {
                let timeout = watch.expired(due).unwrap();
                return (due, timeout.bound, timeout.pending);
            }
        }
    }
}

#[test]
fn silence_from_the_beginning_is_the_start_bound() {
    assert_eq!(run(&[]), (100, Bound::Start, String::new()));
    // Standard error and model requests are no sign that the host has started.
    assert_eq!(run(&[(90, Event::Other)]), (100, Bound::Start, String::new()));
}

#[test]
fn silence_after_a_sign_of_life_is_the_no_output_bound() {
    for event in [Event::Stdout, Event::Probe, observed(serde_json::json!({"kind": "net"}))] {
        assert_eq!(run(&[(50, event.clone()), (60, Event::Other)]), (180, Bound::NoOutput, String::new()), "{event:?}");
    }
}

#[test]
fn a_busy_run_reaches_the_total_bound() {
    let events: Vec<_> = (0..100).map(|n| (n * 50, Event::Stdout)).collect();
    assert_eq!(run(&events), (1000, Bound::Total, String::new()));
}

#[test]
fn the_init_bound_counts_only_what_is_pending() {
    let start = |id: u64| observed(serde_json::json!({"kind": "factory.start", "id": id, "export": "Indexer"}));
    let end = |id: u64| observed(serde_json::json!({"kind": "factory.end", "id": id, "export": "Indexer"}));
    let client = |word: &str| observed(serde_json::json!({"kind": word, "id": 7, "call": "session.list"}));
    let waits = [(10, start(1)), (12, client("client.start"))];
    assert_eq!(run(&waits), (40, Bound::Init, "factory \"Indexer\", waiting for session.list".to_owned()));
    let waited = [(10, start(1)), (12, client("client.start")), (20, client("client.end"))];
    assert_eq!(run(&waited), (40, Bound::Init, "factory \"Indexer\"".to_owned()));
    assert_eq!(run(&[(10, start(1)), (39, end(1))]), (159, Bound::NoOutput, String::new()));
    // Another one's end does not count.
    assert_eq!(run(&[(10, start(1)), (39, end(2))]).1, Bound::Init);
    // Two in a row have their own time each.
    assert_eq!(run(&[(10, start(1)), (35, end(1)), (35, start(2))]), (65, Bound::Init, "factory \"Indexer\"".to_owned()));
}

#[test]
fn only_the_config_hook_is_part_of_the_start() {
    let hook = |hook: &str, kind: &str| observed(serde_json::json!({"kind": kind, "id": 3, "hook": hook}));
    assert_eq!(run(&[(10, hook("config", "hook.start"))]), (40, Bound::Init, "hook \"config\"".to_owned()));
    assert_eq!(run(&[(10, hook("event", "hook.start"))]).1, Bound::NoOutput);
    assert_eq!(run(&[(10, hook("config", "hook.start")), (20, hook("config", "hook.end"))]).1, Bound::NoOutput);
}

#[test]
fn an_import_is_pending_until_anything_shows_that_it_is_over() {
    let record = |kind: &str| observed(serde_json::json!({"kind": kind, "id": 0}));
    assert_eq!(run(&[(10, record("setup"))]), (40, Bound::Init, "import of the entry".to_owned()));
    assert_eq!(run(&[(10, record("setup")), (20, record("import"))]).1, Bound::NoOutput);
    assert_eq!(run(&[(10, record("import")), (20, record("setup"))]).1, Bound::NoOutput);
    let factory = [(10, record("setup")), (20, record("factory.start")), (25, record("factory.end"))];
    assert_eq!(run(&factory).1, Bound::NoOutput);
}

#[test]
fn a_flood_of_starts_stays_small() {
    let mut watch = Watch::new(BOUNDS, StandIn::Observer, 0);
    for id in 0..10_000 {
        for kind in ["factory.start", "client.start"] {
            watch.apply(&observed(serde_json::json!({"kind": kind, "id": id, "export": "x".repeat(1000)})), 1);
        }
    }
    assert_eq!((watch.pending.len(), watch.clients.len()), (MAX_PENDING, MAX_PENDING));
    assert!(watch.pending[0].1.what.len() < 300);
}

#[test]
fn without_an_observer_the_setup_lies_between_the_probes() {
    let (before, after) = (Event::SetUp(Side::Before), Event::SetUp(Side::After));
    let hangs = [(10, before.clone()), (20, Event::Probe), (25, Event::Stdout)];
    assert_eq!(run_on(StandIn::Shim, &hangs), (40, Bound::Init, "plugin setup".to_owned()));
    // A second one, as after a reload, does not put the bound off.
    assert_eq!(run_on(StandIn::Shim, &[(10, before.clone()), (35, before.clone())]), (40, Bound::Init, "plugin setup".to_owned()));
    for end in [after.clone(), Event::Prompted] {
        assert_eq!(run_on(StandIn::Shim, &[(10, before.clone()), (20, end)]), (140, Bound::NoOutput, String::new()));
    }
    assert_eq!(run_on(StandIn::Observer, &[(10, before.clone()), (20, Event::Probe)]), (140, Bound::NoOutput, String::new()));
    // An import that hung alone is pending from the beginning.
    for (stand_in, bound) in [(StandIn::Shim, Some(Bound::Init)), (StandIn::Observer, None)] {
        let mut watch = Watch::new(BOUNDS, stand_in, 0);
        watch.expect_hang(0);
        watch.apply(&before, 20);
        assert_eq!(watch.expired(30).map(|timeout| timeout.bound), bound);
    }
}
