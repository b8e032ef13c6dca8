//! `ostler mcp`: the tools that the agent of a session has, as a client without a library sees them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Done, TestHome, ostler, until, until_file};

/// A client that writes lines and reads lines.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
    /// Each request says which revision it is of; otherwise the connection began with `initialize`.
    stateless: bool,
}

/// What proves that a program runs in a session.
#[derive(Debug, Clone)]
struct Proof {
    session: String,
    nonce: String,
}

impl TestHome {
    /// The proof that processes of a session have, as one of them sees it.
    fn proof(&self, name: &str) -> Proof {
        let file = self.file(&format!("{name}.proof"));
        let written = file.with_extension("new");
        let (written, file_name) = (written.display(), file.display());
        let script = format!(
            "printf '%s %s' \"$OSTLER_SESSION_ID\" \"$OSTLER_HOOK_NONCE\" >{written}; mv {written} {file_name}; exec cat"
        );
        self.start_sh(name, &script);
        let text = until_file(&file, "a session tells its proof", || fs::read_to_string(&file).ok());
        let (session, nonce) = text.split_once(' ').unwrap();
        Proof { session: session.into(), nonce: nonce.into() }
    }

    fn client(&self, proof: &Proof, stateless: bool) -> Client {
        let mut command = self.command(["mcp"]);
        command.env("OSTLER_SESSION_ID", &proof.session).env("OSTLER_HOOK_NONCE", &proof.nonce);
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let mut client = Client { server, input, output, last: 0, stateless };
        if !stateless {
            let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
            let answer = client.request("initialize", hello);
            assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
            client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        }
        client
    }

    fn event(&self, name: &str, event: &str) -> Option<Value> {
        let told = self.ok(["events", name, "--json"]);
        let mut events = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.rfind(|entry| entry["event"] == event).map(|entry| entry["details"].clone())
    }
}

impl Client {
    fn write(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.last += 1;
        if self.stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.write(
            &json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }).to_string(),
        );
        let answer = self.read();
        assert_eq!(answer["id"], self.last, "{answer}");
        answer
    }

    /// Calls a tool; returns whether it worked, and what it said.
    fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (result["isError"] != true, text.to_owned())
    }

    #[track_caller]
    fn ok(&mut self, tool: &str, arguments: &Value) -> String {
        let (worked, text) = self.call(tool, arguments);
        assert!(worked, "{tool}: {text}");
        text
    }

    #[track_caller]
    fn fails(&mut self, tool: &str, arguments: &Value, said: &str) {
        let (worked, text) = self.call(tool, arguments);
        assert!(!worked && text.contains(said), "{tool} {arguments}: {worked} {text}");
    }

    /// The agent leaves, and the server with it.
    fn leave(mut self) {
        drop(self.input.take());
        assert!(self.server.wait().unwrap().success());
    }
}

#[test]
fn both_generations_of_the_protocol_list_and_call() {
    let home = TestHome::new();
    home.project();
    let proof = home.proof("one");
    let mut listed = Vec::new();
    for stateless in [true, false] {
        let mut client = home.client(&proof, stateless);
        if stateless {
            let known = client.request("server/discover", json!({}));
            let versions = known["result"]["supportedVersions"].as_array().unwrap();
            assert!(versions.contains(&"2026-07-28".into()), "{known}");
        }
        let tools = client.request("tools/list", json!({}));
        listed.push(tools["result"]["tools"].clone());
        let summary = format!("stateless: {stateless}");
        client.ok("context_save", &json!({ "summary": summary, "open": ["the rest"] }));
        let known = client.ok("context_load", &json!({}));
        assert!(known.contains(&summary) && known.contains("the rest"), "{known}");
        let said = json!({ "text": format!("half {stateless}"), "percent": 50 });
        assert_eq!(client.ok("report_progress", &said), "recorded");
        let progress = &home.status("one")["progress"];
        assert_eq!((&progress["text"], &progress["percent"]), (&said["text"], &50.into()));
        client.leave();
    }
    assert_eq!(listed[0], listed[1]);
    let names: Vec<&str> =
        listed[0].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(
        ["ack", "context_load", "report_progress", "wait_for"].iter().all(|name| names.contains(name)),
        "{names:?}"
    );
}

