//! The nearest real name for one that does not exist.

use ocsweep_proto::names;

/// How alike two names must be, from 0 to 1, to be worth a question.
const ALIKE: f64 = 0.7;

/// The nearest hook of a v1 host, in backticks, or the event type behind a name such as `onSessionIdle`.
pub(super) fn hook(name: &str) -> Option<String> {
    let dotted = dotted(name);
    let hooks = names::V1_HOOKS.into_iter().filter(|hook| !names::V1_DEAD_HOOKS.contains(hook)).chain([names::V1_DISPOSE]);
    let hook = nearest(&[name, &dotted], hooks).map(|(score, hook)| (score, format!("`{hook}`")));
    let event = nearest(&[name, &dotted], names::V1_EVENTS).map(|(score, event)| (score, format!("`event` with type {event}")));
    [hook, event].into_iter().flatten().max_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, text)| text)
}

/// The nearest hook or event of a v2 host.
pub(super) fn on_v2(name: &str) -> Option<&'static str> {
    let dotted = dotted(name);
    nearest(&[name, &dotted], names::v2::V2_HOOKS.into_iter().chain(names::v2::V2_EVENTS)).map(|(_, name)| name)
}

fn nearest<'a>(spellings: &[&str], names: impl IntoIterator<Item = &'a str>) -> Option<(f64, &'a str)> {
    let scored = names.into_iter().map(|name| {
        let score = spellings.iter().map(|spelling| strsim::normalized_damerau_levenshtein(spelling, name)).fold(0.0, f64::max);
        (score, name)
    });
    scored.filter(|(score, _)| *score >= ALIKE).max_by(|left, right| left.0.total_cmp(&right.0))
}

/// `onSessionIdle` as `session.idle`.
fn dotted(name: &str) -> String {
    let name = name.strip_prefix("on").filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase())).unwrap_or(name);
    let mut out = String::new();
    for c in name.chars().take(100) {
        match c {
            '_' | ':' | '/' | '-' => out.push('.'),
            c if c.is_ascii_uppercase() => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push(c.to_ascii_lowercase());
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_not() {
        for (name, suggestion) in [
            ("chat.mesage", Some("`chat.message`")),
            ("tool.executed.after", Some("`tool.execute.after`")),
            ("onSessionIdle", Some("`event` with type session.idle")),
            ("session.idle", Some("`event` with type session.idle")),
            ("tools", Some("`tool`")),
            ("toolExecuteBefore", Some("`tool.execute.before`")),
            ("wakatime", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(hook(name).as_deref(), suggestion, "{name}");
        }
    }
}
