//! What a failed installation says about whose fault it is, read from the output of npm and bun. Pure.
//!
//! A typed answer does not exist: the package manager runs in a container, inside a command that a person wrote. Only lines in the package
//! managers' own form count, and no finding ever turns a failure into a success.

use ocsweep_proto::verdict::Reason;

/// What the output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The reason; `None` leaves it to the step.
    pub reason: Option<Reason>,
    /// One sentence.
    pub text: String,
}

const NETWORK_CODES: [&str; 19] = [
    "EAI_AGAIN",
    "ENOTFOUND",
    "ETIMEDOUT",
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "EPIPE",
    "ESOCKETTIMEDOUT",
    "ERR_SOCKET_TIMEOUT",
    "EIDLETIMEOUT",
    "ECONNECTIONTIMEOUT",
    "ERESPONSETIMEOUT",
    "ETRANSFERTIMEOUT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "CERT_HAS_EXPIRED",
];

/// The finding of an output, `None` when it holds none. The registry's failure outranks the subject's.
#[must_use]
pub fn classify(log: &str) -> Option<Finding> {
    let npm: Vec<&str> = log.lines().filter_map(npm_line).collect();
    let findings: Vec<Finding> = npm_finding(&npm).into_iter().chain(log.lines().filter_map(bun_finding)).collect();
    let infrastructure = findings.iter().find(|finding| finding.reason == Some(Reason::Registry)).cloned();
    infrastructure.or_else(|| findings.into_iter().next())
}

fn npm_line(line: &str) -> Option<&str> {
    let line = line.trim_end();
    ["npm error", "npm ERR!"].iter().find_map(|prefix| line.strip_prefix(prefix)).map(|rest| rest.strip_prefix(' ').unwrap_or(rest))
}

fn npm_finding(lines: &[&str]) -> Option<Finding> {
    let code = lines.iter().rev().find_map(|line| line.strip_prefix("code "))?.trim();
    let status = code.strip_prefix('E').and_then(|digits| digits.parse::<u16>().ok());
    if NETWORK_CODES.contains(&code) {
        return Some(registry(format!("the registry could not be reached from the prepare container ({code}).")));
    }
    match (code, status) {
        ("ERESOLVE", _) => Some(Finding { reason: Some(Reason::InstallFailed), text: conflict(lines) }),
        ("E404", _) => Some(not_found(quoted(lines).map_or_else(|| "a package is".to_owned(), |name| format!("{name} is")))),
        ("ETARGET", _) => Some(not_found(target(lines).map_or_else(|| "a version is".to_owned(), |name| format!("{name} is")))),
        ("EINTEGRITY", _) => Some(registry("the registry's bytes do not match its integrity hash (EINTEGRITY).".to_owned())),
        (_, Some(401 | 403)) => Some(registry(format!("the registry wants a token ({code}); the prepare container is given none."))),
        (_, Some(429 | 500..=599)) => Some(registry(format!("the registry answered with an error ({code})."))),
        _ => None,
    }
}

fn registry(text: String) -> Finding {
    Finding { reason: Some(Reason::Registry), text }
}

fn not_found(what: String) -> Finding {
    Finding { reason: Some(Reason::PackageNotFound), text: format!("{what} not in the registry.") }
}

/// The two ranges that exclude one another, with who asks for them.
fn conflict(lines: &[&str]) -> String {
    let found = lines.iter().position(|line| line.starts_with("Found: "));
    let have = found.and_then(|at| {
        let block = lines[at + 1..].iter().take_while(|line| !line.trim().is_empty());
        let asks = block.map(|line| line.trim()).find(|line| line.contains("@\"") && line.contains(" from "));
        Some(asks?.to_owned()).or_else(|| lines[at].strip_prefix("Found: ").map(str::to_owned))
    });
    let wanted = lines
        .iter()
        .position(|line| line.starts_with("Could not resolve dependency"))
        .and_then(|at| lines.get(at + 1))
        .map(|line| line.trim());
    match (have, wanted) {
        (Some(have), Some(wanted)) => format!("two packages want versions that exclude each other (ERESOLVE): {have}, but {wanted}."),
        _ => "the dependencies exclude each other (ERESOLVE).".to_owned(),
    }
}

fn quoted<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let line = lines.iter().find(|line| line.starts_with("404 ") && line.matches('\'').count() >= 2)?;
    line.split('\'').nth(1).filter(|name| !name.is_empty())
}

fn target<'a>(lines: &[&'a str]) -> Option<&'a str> {
    lines.iter().find_map(|line| line.split_once("No matching version found for ")).map(|(_, rest)| rest.trim_end_matches('.'))
}