#[test]
fn what_an_agent_waits_for_and_wishes_is_recorded() {
    let home = TestHome::new();
    let proof = home.proof("one");
    let mut client = home.client(&proof, true);
    let own = std::process::id();
    client.ok("wait_for", &json!({ "pid": own, "seconds": 60, "note": "the build" }));
    let awaited = home.status("one")["awaited"].clone();
    assert_eq!((&awaited["what"]["kind"], &awaited["what"]["pid"]), (&"process".into(), &own.into()));
    let (since, until) = (awaited["since"].as_u64().unwrap(), awaited["until"].as_u64().unwrap());
    assert_eq!((until - since, &awaited["note"]), (60_000, &"the build".into()));
    client.ok("wait_for", &json!({ "file": "out/done" }));
    let cwd = home.status("one")["cwd"].as_str().unwrap().to_owned();
    // A killed daemon forgets nothing of it, and the server goes on with the next one.
    let heard = home.status("one")["last_heartbeat"].clone();
    assert!(heard.is_string(), "{heard}");
    home.kill_daemon();
    home.ok(["daemon", "start"]);
    let status = home.status("one");
    assert_eq!(status["awaited"]["what"], json!({ "kind": "file", "path": format!("{cwd}/out/done") }));
    assert_eq!(status["last_heartbeat"], heard);
    client.ok("request_continuation", &json!({ "reason": "two tests fail" }));
    assert_eq!(home.event("one", "agent.wants_continuation").unwrap()["reason"], "two tests fail");
    assert_ne!(home.status("one")["last_heartbeat"], heard);
    client.fails("wait_for", &json!({}), "say what is waited for");
    client.fails("wait_for", &json!({ "pid": own, "file": "x" }), "one thing");
    client.fails("wait_for", &json!({ "pid": 4_000_000_000_u32 }), "no process");
    client.fails("wait_for", &json!({ "seconds": 0 }), "no time");
    client.fails("wait_for", &json!({ "until": "2001-01-01T00:00:00Z" }), "over");
    client.fails("report_progress", &json!({ "text": " " }), "empty");
    client.leave();
}

#[test]
fn an_agent_confirms_by_a_tool_and_its_stop_says_when_it_called() {
    let home = TestHome::with_stand_in();
    home.start("agent", &[]);
    home.wait("agent", "idle");
    home.deliver("agent", "remember this", &["--id", "m1", "--ack"]);
    let mut client = home.client(&home.proof_of("agent"), false);
    let said = client.ok("ack", &json!({ "id": "m1" }));
    assert!(said.contains("acknowledged"), "{said}");
    let message = home.message("agent", "m1");
    assert_eq!(message["proof"], "acknowledged");
    // A message of another session is none of its business.
    home.proof("other");
    home.ok(["send", "other", "x", "--id", "m2", "--raw"]);
    client.fails("ack", &json!({ "id": "m2" }), "no message");
    home.deliver("agent", "and this", &[]);
    let stopped = until("the stop is recorded", || {
        home.event("agent", "session.stopped").filter(|stopped| stopped["last_heartbeat"].is_u64())
    });
    assert_eq!(stopped["trigger"], "turn_ended");
    client.leave();
}

impl TestHome {
    /// The proof that the agent of a session has.
    fn proof_of(&self, name: &str) -> Proof {
        let status = self.status(name);
        let nonce =
            fs::read_to_string(Path::new(status["dir"].as_str().unwrap()).join("hook-nonce")).unwrap();
        Proof { session: status["id"].as_str().unwrap().into(), nonce }
    }
}

