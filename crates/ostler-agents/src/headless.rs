//! Asking an agent something without a terminal.

use serde_json::Value;

use crate::{Headless, Preset};

/// Stands for the prompt among the arguments.
const PROMPT: &str = "{prompt}";

/// How an agent is asked one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadlessCall {
    /// Its arguments.
    pub args: Vec<String>,
    /// What it reads from its standard input, if it takes the prompt there.
    pub input: Option<String>,
}

impl HeadlessCall {
    /// The call that asks the agent, if it can be used without a terminal.
    ///
    /// Structured output is asked for where it is known where the answer is in it.
    pub fn new(preset: &Preset, prompt: &str) -> Option<Self> {
        let headless = preset.headless.as_ref()?;
        let structured: &[String] = if headless.answer.is_some() { &headless.json } else { &[] };
        let own = headless.args.iter().chain(structured);
        // A prompt that begins with dashes would be taken for an option.
        let guarded = if prompt.starts_with('-') { format!("\n{prompt}") } else { prompt.to_owned() };
        let args = preset.run.args.iter().cloned().chain(own.map(|arg| arg.replace(PROMPT, &guarded)));
        let is_given = headless.args.iter().any(|arg| arg.contains(PROMPT));
        Some(Self { args: args.collect(), input: (!is_given).then(|| prompt.to_owned()) })
    }
}

impl Headless {
    /// The agent's answer in what it wrote to its standard output.
    pub fn answer_in(&self, output: &str) -> Result<String, String> {
        let Some(pointer) = &self.answer else { return Ok(output.trim().to_owned()) };
        let value: Value =
            serde_json::from_str(output).map_err(|error| format!("its output is no JSON: {error}"))?;
        let found = value.pointer(pointer).and_then(Value::as_str);
        found.map(str::to_owned).ok_or_else(|| format!("there is no text at {pointer} in its output"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(headless: &str) -> Preset {
        toml::from_str(&format!("run.args = [\"--always\", \"{{prompt}}\"]\n{headless}")).unwrap()
    }

    #[test]
    fn the_prompt_goes_where_the_preset_says() {
        let by_argument = preset("headless.args = [\"-p\", \"{prompt}\"]\nheadless.json = [\"--json\"]");
        let call = HeadlessCall::new(&by_argument, "a {prompt}\nb").unwrap();
        assert_eq!(call.args, ["--always", "{prompt}", "-p", "a {prompt}\nb"]);
        assert_eq!(call.input, None);
        let call = HeadlessCall::new(&by_argument, "--- A BLOCK ---").unwrap();
        assert_eq!(call.args[3], "\n--- A BLOCK ---", "it is no option");
        let by_input =
            preset("headless.args = [\"-p\"]\nheadless.json = [\"--json\"]\nheadless.answer = \"/a\"");
        let call = HeadlessCall::new(&by_input, "ask").unwrap();
        assert_eq!(call.args, ["--always", "{prompt}", "-p", "--json"]);
        assert_eq!(call.input.as_deref(), Some("ask"));
        assert_eq!(HeadlessCall::new(&preset(""), "ask"), None);
    }

    #[test]
    fn the_answer_is_found_or_the_reason_is_told() {
        let plain = Headless::default();
        assert_eq!(plain.answer_in(" yes\n\n"), Ok("yes".into()));
        let structured = Headless { answer: Some("/r/0/text".into()), ..Headless::default() };
        assert_eq!(structured.answer_in("{\"r\":[{\"text\":\"yes\"}]}\n"), Ok("yes".into()));
        for (output, complaint) in [
            ("yes", "no JSON"),
            ("", "no JSON"),
            ("{\"r\":[]}", "no text at /r/0/text"),
            ("{\"r\":[{\"text\":7}]}", "no text at"),
            ("{} {}", "no JSON"),
        ] {
            let error = structured.answer_in(output).unwrap_err();
            assert!(error.contains(complaint), "{output}: {error}");
        }
    }
}
