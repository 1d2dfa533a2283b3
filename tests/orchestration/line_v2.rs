//! Line v2 with the stand-in: the shapes that recorded hosts differ in, and what a host says that cannot load the plugin.

use serde_json::{Value, json};

use crate::support::engine;
use crate::support::project::Project;

const V2: &str = "2.0.26";
const NAMESPACED: &str = "script: [{toolCalls: [{name: my_ns_ns-echo, arguments: {value: ping}}]}, {text: done}]\n\
    expect: {tools: [{name: my_ns.ns-echo, output: {equals: \"echo: ping\"}, count: {eq: 1}}], noTools: [bash], text: {equals: done}}";

fn project(plan: &Value) -> Project {
    let project = Project::new().config(&[V2], "");
    project.file("index.js", "export default { id: \"fixture\", setup: async () => {} };\n");
    project.file("fake-plan.v2.json", plan.to_string());
    project
}

fn row(project: &Project, id: &str) -> Value {
    let rows = project.rows();
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no row {id} in {rows:#?}")).clone()
}

#[test]
fn tools_are_found_in_every_shape_of_a_host() {
    if !engine::is_there() {
        return;
    }
    let tools = json!([{"name": "ns-echo", "namespace": "my_ns", "output": "echo: {value}"}]);
    for (catalog, ids, shape) in [("system", "partID", "flat"), ("described", "callID", "nested")] {
        let project = project(&json!({"tools": tools, "catalog": catalog, "ids": ids, "shape": shape})).scenario("calls", NAMESPACED);
        project.run(&[]).expect(0);
        let requests = project.output(&format!("{V2}/calls/stub-requests.jsonl"));
        assert!(requests.contains("\"auxiliary\"") && requests.contains(r#"tools.my_ns[\\\"ns-echo\\\"]"#), "{requests}");
    }
}

#[test]
fn a_direct_tool_needs_no_program() {
    if !engine::is_there() {
        return;
    }
    let plan = json!({"tools": [{"name": "ns-echo", "namespace": "my_ns", "direct": true, "output": "echo: {value}"}]});
    let project = project(&plan).scenario("calls", NAMESPACED);
    project.run(&[]).expect(0);
    assert!(!project.output(&format!("{V2}/calls/events.jsonl")).contains("\"execute\""));
}

#[test]
fn a_plugin_that_the_host_does_not_list_never_passes() {
    if !engine::is_there() {
        return;
    }
    for plan in [json!({"plugin": "missing"}), json!({"plugin": "missing", "notADirectory": true})] {
        let project = project(&plan);
        let ended = project.run(&[]).expect(1);
        let row = row(&project, "load");
        assert_eq!(row["verdict"], "fail", "{row:#}\n{}", ended.describe());
        assert!(row["failures"].to_string().contains("plugin never registered"), "{row:#}");
    }
}

#[test]
fn a_host_that_is_no_runtime_costs_explanations_and_no_verdict() {
    if !engine::is_there() {
        return;
    }
    let project = project(&json!({"preflight": "silent"}));
    project.run(&[]).expect(0);
    assert_eq!(row(&project, "load")["verdict"], "pass");
}