#[test]
fn a_question_is_answered_once_and_the_agent_is_told() {
    let home = TestHome::with_stand_in();
    home.start("agent", &[]);
    home.wait("agent", "idle");
    let mut client = home.client(&home.proof_of("agent"), true);
    assert_eq!(home.ok(["ask", "list"]), "no questions are open\n");
    let question = json!({ "question": "Which database\u{1b}[2J?\nIt is for the tests.", "choices": ["SQLite", "Postgres"] });
    let said = client.ok("ask_owner", &question);
    assert!(said.starts_with("q1 is open"), "{said}");
    client.ok("ask_owner", &json!({ "question": "May I go on?" }));
    assert!(client.ok("ask_status", &json!({ "id": "q1" })).starts_with("q1 is open"));
    let shown = home.ok(["ask", "list", "agent"]);
    let expected = "  Which database[2J?\n  It is for the tests.\n  1. SQLite\n  2. Postgres\n";
    assert!(shown.contains(expected) && shown.contains("q2  agent"), "{shown}");
    assert!(home.ok(["list"]).contains("(asks you: q1)"));
    assert!(home.ok(["status", "agent"]).contains("asks you   q2: May I go on?"));
    // Another daemon knows of it, too.
    home.kill_daemon();
    let answered = home.ok(["ask", "answer", "q1", "2"]);
    assert_eq!(answered, "answered q1; message answer-q1 tells agent\n");
    home.await_message("agent", "answer-q1", "delivered");
    let told = home.taken("agent");
    assert_eq!(told, ["Answer to your question q1 (Which database[2J?): Postgres"]);
    assert_eq!(client.ok("ask_status", &json!({ "id": "q1" })), "q1 was answered: Postgres");
    // The same answer again is the same message; another one is refused.
    home.ok(["ask", "answer", "q1", "Postgres"]);
    home.run(["ask", "answer", "q1", "SQLite"])
        .fails(1, &["answered already: Postgres", "ostler send agent"]);
    home.run(["ask", "answer", "q7", "x"]).fails(1, &["no question"]);
    home.run(["ask", "answer", "1; DROP TABLE questions", "x"]).fails(1, &["no question"]);
    home.run(["ask", "answer", "q2", " "]).fails(2, &["empty"]);
    client.fails("ask_owner", &json!({ "question": "  " }), "empty");
    client.fails("ask_owner", &json!({ "question": "x".repeat(5_000) }), "too long");
    client.fails("ask_status", &json!({ "id": "q7" }), "no question");
    // Nobody answers so many.
    for _ in 1..20 {
        client.ok("ask_owner", &json!({ "question": "again?" }));
    }
    client.fails("ask_owner", &json!({ "question": "again?" }), "20 questions are open");
    // What others ask is none of its business.
    let mut other = home.client(&home.proof("other"), true);
    other.fails("ask_status", &json!({ "id": "q1" }), "no question");
    other.leave();
    client.leave();
    // One that has ended is told when it is back, and once.
    home.ok(["stop", "agent", "--grace", "0"]);
    let answered = home.ok(["ask", "answer", "q2", "-yes"]);
    assert_eq!(answered, "answered q2; agent has ended; it is told when it is resumed\n");
    home.ok(["resume", "agent", "--no-wait"]);
    home.await_message("agent", "answer-q2", "delivered");
    assert_eq!(home.event("agent", "question.answered").unwrap(), json!({ "id": 2 }));
}

