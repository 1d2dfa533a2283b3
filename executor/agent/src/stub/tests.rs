//! The stub over a real socket: classes, answers, script, record.

use std::collections::BTreeSet;

use ocsweep_proto::agent::StubRequest;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::output;

/// Runs a test against a served stub, and gives the requests that it recorded.
async fn with_stub<F: AsyncFnOnce(&str, &Stub)>(record_bytes: u64, test: F) -> Vec<StubRequest> {
    let mut bytes = Vec::new();
    let (output, writer) = output::channel(&mut bytes);
    let (events, mut received) = mpsc::channel(1024);
    let stub = Stub::new(output.clone(), events, record_bytes);
    let listener = listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let served = tokio::spawn(stub.clone().serve(listener));
    let (_, written) = tokio::join!(
        async {
            test(&address, &stub).await;
            output.end().await.unwrap();
        },
        writer
    );
    written.unwrap();
    served.abort();
    let frames = output::decode(&bytes);
    let recorded: Vec<u8> = frames.into_iter().filter(|frame| frame.kind == Kind::StubRequest).flat_map(|frame| frame.payload).collect();
    if !recorded.is_empty() {
        assert_eq!(received.try_recv(), Ok(Event::Other));
    }
    String::from_utf8(recorded).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One request on its own connection: status, head and body.
async fn send(address: &str, method: &str, path: &str, body: &[u8]) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("{method} {path} HTTP/1.0\r\nhost: stub\r\nx-test: yes\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    // A refused body may not be read to its end.
    let _ = stream.write_all(body).await;
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), head.to_ascii_lowercase(), body.to_owned())
}

async fn chat(address: &str, body: &Value) -> (u16, String) {
    let (status, _, text) = send(address, "POST", "/v1/chat/completions", body.to_string().as_bytes()).await;
    (status, text)
}

fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"type": "function", "function": {"name": name, "parameters": {}}})).collect()
}

fn events(text: &str) -> Vec<Value> {
    let events: Vec<&str> = text.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap()).collect();
    assert_eq!(events.last(), Some(&"[DONE]"));
    events[..events.len() - 1].iter().map(|event| serde_json::from_str(event).unwrap()).collect()
}

fn steps(json: Value) -> Vec<Step> {
    serde_json::from_value(json).unwrap()
}

const MANY: u64 = 1 << 30;

