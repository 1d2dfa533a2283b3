//! Warnings about the surface of a v2 plugin, as far as the model's requests show it: hooks cannot be seen on this line, and whose tool it
//! is only where the host brings none of that name.

use ocsweep_proto::agent::StubRequest;
use ocsweep_proto::code_mode;
use ocsweep_proto::names::v2::V2_BUILTIN_TOOLS;
use serde_json::Value;

use super::{SHOWN_KEYS, has_type};
use crate::evidence::catalog_text;
use crate::judge::show;

/// The warnings of a load row. Nothing but the plugin adds tools to a load.
pub(super) fn warnings(request: &StubRequest) -> Vec<String> {
    let catalog = catalog_text(request);
    let mut warnings = shadowed(&catalog);
    warnings.extend(direct(request));
    warnings.extend(in_catalog(&catalog));
    warnings
}

/// Built-in tools are offered directly, so one of their names in the catalog is the plugin's.
fn shadowed(catalog: &str) -> Vec<String> {
    let mut names: Vec<String> = code_mode::catalog(catalog).iter().map(code_mode::CallPath::joined).collect();
    names.retain(|name| V2_BUILTIN_TOOLS.contains(&name.as_str()));
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|tool| format!("plugin tool `{tool}` has the name of the built-in tool `{tool}`.")).collect()
}

fn direct(request: &StubRequest) -> Vec<String> {
    let offered = request.body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let named = offered.iter().filter_map(|tool| Some((tool.pointer("/function/name")?.as_str()?, tool)));
    let own = named.filter(|(name, _)| !V2_BUILTIN_TOOLS.contains(name));
    own.filter_map(|(name, tool)| {
        let properties = tool.pointer("/function/parameters/properties").and_then(Value::as_object);
        let untyped: Vec<String> =
            properties.into_iter().flatten().filter(|(_, schema)| !has_type(schema)).map(|(name, _)| format!("\"{name}\"")).collect();
        warning(name, &untyped)
    })
    .collect()
}

fn warning(tool: &str, untyped: &[String]) -> Option<String> {
    (!untyped.is_empty())
        .then(|| format!("tool `{tool}`: the schema that the model receives has no type for argument {}.", show::list(untyped, SHOWN_KEYS)))
}

/// Signatures that are read, and characters of each, so that a hostile catalog costs a bounded amount.
const SIGNATURES: usize = 500;
const SIGNATURE_CHARS: usize = 20_000;

/// Arguments that a signature of the catalog gives as `unknown` or `any`. A signature may go on over several lines.
fn in_catalog(catalog: &str) -> Vec<String> {
    let mut at = 0;
    let starts = catalog.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line)
    });
    let signatures = starts.filter(|(_, line)| line.trim_start().starts_with("- tools")).take(SIGNATURES);
    let mut warnings: Vec<String> = Vec::new();
    for (at, line) in signatures {
        let Some(path) = code_mode::catalog(line).into_iter().next() else { continue };
        let open = line.find("(input").map(|open| &catalog[at + open..]);
        let untyped: Vec<String> = open.map(untyped_fields).unwrap_or_default().iter().map(|name| format!("\"{name}\"")).collect();
        warnings.extend(warning(&path.joined(), &untyped).filter(|text| !warnings.contains(text)));
    }
    warnings
}

/// The names of the outermost fields of `(input: { … })` whose type is `unknown` or `any`.
fn untyped_fields(signature: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut depth = 0_usize;
    let mut chars = signature.chars().take(SIGNATURE_CHARS).peekable();
    let (mut comment, mut literal) = (false, false);
    while let Some(c) = chars.next() {
        match c {
            '\\' if literal => field.extend([Some(c), chars.next()].into_iter().flatten()),
            '"' if !comment => {
                literal = !literal;
                field.push(c);
            }
            _ if literal => field.push(c),
            '*' if comment && chars.peek() == Some(&'/') => {
                chars.next();
                comment = false;
            }
            _ if comment => {}
            '/' if chars.peek() == Some(&'*') => comment = true,
            '{' | '(' | '[' | '<' => {
                depth += 1;
                // Behind `({` a field begins.
                if depth == 2 { field.clear() } else { field.push(c) }
            }
            '}' | ')' | ']' | '>' => {
                if depth == 2 {
                    fields.push(std::mem::take(&mut field));
                }
                depth = depth.saturating_sub(1);
                if depth < 2 {
                    break;
                }
                field.push(c);
            }
            ',' | ';' if depth == 2 => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.iter().filter_map(|field| untyped_name(field)).collect()
}

fn untyped_name(field: &str) -> Option<String> {
    let (name, kind) = field.split_once(':')?;
    let name = name.trim().trim_end_matches('?').trim_matches(['"', '\'']);
    (matches!(kind.trim(), "unknown" | "any") && !name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untyped_arguments_of_signatures() {
        for (signature, untyped) in [
            ("(input: {\n  /** Text: a, b */\n  text: string,\n}): Promise<unknown> // Echo", &[] as &[&str]),
            ("(input: { q: unknown; n?: number }): Promise<unknown>", &["q"]),
            ("(input: {\n  a?: any,\n  b: { c: unknown },\n  \"d-e\": unknown\n}): Promise<any>", &["a", "d-e"]),
            ("(input: { list: Array<unknown>, map: Record<string, unknown> }): Promise<string>", &[]),
            ("(input: {}): Promise<unknown>", &[]),
            (r#"(input: { mode: "a, b: any" | "}\"", rest: unknown }): Promise<unknown>"#, &["rest"]),
            ("(input: { never: closed", &[]),
        ] {
            assert_eq!(untyped_fields(signature), untyped, "{signature}");
        }
    }

    #[test]
    fn the_catalog_names_the_tool() {
        let catalog = "## Available tools\n- my_ns (1 tool)\n  - tools.my_ns[\"ns-echo\"](input: {\n  q: unknown,\n}): Promise<unknown>\n- tools.read(input: { path: string }): Promise<string>\nUse `tools.<namespace>(input: { x: unknown })`.\n";
        assert_eq!(in_catalog(catalog), ["tool `my_ns_ns-echo`: the schema that the model receives has no type for argument \"q\"."]);
        assert_eq!(shadowed(catalog), ["plugin tool `read` has the name of the built-in tool `read`."]);
    }
}
