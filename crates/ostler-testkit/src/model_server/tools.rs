//! The tools an agent offers, and calls that fit their schemas.

use serde_json::{Map, Value, json};

use super::settings::Settings;

/// A tool of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// What to call it by.
    pub name: String,
    /// JSON schema of its arguments.
    pub schema: Value,
    /// It takes a text instead of JSON.
    pub freeform: bool,
    /// The group of tools that it is offered in.
    pub namespace: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments; a string for a tool that takes a text.
    pub arguments: Value,
}

/// Parts of names that tools for commands have, the surest first.
const SHELL_NAMES: [&str; 6] = ["bash", "shell", "exec_command", "terminal", "run_command", "exec"];
/// Arguments that hold a command.
const COMMAND_ARGUMENTS: [&str; 4] = ["command", "cmd", "script", "commands"];
/// Parts of names that tools for questions have.
const QUESTION_NAMES: [&str; 4] = ["askuser", "ask_user", "question", "user_input"];

/// Builds a call that runs a command, if a tool for that is offered.
pub fn shell_call(tools: &[Tool], command: &str, settings: &Settings) -> Option<Call> {
    let named = |tool: &&Tool| settings.shell_tool.as_ref().is_some_and(|name| *name == tool.name);
    let tool = tools.iter().find(named).or_else(|| {
        let fits = |name: &str| {
            tools.iter().find(|tool| {
                tool.name.to_lowercase().contains(name) && (tool.freeform || command_argument(tool).is_some())
            })
        };
        SHELL_NAMES.into_iter().find_map(fits)
    })?;
    if tool.freeform {
        return Some(Call { name: tool.name.clone(), arguments: Value::String(command.to_owned()) });
    }
    let name = command_argument(tool)?;
    let mut arguments = required(&tool.schema, &tool.schema, "Run a step of the work", 0);
    if let Some(arguments) = arguments.as_object_mut() {
        let value = match property(&tool.schema, name).and_then(|schema| schema.get("type")) {
            _ if name == "commands" => json!([command]),
            Some(Value::String(kind)) if kind == "array" => json!(["bash", "-lc", command]),
            _ => json!(command),
        };
        arguments.insert(name.to_owned(), value);
        arguments.extend(settings.shell_args.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    Some(Call { name: tool.name.clone(), arguments })
}

/// Builds a call that asks the user, if a tool for that is offered.
pub fn question_call(tools: &[Tool], text: &str, settings: &Settings) -> Option<Call> {
    let guess = |name: &str| QUESTION_NAMES.iter().any(|part| name.to_lowercase().contains(part));
    let fits =
        |name: &str| settings.question_tool.as_ref().map_or_else(|| guess(name), |wanted| wanted == name);
    let tool = tools.iter().find(|tool| fits(&tool.name))?;
    Some(Call { name: tool.name.clone(), arguments: required(&tool.schema, &tool.schema, text, 0) })
}

/// Builds a call that gives work to another agent, if the tool for that is offered.
pub fn agent_call(tools: &[Tool], task: &str, settings: &Settings) -> Option<Call> {
    let tool = tools.iter().find(|tool| settings.agent_tool.as_ref() == Some(&tool.name))?;
    let mut arguments = required(&tool.schema, &tool.schema, task, 0);
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.extend(settings.agent_args.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    Some(Call { name: tool.name.clone(), arguments })
}

/// Builds a call of a tool by its own name: agents put the name of its server before it. One that is not listed, and can be
/// called all the same, has the name that the settings give it.
pub fn named_call(tools: &[Tool], name: &str, arguments: &str, settings: &Settings) -> Option<Call> {
    let is_meant = |tool: &&Tool| {
        let before = tool.name.strip_suffix(name);
        before.is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric()))
    };
    let listed = tools.iter().find(is_meant).map(|tool| tool.name.clone());
    let name = listed.or_else(|| Some(settings.unlisted_tool.as_ref()?.replace("{name}", name)))?;
    Some(Call { name, arguments: serde_json::from_str(arguments).ok()? })
}

fn command_argument(tool: &Tool) -> Option<&'static str> {
    COMMAND_ARGUMENTS.into_iter().find(|name| property(&tool.schema, name).is_some())
}

fn property<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// Fills in what a schema requires; also lists of choices, which make a question worth asking.
fn required(root: &Value, schema: &Value, text: &str, depth: usize) -> Value {
    let schema = resolve(root, schema);
    let names: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut object = Map::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        if names.contains(&name.as_str()) || matches!(name.as_str(), "options" | "choices") {
            object.insert(name.clone(), example(root, schema, name, text, depth + 1));
        }
    }
    Value::Object(object)
}

