//! The evidence of a case as files: what is kept, under which names, and with every known secret removed.
//!
//! Nothing here judges. The raw bytes that a verdict was made of stay in memory; what is written is scrubbed.

use ocsweep_proto::redact::Secrets;
use ocsweep_proto::row::CaseRow;
use serde::Serialize;

use crate::evidence::RawEvidence;

/// A file of the evidence, by name relative to the case's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceFile {
    /// Its name.
    pub name: &'static str,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// The archive of a project, as frames brought it.
pub const WORKSPACE: &str = "workspace.tar.zst";
/// The row of the case.
pub const RESULT: &str = "result.json";

/// The files of a case but for its row, which is written last, when it is complete, and tells that the others are.
///
/// # Errors
/// When a record cannot be written as JSON.
pub fn files(raw: &RawEvidence, workspace: Option<Vec<u8>>, secrets: &Secrets) -> Result<Vec<EvidenceFile>, serde_json::Error> {
    let file = |name, bytes| EvidenceFile { name, bytes };
    let (events, noisy) = events(&raw.stdout);
    let mut files = vec![file("events.jsonl", secrets.scrub_json_lines(&events))];
    if noisy {
        // What the host printed, byte for byte but for secrets: the events above leave out what the plugin printed between them.
        files.push(file("stdout.log", secrets.scrub_bytes(&raw.stdout)));
    }
    files.push(file("stderr.log", secrets.scrub_bytes(&raw.stderr)));
    files.push(file("probe.jsonl", [raw.probe_pre.as_slice(), &raw.probe_observer, &raw.probe_post].concat()));
    files.push(file("stub-requests.jsonl", secrets.scrub_json_lines(&lines(&raw.stub_requests)?)));
    files.push(file("report.json", secrets.scrub_json_lines(&pretty(&raw.report)?)));
    files.extend(workspace.map(|bytes| file(WORKSPACE, bytes)));
    Ok(files)
}

/// The row as a file.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn result(row: &CaseRow) -> Result<EvidenceFile, serde_json::Error> {
    Ok(EvidenceFile { name: RESULT, bytes: pretty(row)? })
}

/// The lines of standard output that are JSON objects, and whether there was anything else.
fn events(stdout: &[u8]) -> (Vec<u8>, bool) {
    let mut events = Vec::with_capacity(stdout.len());
    let mut noisy = false;
    for line in stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let start = line.iter().position(|byte| *byte == b'{');
        match start.map(|start| (start, &line[start..])).filter(|(_, json)| serde_json::from_slice::<serde::de::IgnoredAny>(json).is_ok()) {
            Some((start, json)) => {
                noisy |= start > 0;
                events.extend_from_slice(json);
                events.push(b'\n');
            }
            None => noisy = true,
        }
    }
    (events, noisy)
}

fn lines<T: Serialize>(records: &[T]) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    for record in records {
        serde_json::to_writer(&mut bytes, record)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn pretty<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocsweep_proto::agent::{Report, RequestKind, StubRequest};

    const SECRET: &str = "sk-canary-0123456789";

    fn raw(stdout: &str) -> RawEvidence {
        RawEvidence {
            stdout: stdout.as_bytes().to_vec(),
            stderr: format!("level=INFO key={SECRET}\n").into_bytes(),
            probe_pre: b"{\"phase\":\"pre\"}\n".to_vec(),
            probe_observer: Vec::new(),
            probe_post: Vec::new(),
            stub_requests: vec![StubRequest {
                n: 1,
                t: 0,
                kind: RequestKind::Primary,
                headers: [("authorization".to_owned(), SECRET.to_owned())].into(),
                body: serde_json::json!({"x": SECRET}),
            }],
            report: Report { fault: Some(SECRET.to_owned()), ..Report::default() },
            complete: true,
        }
    }

    fn text(files: &[EvidenceFile], name: &str) -> Option<String> {
        files.iter().find(|file| file.name == name).map(|file| String::from_utf8(file.bytes.clone()).unwrap())
    }

    #[test]
    fn noise_is_kept_beside_the_events_and_a_glued_event_is_not_lost() {
        let files = files(&raw("[noisy]\n{\"type\":\"a\"}\n[x] {\"type\":\"b\"}\n{broken\n"), None, &Secrets::new([SECRET])).unwrap();
        assert_eq!(text(&files, "events.jsonl").unwrap(), "{\"type\":\"a\"}\n{\"type\":\"b\"}\n");
        assert!(text(&files, "stdout.log").unwrap().contains("{broken"));
    }

    #[test]
    fn clean_output_has_no_second_copy() {
        let files = files(&raw("{\"type\":\"a\"}\n"), Some(vec![1]), &Secrets::new([SECRET])).unwrap();
        assert_eq!(text(&files, "stdout.log"), None);
        assert!(files.iter().any(|file| file.name == WORKSPACE));
    }

    #[test]
    fn no_secret_reaches_a_file_that_is_scrubbed() {
        let files = files(&raw(&format!("{{\"type\":\"{SECRET}\"}}\nnoise {SECRET}\n")), None, &Secrets::new([SECRET])).unwrap();
        for file in files {
            assert!(!String::from_utf8_lossy(&file.bytes).contains(SECRET), "{}", file.name);
        }
    }
}
