use std::path::Path;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::hooks::*;

const OSTLER: &str = "/usr/bin/ostler";

fn spec() -> HookSpec {
    let text = r#"
        handler = { type = "command", timeout = 5 }
        [events]
        SessionStart = { fact = "session_started", context = "{text}" }
        Stop = { fact = "turn_ended" }
        PreToolUse = { fact = "tool_started", matcher = "*" }
    "#;
    toml::from_str(text).unwrap()
}

fn handler_spec() -> HookSpec {
    let text = r#"
        format = "handler-json"
        command_field = "bash"
        base = { version = 1 }
        [events]
        stop = { fact = "turn_ended" }
        sessionStart = { fact = "session_started" }
    "#;
    toml::from_str(text).unwrap()
}

fn installed(spec: &HookSpec, text: &str) -> String {
    install(spec, "a", Path::new(OSTLER), Some(text)).unwrap()
}

#[test]
fn a_new_file_has_the_hooks_and_nothing_else() {
    let text = install(&handler_spec(), "a", Path::new(OSTLER), None).unwrap();
    insta::assert_snapshot!(text, @r#"
    {
      "hooks": {
        "sessionStart": [
          {
            "bash": "test ! -x /usr/bin/ostler || /usr/bin/ostler hook sessionStart --agent a --by-ostler"
          }
        ],
        "stop": [
          {
            "bash": "test ! -x /usr/bin/ostler || /usr/bin/ostler hook stop --agent a --by-ostler"
          }
        ]
      },
      "version": 1
    }
    "#);
    assert!(remove(&handler_spec(), &text).unwrap().empty);
}

#[test]
fn what_a_user_wrote_stays_byte_for_byte() {
    let before = "{\n\t\"zeta\": 1.50,\n\t\"hooks\": {\n\t\t\"Stop\": [ {\"hooks\": [{\"type\":\"command\",\"command\":\"say done\"}]} ]\n\t},\n\t\"alpha\": \"\\u00e9\"\n}\n";
    let after = installed(&spec(), before);
    insta::assert_snapshot!(after, @r#"
    {
    	"zeta": 1.50,
    	"hooks": {
    		"Stop": [ {"hooks": [{"type":"command","command":"say done"}]}, {
    				"hooks": [
    					{
    						"command": "test ! -x /usr/bin/ostler || /usr/bin/ostler hook Stop --agent a --by-ostler",
    						"timeout": 5,
    						"type": "command"
    					}
    				]
    			} ],
    		"PreToolUse": [
    			{
    				"hooks": [
    					{
    						"command": "test ! -x /usr/bin/ostler || /usr/bin/ostler hook PreToolUse --agent a --by-ostler",
    						"timeout": 5,
    						"type": "command"
    					}
    				],
    				"matcher": "*"
    			}
    		],
    		"SessionStart": [
    			{
    				"hooks": [
    					{
    						"command": "test ! -x /usr/bin/ostler || /usr/bin/ostler hook SessionStart --agent a --context --by-ostler",
    						"timeout": 5,
    						"type": "command"
    					}
    				]
    			}
    		]
    	},
    	"alpha": "\u00e9"
    }
    "#);
    assert_eq!(remove(&spec(), &after).unwrap(), Removed { text: before.into(), empty: false });
}

#[test]
fn containers_that_were_there_stay_and_those_that_were_made_go() {
    let texts = [
        "{}",
        "{}\n",
        "{ }",
        "{\n}",
        "\n{}\n",
        "{\"hooks\":{}}",
        "{\"hooks\": {\n  }\n}",
        "{\"hooks\":{\"Stop\":[]}}",
        "{\"hooks\":{\"Stop\":[ ]},\"x\":[]}",
        "{\"hooks\":{\"Other\":[]}}",
        "\u{feff}{\"a\":1}",
        "{\r\n  \"a\": 1\r\n}\r\n",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[]}]}}",
        "{\"hooks\":{},\"hooks\":{\"Stop\":[]}}",
    ];
    for before in texts {
        for spec in [spec(), handler_spec()] {
            let after = installed(&spec, before);
            assert_eq!(inspect(&spec, "a", Path::new(OSTLER), Some(&after)), Ok(Found::Current), "{after}");
            assert_eq!(installed(&spec, &after), after);
            assert_eq!(remove(&spec, &after).unwrap().text, before, "{after}");
        }
    }
}

#[test]
fn a_binary_that_moved_is_followed_and_nothing_is_doubled() {
    let before = "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"Gone\": []\n  }\n}\n";
    let old = install(&spec(), "a", Path::new("/old place/ostler"), Some(before)).unwrap();
    assert_eq!(inspect(&spec(), "a", Path::new(OSTLER), Some(&old)), Ok(Found::Outdated));
    let new = installed(&spec(), &old);
    assert_eq!(new, installed(&spec(), before));
    assert!(!new.contains("old place"));
    assert_eq!(remove(&spec(), &new).unwrap().text, before);
    // An event that a newer preset no longer asks for is taken out.
    let mut fewer = spec();
    fewer.events.remove("Stop");
    assert!(!installed(&fewer, &new).contains("hook Stop"));
}

