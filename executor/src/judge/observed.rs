//! What a row keeps of a case's side effects.

use ocsweep_proto::names;
use ocsweep_proto::row::Observed;

use super::{Case, LIST_CAP, show};

/// Names that the host itself asks for.
const HOSTS_OWN: [&str; 2] = ["opencode.ai", "models.dev"];
/// A directory that the host makes at every start and leaves empty.
const HOSTS_TMP: &str = "$TMPDIR/opencode/";
const WEB_TOOLS: [&str; 2] = ["webfetch", "websearch"];

/// The side effects of a case, capped.
pub(super) fn of(case: &Case<'_>) -> Observed {
    let leaked = case.report().leaked.iter().map(|process| process.command.clone()).collect();
    Observed {
        web_tools: web_tools(case),
        connections: capped(connections(case)),
        writes_outside: capped(writes_outside(case)),
        leaked_processes: capped(leaked),
    }
}

fn capped(items: Vec<String>) -> Vec<String> {
    items.into_iter().take(LIST_CAP).map(|item| show::safe(&show::cut(&item, 500))).collect()
}

/// Web tools of the host that were called.
pub(super) fn web_tools(case: &Case<'_>) -> Vec<String> {
    let called = |tool: &&str| {
        case.seen
            .calls
            .iter()
            .any(|call| names::same_tool(&call.name, tool) || call.wanted.as_deref().is_some_and(|wanted| names::same_tool(wanted, tool)))
    };
    WEB_TOOLS.into_iter().filter(called).map(str::to_owned).collect()
}

/// Connection attempts that left loopback and names that were looked up, each once.
pub(super) fn connections(case: &Case<'_>) -> Vec<String> {
    let mut to: Vec<String> = Vec::new();
    for attempt in case.seen.plugin.net.iter().filter(|attempt| !attempt.loopback && !attempt.host.is_empty()) {
        let text = attempt.port.map_or_else(|| attempt.host.clone(), |port| format!("{}:{port}", attempt.host));
        if !to.contains(&text) {
            to.push(text);
        }
    }
    for name in &case.report().lookups {
        let name = name.trim_end_matches('.');
        let known = to.iter().any(|text| text == name || text.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
        if !name.is_empty() && !known {
            to.push(name.to_owned());
        }
    }
    to
}

/// Whether a connection is one that the host makes without any plugin: by its name, or because only the host's own code asked for it.
pub(super) fn is_the_hosts(case: &Case<'_>, to: &str) -> bool {
    let name = host_of(to);
    let mut attempts = case.seen.plugin.net.iter().filter(|attempt| attempt.host == name).peekable();
    is_known_name(name) || (attempts.peek().is_some() && attempts.all(|attempt| attempt.origin == "host"))
}

fn host_of(to: &str) -> &str {
    to.rsplit_once(':').filter(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())).map_or(to, |(name, _)| name)
}

fn is_known_name(name: &str) -> bool {
    HOSTS_OWN.into_iter().any(|own| name == own || name.strip_suffix(own).is_some_and(|rest| rest.ends_with('.')))
}

/// Files outside project and XDG directories, without what the host unpacks at every start.
pub(super) fn writes_outside(case: &Case<'_>) -> Vec<String> {
    case.report().writes_outside.iter().filter(|path| !is_unpacked_library(path) && *path != HOSTS_TMP).cloned().collect()
}

/// `$TMPDIR/.<hex>-00000000.so`
fn is_unpacked_library(path: &str) -> bool {
    let name = path.strip_prefix("$TMPDIR/.").and_then(|rest| rest.strip_suffix(".so").or_else(|| rest.strip_suffix(".node")));
    name.and_then(|name| name.rsplit_once('-'))
        .is_some_and(|(hex, count)| !hex.is_empty() && [hex, count].into_iter().all(|part| part.bytes().all(|b| b.is_ascii_hexdigit())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_traces_are_known() {
        assert!(is_unpacked_library("$TMPDIR/.5fe3f7b9d8f3dbf7-00000000.so"));
        for path in ["$TMPDIR/x.so", "$TMPDIR/.x-0.so", "$HOME/.5fe3f7b9d8f3dbf7-00000000.so", "$TMPDIR/.abc.so"] {
            assert!(!is_unpacked_library(path), "{path}");
        }
        assert!(is_known_name("models.opencode.ai") && is_known_name("models.dev"));
        assert!(!is_known_name("evilopencode.ai") && !is_known_name("api.example.com"));
        assert_eq!((host_of("a.b:443"), host_of("a.b"), host_of("a:b")), ("a.b", "a.b", "a:b"));
    }
}