/// Makes up a value that fits a schema, with an eye on what it is called.
fn example(root: &Value, schema: &Value, name: &str, text: &str, depth: usize) -> Value {
    let schema = resolve(root, schema);
    if depth > 8 {
        return Value::Null;
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = match &schema["type"] {
        Value::String(kind) => kind.to_lowercase(),
        Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or("string").to_lowercase(),
        _ if schema.get("properties").is_some() => "object".into(),
        _ => "string".into(),
    };
    match kind.as_str() {
        "object" => required(root, schema, text, depth),
        "array" => {
            let texts: Vec<&str> = match name {
                "options" | "choices" => vec!["Red", "Blue"],
                "questions" => text.split(" | ").collect(),
                _ => vec![text],
            };
            texts.into_iter().map(|text| example(root, &schema["items"], name, text, depth + 1)).collect()
        }
        "boolean" => json!(false),
        "number" | "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        _ => match name {
            "header" => json!("Colour"),
            "id" => json!("colour"),
            _ => json!(text),
        },
    }
}

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
    target.and_then(|path| root.pointer(path)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_found_behind_the_name_of_its_server() {
        let tools = ["back", "mcp__x__ack"].map(|name| Tool {
            name: name.into(),
            schema: Value::Null,
            freeform: false,
            namespace: None,
        });
        let named = |tools: &[Tool], settings: &Settings| {
            named_call(tools, "ack", "{\"id\": 1}", settings).map(|call| call.name)
        };
        let mut settings = Settings::default();
        assert_eq!(named(&tools, &settings).as_deref(), Some("mcp__x__ack"));
        assert_eq!(named(&tools[..1], &settings), None);
        settings.unlisted_tool = Some("mcp__y__{name}".into());
        assert_eq!(named(&tools[..1], &settings).as_deref(), Some("mcp__y__ack"));
    }

    fn tool(name: &str, schema: Value) -> Tool {
        Tool { name: name.into(), schema, freeform: false, namespace: None }
    }

    #[test]
    fn the_tool_for_commands_is_found_by_name_and_schema() {
        let tools = [
            tool("bash_output", json!({"properties": {"id": {"type": "string"}}})),
            tool("write_stdin", json!({"properties": {"chars": {"type": "string"}}})),
            tool(
                "Bash",
                json!({"properties": {"command": {"type": "string"}, "description": {"type": "string"},
                       "timeout": {"type": "number"}}, "required": ["command", "description"]}),
            ),
        ];
        let call = shell_call(&tools, "make", &Settings::default()).unwrap();
        assert_eq!(call.name, "Bash");
        assert_eq!(call.arguments, json!({"command": "make", "description": "Run a step of the work"}));
        assert_eq!(shell_call(&tools[..2], "make", &Settings::default()), None);
    }

    #[test]
    fn a_command_may_be_a_list_and_take_more_arguments() {
        let tools = [tool("shell", json!({"properties": {"command": {"type": "array"}}}))];
        let settings = Settings {
            shell_args: [("yield_time_ms".to_owned(), json!(30000))].into(),
            shell_tool: Some("shell".into()),
            ..Settings::default()
        };
        let call = shell_call(&tools, "make", &settings).unwrap();
        assert_eq!(call.arguments, json!({"command": ["bash", "-lc", "make"], "yield_time_ms": 30000}));
        let several = [tool("run_commands", json!({"properties": {"commands": {"type": "array"}}}))];
        let call = shell_call(&several, "make", &Settings::default()).unwrap();
        assert_eq!(call.arguments, json!({"commands": ["make"]}));
    }

    #[test]
    fn a_question_fits_a_nested_schema() {
        let schema = json!({
            "required": ["questions"],
            "properties": {"questions": {"type": "array", "items": {"$ref": "#/$defs/q"}}},
            "$defs": {"q": {"type": "object", "required": ["question", "header", "options", "multiSelect"], "properties": {
                "question": {"type": "string"}, "header": {"type": "string"}, "multiSelect": {"type": "boolean"},
                "options": {"type": "array", "items": {"type": "object", "required": ["label", "description"],
                    "properties": {"label": {"type": "string"}, "description": {"type": "string"}}}}}}}
        });
        let call =
            question_call(&[tool("AskUserQuestion", schema)], "Which colour?", &Settings::default()).unwrap();
        assert_eq!(
            call.arguments,
            json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [
                {"label": "Red", "description": "Red"}, {"label": "Blue", "description": "Blue"}]}]})
        );
        assert_eq!(question_call(&[tool("Read", json!({}))], "?", &Settings::default()), None);
    }

    #[test]
    fn work_is_given_to_another_agent_by_the_tool_that_is_named() {
        let schema = json!({"properties": {"prompt": {"type": "string"}, "kind": {"type": "string"}}, "required": ["prompt"]});
        let settings = Settings {
            agent_tool: Some("Agent".into()),
            agent_args: [("kind".to_owned(), json!("general"))].into(),
            ..Settings::default()
        };
        let call = agent_call(&[tool("Agent", schema)], "look", &settings).unwrap();
        assert_eq!(call.arguments, json!({"prompt": "look", "kind": "general"}));
        assert_eq!(agent_call(&[tool("Other", json!({}))], "look", &settings), None);
    }
}