#[test]
fn a_handler_that_was_moved_among_others_is_still_known() {
    let mut value: Value = serde_json::from_str(&installed(&spec(), "{}")).unwrap();
    let ours = value["hooks"]["Stop"][0]["hooks"][0].clone();
    value["hooks"]["Stop"] =
        json!([{ "hooks": [{ "command": "theirs" }, ours, { "command": "theirs too" }] }]);
    let text = serde_json::to_string_pretty(&value).unwrap();
    let removed = remove(&spec(), &text).unwrap();
    let left: Value = serde_json::from_str(&removed.text).unwrap();
    assert_eq!(
        left,
        json!({ "hooks": { "Stop": [{ "hooks": [{ "command": "theirs" }, { "command": "theirs too" }] }] } })
    );
}

#[test]
fn a_file_that_cannot_be_changed_safely_says_where() {
    let fails = |text: &str| install(&spec(), "a", Path::new(OSTLER), Some(text)).unwrap_err().to_string();
    let table = [
        ("{\n  // mine\n  \"a\": 1\n}", "line 2 has a comment, so the file is not changed by a program"),
        (
            "{\n  \"a\": 1, /* b */\n  \"c\": 2\n}",
            "line 2 has a comment, so the file is not changed by a program",
        ),
        ("{\n  \"a\": 1,\n}", "line 3, column 1: trailing comma"),
        ("{\n  \"a\": \n", "line 3, column 0: EOF while parsing a value"),
        ("{\"a\": 1} x", "line 1, column 10: trailing characters"),
        ("[]", "line 1: the file is not an object"),
        ("\n\"text\"", "line 2: the file is not an object"),
        ("{\n\"hooks\": []}", "line 2: \"hooks\" is not an object"),
        ("{\"hooks\": {\n\"Stop\": {}}}", "line 2: \"Stop\" is not a list"),
    ];
    for (text, message) in table {
        assert_eq!(fails(text), message, "{text}");
    }
    assert!(fails(&format!("{}1{}", "[".repeat(500), "]".repeat(500))).contains("recursion limit"));
    assert!(fails(&" ".repeat(5 << 20).replace(' ', "1")).contains("too large"));
}

#[test]
fn a_file_of_our_own_is_replaced_as_a_whole_and_another_one_is_not() {
    let spec: HookSpec = toml::from_str(
        "format = 'program'\nown_file = true\ntemplate = 'run({ostler}, {agent}, {flag})'\n[events]\n",
    )
    .unwrap();
    let text = install(&spec, "a", Path::new(OSTLER), None).unwrap();
    assert_eq!(text, r#"run("/usr/bin/ostler", "a", "--by-ostler")"#);
    assert_eq!(
        install(&spec, "a", Path::new("/b/ostler"), Some(&text)).unwrap(),
        text.replace("/usr/bin", "/b")
    );
    assert_eq!(remove(&spec, &text).unwrap(), Removed { text: String::new(), empty: true });
    assert_eq!(install(&spec, "a", Path::new(OSTLER), Some("theirs")), Err(MergeError::NotOurs));
    assert_eq!(remove(&spec, "theirs").unwrap(), Removed { text: "theirs".into(), empty: false });
}

/// Any JSON value of a modest size.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-zA-Z\" ]{0,8}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Settings as a user may have them: anything, and perhaps hooks of their own.
fn settings() -> impl Strategy<Value = String> {
    let group = value()
        .prop_map(|value| json!({ "matcher": "x", "hooks": [{ "command": "theirs", "extra": value }] }));
    let groups = proptest::collection::vec(group, 0..3).prop_map(Value::from);
    let events = proptest::collection::btree_map(
        prop_oneof![Just("Stop"), Just("stop"), Just("PreToolUse"), Just("Other")],
        groups,
        0..3,
    );
    let hooks = proptest::option::of(events.prop_map(|events| json!(events)));
    let others = proptest::collection::btree_map("[a-z]{1,6}", value(), 0..4);
    (others, hooks, any::<bool>()).prop_map(|(others, hooks, pretty)| {
        let mut root: Map<String, Value> = others.into_iter().filter(|(key, _)| key != "hooks").collect();
        root.extend(hooks.map(|hooks| ("hooks".to_owned(), hooks)));
        if pretty { serde_json::to_string_pretty(&root).unwrap() + "\n" } else { json!(root).to_string() }
    })
}

proptest! {
    #[test]
    fn installing_is_idempotent_and_removing_undoes_it(before in settings()) {
        for spec in [spec(), handler_spec()] {
            let after = installed(&spec, &before);
            prop_assert_eq!(&installed(&spec, &after), &after);
            prop_assert_eq!(inspect(&spec, "a", Path::new(OSTLER), Some(&after)), Ok(Found::Current));
            prop_assert_eq!(&remove(&spec, &after).unwrap().text, &before);
            prop_assert_eq!(&remove(&spec, &before).unwrap().text, &before);
        }
    }

    #[test]
    fn what_is_not_ours_means_the_same_afterwards(before in settings()) {
        let after: Value = serde_json::from_str(&installed(&spec(), &before)).unwrap();
        let before: Value = serde_json::from_str(&before).unwrap();
        for (key, value) in before.as_object().unwrap() {
            if key != "hooks" {
                prop_assert_eq!(&after[key], value);
            }
        }
        for (event, groups) in before["hooks"].as_object().into_iter().flatten() {
            let kept: Vec<&Value> = after["hooks"][event].as_array().unwrap().iter()
                .filter(|group| !group.to_string().contains(BY_OSTLER)).collect();
            prop_assert_eq!(kept, groups.as_array().unwrap().iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]{}\",:a/ \n\\\\*hooksStop1]{0,60}") {
        let _ = install(&spec(), "a", Path::new(OSTLER), Some(&text));
        let _ = remove(&spec(), &text);
    }
}