#[tokio::test]
async fn a_text_step_streams_and_tokens_come_once() {
    let requests = with_stub(MANY, async |address, stub| {
        stub.begin(steps(json!([{"text": "hi", "usage": {"input": 7, "output": 3}}, {"text": "two"}]))).await;
        let ask = |usage: bool| json!({"model": "m1", "stream": true, "stream_options": {"include_usage": usage}, "tools": tools(&["bash"]), "messages": []});
        let first = events(&chat(address, &ask(true)).await.1);
        let shape: Vec<_> = first.iter().map(|event| (event["choices"][0]["delta"].clone(), event["choices"][0]["finish_reason"].clone())).collect();
        assert_eq!(shape[0].0, json!({"role": "assistant", "content": ""}));
        assert_eq!(shape[1].0, json!({"content": "hi"}));
        assert_eq!(shape[2], (json!({}), json!("stop")));
        assert_eq!(first[3]["choices"], json!([]));
        assert_eq!(first[3]["usage"], json!({"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}));
        assert_eq!(first.iter().filter(|event| event.get("usage").is_some()).count(), 1);
        assert!(first.iter().all(|event| event["model"] == "m1" && event["object"] == "chat.completion.chunk"));
        let second = events(&chat(address, &ask(false)).await.1);
        assert_eq!(second.len(), 3);
        assert_eq!(second[2]["usage"], json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}));
    })
    .await;
    assert_eq!(requests.iter().map(|request| request.n).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(requests[0].kind, RequestKind::Primary);
    assert_eq!(requests[0].headers["x-test"], "yes");
    assert_eq!(requests[0].body["stream_options"], json!({"include_usage": true}));
}

#[tokio::test]
async fn classes_consume_only_their_own() {
    let requests = with_stub(MANY, async |address, stub| {
        stub.begin(steps(json!([{"text": "one"}]))).await;
        let text = async |body: Value| -> String {
            let body: Value = serde_json::from_str(&chat(address, &body).await.1).unwrap();
            body["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
        };
        let user = |content: &str| json!([{"role": "user", "content": content}]);
        assert_eq!(text(json!({"messages": user("title")})).await, "Stub title");
        assert_eq!(text(json!({"messages": user("x"), "tools": []})).await, "Stub title");
        let judge = json!({"messages": user("OPENCODE_PLUGIN_CI_JUDGE\nrubric"), "tools": tools(&["bash"])});
        assert_eq!(text(judge).await, r#"{"pass":false,"reason":"no stubReply given"}"#);
        let primary = json!({"messages": user("go"), "tools": tools(&["bash"])});
        assert_eq!(text(primary.clone()).await, "one");
        assert_eq!(text(primary).await, "STUB_SCRIPT_EXHAUSTED");
        assert_eq!(send(address, "GET", "/v1/models", b"").await.0, 200);
        assert_eq!(send(address, "POST", "/v1/embeddings", b"{}").await.0, 404);
        assert_eq!(send(address, "POST", "/v1/chat/completions", b"no json").await.0, 404);
        assert_eq!(stub.report().await, (StubReport { primary: 2, auxiliary: 2, exhausted: 1 }, 0));
    })
    .await;
    use RequestKind::{Auxiliary, Judge, Other, Primary};
    assert_eq!(
        requests.iter().map(|request| request.kind).collect::<Vec<_>>(),
        [Auxiliary, Auxiliary, Judge, Primary, Primary, Other, Other, Other]
    );
    assert_eq!(requests[7].body, json!("no json"));
}

#[tokio::test]
async fn calls_go_out_directly_or_through_code_mode() {
    let call = |name: &str| json!({"name": name, "arguments": {"q": "a\"b"}});
    let script = json!([
        {"text": "look", "toolCalls": [call("bash"), call("spike_echo"), call("unknown")]},
        {"toolCalls": [call("spike_echo")], "raw": true},
        {"toolCalls": [call("spike_echo")]},
    ]);
    with_stub(MANY, async |address, stub| {
        stub.begin(steps(script)).await;
        let system = json!([{"role": "system", "content": [{"type": "text", "text": "- tools.ns.spike_echo(x)"}]}, {"role": "user", "content": "- tools.no.unknown(x)"}]);
        let ask = |offered: &[&str]| json!({"stream": true, "tools": tools(offered), "messages": system});
        let calls = |text: &str| -> Vec<Value> { events(text).iter().filter_map(|event| event["choices"][0]["delta"]["tool_calls"].get(0).cloned()).collect() };
        let first = chat(address, &ask(&["bash", "execute"])).await.1;
        let sent: Vec<_> = calls(&first).iter().map(|call| (call["index"].clone(), call["function"]["name"].clone(), call["function"]["arguments"].clone())).collect();
        assert_eq!(sent[0], (json!(0), json!("bash"), json!(r#"{"q":"a\"b"}"#)));
        assert_eq!(sent[1].1, "execute");
        assert_eq!(serde_json::from_str::<Value>(sent[1].2.as_str().unwrap()).unwrap(), json!({"code": r#"return await tools.ns.spike_echo({"q":"a\"b"})"#}));
        assert_eq!((sent[2].0.clone(), sent[2].1.clone()), (json!(2), json!("unknown")));
        assert_eq!(events(&first).last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
        let second = chat(address, &ask(&["bash", "execute"])).await.1;
        assert_eq!(calls(&second)[0]["function"]["name"], "spike_echo");
        let third = chat(address, &ask(&["bash"])).await.1;
        assert_eq!(calls(&third)[0]["function"]["name"], "spike_echo");
        let ids: BTreeSet<_> = [&first, &second, &third].iter().flat_map(|text| calls(text)).map(|call| call["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 5);
        assert!(ids.iter().all(|id| id.starts_with("call_")));
    })
    .await;
}

#[tokio::test]
async fn a_scripted_error_is_an_http_error() {
    let script = json!([
        {"error": {"status": 429, "body": {"error": {"message": "slow down"}}, "retryAfterSeconds": 3}},
        {"error": {"status": 500, "body": "plain"}},
        {"error": {"status": 401}},
        {"text": "late", "delayMs": 40},
    ]);
    with_stub(MANY, async |address, stub| {
        stub.begin(steps(script)).await;
        let ask = json!({"tools": tools(&["bash"])}).to_string();
        let ask = async || send(address, "POST", "/v1/chat/completions", ask.as_bytes()).await;
        let (status, head, body) = ask().await;
        assert_eq!((status, body.as_str()), (429, r#"{"error":{"message":"slow down"}}"#));
        assert!(head.contains("retry-after: 3") && head.contains("content-type: application/json"), "{head}");
        let (status, head, body) = ask().await;
        assert_eq!((status, body.as_str()), (500, "plain"));
        assert!(head.contains("content-type: text/plain") && !head.contains("retry-after"), "{head}");
        assert_eq!(ask().await.0, 401);
        let before = std::time::Instant::now();
        assert!(ask().await.2.contains("late"));
        assert!(before.elapsed() >= Duration::from_millis(40));
    })
    .await;
}

#[tokio::test]
async fn nothing_is_answered_or_recorded_before_the_run_begins() {
    let requests = with_stub(MANY, async |address, stub| {
        let ask = json!({"tools": tools(&["bash"]), "stream": false});
        assert_eq!(chat(address, &ask).await.0, 503);
        stub.begin(steps(json!([{"text": "one"}]))).await;
        assert!(chat(address, &ask).await.1.contains("one"));
        assert_eq!(stub.report().await.0.primary, 1);
    })
    .await;
    assert_eq!(requests.len(), 1);
}

#[tokio::test]
async fn the_record_has_a_cap_that_shows_and_answers_go_on() {
    let requests = with_stub(1000, async |address, stub| {
        stub.begin(steps(json!([{"text": "one"}, {"text": "two"}, {"text": "three"}]))).await;
        for (size, text) in [(10, "one"), (2000, "two"), (10, "three")] {
            let ask = json!({"tools": tools(&["bash"]), "x": "x".repeat(size)});
            assert!(chat(address, &ask).await.1.contains(text));
        }
        assert!(stub.report().await.1 > 2000);
    })
    .await;
    assert_eq!(requests.iter().map(|request| request.n).collect::<Vec<_>>(), [1, 3]);
}

#[tokio::test]
async fn a_body_above_the_cap_is_refused() {
    with_stub(MANY, async |address, stub| {
        stub.begin(steps(json!([{"text": "one"}]))).await;
        let body = vec![b' '; MAX_BODY + 1];
        assert_eq!(send(address, "POST", "/v1/chat/completions", &body).await.0, 413);
        assert_eq!(stub.report().await.0.primary, 0);
    })
    .await;
}

#[tokio::test]
async fn parallel_requests_take_a_step_each() {
    let requests = with_stub(MANY, async |address, stub| {
        stub.begin((0..20).map(|n| Step { text: Some(format!("step {n};")), ..Step::default() }).collect()).await;
        let ask = json!({"tools": tools(&["bash"])});
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let (address, ask) = (address.to_owned(), ask.clone());
            tasks.spawn(async move { chat(&address, &ask).await.1 });
        }
        let answers = tasks.join_all().await;
        for n in 0..20 {
            assert_eq!(answers.iter().filter(|answer| answer.contains(&format!("step {n};"))).count(), 1);
        }
    })
    .await;
    assert_eq!(requests.iter().map(|request| request.n).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_catalog_is_found_wherever_a_v2_host_puts_it() {
    let described = |text: &str| json!([{"type": "function", "function": {"name": "execute", "description": text, "parameters": {}}}]);
    let said =
        |role: &str, text: &str| json!([{"role": "system", "content": "- tools.old.echo(input: {"}, {"role": role, "content": text}]);
    let heading = "Prose about tools.<namespace>.\n- ns (2 tools, none shown)";
    let table = [
        (described("- tools.ns.echo(input: {\n  text: string,\n}): Promise<unknown>"), json!([]), "tools.ns.echo"),
        (tools(&["execute"]), said("user", "The Code Mode tool catalog has changed.\n- tools.new.echo(input: {"), "tools.new.echo"),
        (tools(&["execute"]), said("user", "- tools.prompt.echo(x)"), "tools.old.echo"),
        (tools(&["execute"]), json!([{"role": "system", "content": heading}]), "tools.ns.echo"),
    ];
    for (offered, messages, path) in table {
        with_stub(MANY, async |address, stub| {
            let name = if path == "tools.ns.echo" { "ns_echo" } else { "echo" };
            stub.begin(steps(json!([{"toolCalls": [{"name": name, "arguments": {}}]}]))).await;
            let body: Value = serde_json::from_str(&chat(address, &json!({"tools": offered, "messages": messages})).await.1).unwrap();
            let call = &body["choices"][0]["message"]["tool_calls"][0]["function"];
            assert_eq!(call["arguments"], json!({"code": format!("return await {path}({{}})")}).to_string(), "{call}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_built_in_tool_goes_out_under_the_name_that_the_host_offers() {
    let table = [
        ("bash", "shell", "shell"),
        ("shell", "bash", "bash"),
        ("task", "subagent", "subagent"),
        ("bash", "bash", "bash"),
        ("bash", "task", "bash"),
    ];
    for (scripted, offered, sent) in table {
        with_stub(MANY, async |address, stub| {
            let call = json!({"toolCalls": [{"name": scripted, "arguments": {}}]});
            stub.begin(steps(json!([call, {"toolCalls": [{"name": scripted, "arguments": {}}], "raw": true}]))).await;
            let ask = json!({"tools": tools(&[offered, "execute"]), "messages": []});
            for expected in [sent, scripted] {
                let body: Value = serde_json::from_str(&chat(address, &ask).await.1).unwrap();
                assert_eq!(body["choices"][0]["message"]["tool_calls"][0]["function"]["name"], expected, "{scripted} on {offered}");
            }
        })
        .await;
    }
}

/// As recorded: a v2 host asks for a title once for each session, in no order that could be relied upon.
#[tokio::test]
async fn a_title_request_takes_no_step() {
    with_stub(MANY, async |address, stub| {
        stub.begin(steps(json!([{"text": "one"}]))).await;
        let system = "You are a title generator. You output ONLY a thread title. Nothing else.";
        let title = json!({"model": "m1", "messages": [{"role": "system", "content": system}, {"role": "user", "content": "say hi"}]});
        assert!(chat(address, &title).await.1.contains("Stub title"));
        assert!(chat(address, &json!({"tools": tools(&["shell"]), "messages": []})).await.1.contains("one"));
        assert!(chat(address, &title).await.1.contains("Stub title"));
        assert_eq!(stub.report().await.0, StubReport { primary: 1, auxiliary: 2, exhausted: 0 });
    })
    .await;
}