fn bun_finding(line: &str) -> Option<Finding> {
    let error = line.trim_end().strip_prefix("error: ")?;
    for doing in [" downloading package manifest ", " downloading tarball "] {
        if let Some((word, _)) = error.split_once(doing)
            && !word.contains(' ')
        {
            return Some(registry(format!("the registry could not be reached from the prepare container ({word}).")));
        }
    }
    if let Some((request, status)) = error.rsplit_once(" - ")
        && request.starts_with("GET ")
    {
        return match status.parse::<u16>().ok()? {
            404 => Some(not_found(format!("{} is", request.rsplit('/').next()?.replace("%2f", "/")))),
            401 | 403 => Some(registry(format!("the registry wants a token ({status}); the prepare container is given none."))),
            429 | 500..=599 => Some(registry(format!("the registry answered with an error ({status})."))),
            _ => None,
        };
    }
    let rest = error.strip_prefix("No version matching \"")?;
    let (version, rest) = rest.split_once('"')?;
    let name = rest.split('"').nth(1)?;
    Some(not_found(format!("{name}@{version} is")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from npm 11, without the lines that name files.
    const ERESOLVE: &str = r#"npm error code ERESOLVE
npm error ERESOLVE unable to resolve dependency tree
npm error
npm error While resolving: undefined@undefined
npm error Found: react@18.0.0
npm error node_modules/react
npm error   react@"18.0.0" from the root project
npm error
npm error Could not resolve dependency:
npm error peer react@"17.0.2" from react-dom@17.0.2
npm error node_modules/react-dom
npm error   react-dom@"17.0.2" from the root project
npm error
npm error Fix the upstream dependency conflict, or retry this command with --force or --legacy-peer-deps
"#;
    const E404: &str = "npm error code E404
npm error 404 Not Found - GET https://npm.example/no-such-package
npm error 404
npm error 404  The requested resource 'no-such-package@1' could not be found or you do not have permission to access it.
";
    const ETARGET: &str = "npm ERR! code ETARGET\nnpm ERR! notarget No matching version found for react@99.0.0.\n";
    const BUN: &str = "bun install v1.4.5 (a7733435c)\nResolving dependencies\nerror: GET https://npm.example/@s%2fp - 404\n\nerror: @s/p@1 failed to resolve\n";

    #[test]
    fn whose_fault_it_is() {
        let found = |log: &str| classify(log).map(|finding| (finding.reason, finding.text));
        let own = |reason, text: &str| Some((Some(reason), text.to_owned()));
        let conflict = r#"two packages want versions that exclude each other (ERESOLVE): react@"18.0.0" from the root project, but peer react@"17.0.2" from react-dom@17.0.2."#;
        assert_eq!(found(ERESOLVE), own(Reason::InstallFailed, conflict));
        assert_eq!(found(E404), own(Reason::PackageNotFound, "no-such-package@1 is not in the registry."));
        assert_eq!(found(ETARGET), own(Reason::PackageNotFound, "react@99.0.0 is not in the registry."));
        assert_eq!(found(BUN), own(Reason::PackageNotFound, "@s/p is not in the registry."));
        let no_version = "error: No version matching \"99.0.0\" found for specifier \"react\" (but package exists)";
        assert_eq!(found(no_version), own(Reason::PackageNotFound, "react@99.0.0 is not in the registry."));
    }

    #[test]
    fn what_is_no_ones_fault_here() {
        let lines = [
            "npm error code ENOTFOUND",
            "npm error code EAI_AGAIN",
            "npm ERR! code ETIMEDOUT",
            "npm error code E503",
            "npm error code E429",
            "npm error code E401",
            "npm error code SELF_SIGNED_CERT_IN_CHAIN",
            "npm error code EINTEGRITY",
            "error: DNSResolveFailed downloading package manifest react",
            "error: ConnectionRefused downloading tarball react@18.0.0",
            "error: GET https://npm.example/x - 502",
            "error: GET https://npm.example/x - 404\nerror: ConnectionRefused downloading package manifest y",
        ];
        for line in lines {
            assert_eq!(classify(line).and_then(|finding| finding.reason), Some(Reason::Registry), "{line}");
        }
    }

    #[test]
    fn other_output_says_nothing() {
        for line in [
            "",
            "code ENOTFOUND",
            "Error: ENOTFOUND",
            "npm error code ELIFECYCLE",
            "npm error code E400",
            "npm warn code ENOTFOUND",
            "error: script \"build\" exited with code 1",
            "error: a b downloading tarball x",
        ] {
            assert_eq!(classify(line), None, "{line}");
        }
        assert_eq!(classify("npm error code ERESOLVE").unwrap().text, "the dependencies exclude each other (ERESOLVE).");
    }
}