#[test]
fn an_agent_writes_to_another_only_if_its_owner_allows_it() {
    let home = TestHome::with_stand_in();
    for name in ["one", "two"] {
        home.start(name, &[]);
        home.wait(name, "idle");
    }
    // The same agent in another project.
    let elsewhere = home.file("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    home.start_with("far", &["--no-wait", "--cwd", elsewhere.to_str().unwrap()], &[]).ok();
    let mut client = home.client(&home.proof_of("one"), true);
    let message = |to: &str| json!({ "to": to, "text": "/compact the parser is done" });
    client.fails("send_message", &message("two"), "send_message = true under [tools]");
    home.write_settings("[tools]\nsend_message = true\n");
    client.ok("send_message", &message("two"));
    let sent = until("the message arrived", || {
        let messages = home.json(["messages", "list", "two", "--all", "--json"]);
        messages.as_array().unwrap().iter().find(|message| message["state"] == "delivered").cloned()
    });
    assert_eq!(sent["sender"], "session one");
    assert_eq!(home.taken("two"), ["Message from session one: /compact the parser is done"]);
    for name in ["far", "one", "nobody", ""] {
        client.fails("send_message", &message(name), "no other session of this project");
    }
    client.fails("send_message", &json!({ "to": "two", "text": " " }), "empty");
    assert!(client.ok("task_status", &json!({})).contains("No run of ostler"));
    client.leave();
}

#[test]
fn without_a_daemon_a_call_says_so_and_works_again_later() {
    let home = TestHome::new();
    let proof = home.proof("one");
    let mut client = home.client(&proof, true);
    client.ok("report_progress", &json!({ "text": "one" }));
    home.ok(["daemon", "stop"]);
    client.fails("report_progress", &json!({ "text": "two" }), "daemon does not run");
    home.ok(["daemon", "start"]);
    client.ok("report_progress", &json!({ "text": "three" }));
    assert_eq!(home.status("one")["progress"]["text"], "three");
    client.leave();
}

#[test]
fn only_the_sessions_own_agent_is_heard() {
    let home = TestHome::new();
    let (one, two) = (home.proof("one"), home.proof("two"));
    let wrong = [
        Proof { nonce: two.nonce.clone(), ..one.clone() },
        Proof { nonce: String::new(), ..one.clone() },
        Proof { nonce: "0".repeat(64), ..one.clone() },
        // A name is no id.
        Proof { session: "one".into(), ..one.clone() },
        Proof { session: "../one".into(), ..one.clone() },
    ];
    for proof in wrong {
        let mut client = home.client(&proof, true);
        client.fails("report_progress", &json!({ "text": "forged" }), "not an agent of a running session");
        client.fails("context_load", &json!({}), "not an agent of a running session");
        client.leave();
    }
    let mut outside = home.client(&Proof { session: String::new(), nonce: String::new() }, true);
    assert_eq!(outside.request("tools/list", json!({}))["result"]["tools"], json!([]));
    outside.fails("context_load", &json!({}), "OSTLER_SESSION_ID is not set");
    outside.leave();
    let status = home.status("one");
    assert!(status.get("progress").is_none() && status.get("last_heartbeat").is_none(), "{status}");
}

#[test]
fn hostile_calls_are_refused_and_harm_nothing() {
    let home = TestHome::new();
    let proof = home.proof("one");
    let mut client = home.client(&proof, true);
    let calls = [
        ("ack", json!({ "id": "x' OR 1=1 --" }), "no message"),
        ("ack", json!({ "id": "a".repeat(60_000) }), "no message"),
        ("ack", json!({ "id": "a".repeat(100_000) }), "at most 65536"),
        ("ack", json!({ "id": { "$ne": null } }), "arguments of ack are wrong"),
        ("ack", json!({ "id": "a", "session": "two" }), "unknown field"),
        ("report_progress", json!({ "text": "x", "percent": 1e300 }), "wrong"),
        ("context_save", json!({ "summary": ["x"] }), "wrong"),
        ("misunderstood", json!({}), "no such tool"),
        ("../../bin/sh", json!({}), "no such tool"),
    ];
    for (tool, arguments, said) in calls {
        client.fails(tool, &arguments, said);
    }
    // What misuses a tool is alive.
    assert!(home.status("one")["last_heartbeat"].is_string());
    // What is no message, too long for one, or nested without end, is passed over or refused; the next one is answered.
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{}{}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    for line in ["", "nonsense", "{\"jsonrpc\":", &"x".repeat(2 << 20), &deep, "\u{0}\u{1b}[2J"] {
        client.write(line);
    }
    client.ok("report_progress", &json!({ "text": "\u{1b}]0;title\u{7}still\nhere\u{202e}" }));
    let shown = home.ok(["status", "one"]);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    client.leave();
}

#[test]
fn a_client_of_others_lists_and_calls() {
    let Some(python) = std::env::var_os("OSTLER_TEST_MCP").filter(|value| !value.is_empty()) else {
        println!(
            "left out: no client from PyPI (scripts/fetch-mcp-client installs one, OSTLER_TEST_MCP names its Python)"
        );
        return;
    };
    let home = TestHome::new();
    let proof = home.proof("one");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/mcp/client.py");
    let mut client = Command::new(python);
    client.arg(script).arg(ostler()).env("OSTLER_HOME", home.path());
    client.env("OSTLER_SESSION_ID", &proof.session).env("OSTLER_HOOK_NONCE", &proof.nonce);
    let told = Done::from(&client.output().unwrap()).ok();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let versions: Vec<&str> = told.iter().filter_map(|told| told["version"].as_str()).collect();
    assert_eq!(versions, ["2026-07-28", "2026-07-28", "2025-11-25"]);
    for told in &told {
        assert!(told["tools"].as_array().unwrap().contains(&"ask_owner".into()), "{told}");
        assert_eq!(told["good"], json!([false, "recorded"]));
        assert_eq!(told["loads"], json!([false, false, false, false, false]));
        assert!(
            told["bad"][0] == true && told["bad"][1].as_str().unwrap().contains("wait_for are wrong"),
            "{told}"
        );
    }
    assert_eq!(home.status("one")["progress"]["text"], "by legacy");
}

/// How the stand-in is told of the tools.
const TOLD: &str = r#"
[mcp]
config = '{"tools":{"command":{ostler},"args":["mcp"]}}'
file = "tools.json"
env = { STAND_IN_TOOLS = "{file}" }
"#;

#[test]
fn an_agent_is_told_of_the_tools_when_it_is_started() {
    let home = TestHome::with_stand_in_and(TOLD);
    let told = home.file("told");
    let agent = format!(
        "printf '%s' \"$STAND_IN_TOOLS\" >{}; exec {} stand-in \"$@\"",
        told.display(),
        ostler().display()
    );
    home.write_agent(&agent);
    home.start("agent", &[]);
    home.wait("agent", "idle");
    let status = home.status("agent");
    let dir = Path::new(status["dir"].as_str().unwrap());
    let file = fs::read_to_string(&told).unwrap();
    assert_eq!(Path::new(&file), dir.join("tools.json"));
    let config: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let server = &config["tools"];
    assert_eq!((server["command"].as_str(), &server["args"]), (ostler().to_str(), &json!(["mcp"])));
    assert_eq!(fs::read_dir(home.project()).unwrap().count(), 0, "nothing is left in the project");
    // What the user set is not replaced, and nobody is told who is not to be.
    home.start_with("mine", &["--env", "STAND_IN_TOOLS=mine"], &[]).ok();
    assert_eq!(fs::read_to_string(&told).unwrap(), "mine");
    assert!(
        home.event("mine", "tools.left_out").unwrap()["reason"].as_str().unwrap().contains("STAND_IN_TOOLS")
    );
    // Nor is a file of the system's that is there.
    let system = home.file("system.json");
    home.extend_preset("standin", &format!("replaces = \"{}\"\n", system.display()));
    fs::write(&system, "{}").unwrap();
    home.start_with("old", &[], &[]).ok();
    assert_eq!(fs::read_to_string(&told).unwrap(), "");
    fs::remove_file(&system).unwrap();
    home.start_with("new", &[], &[]).ok();
    assert!(fs::read_to_string(&told).unwrap().ends_with("/tools.json"));
    home.write_settings("[tools]\nregister = false\n");
    home.start_with("untold", &[], &[]).ok();
    assert_eq!(fs::read_to_string(&told).unwrap(), "");
}
