//! Rules made ready for use.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ostler_core::State;
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use semver::{Version, VersionReq};

use crate::region::Region;
use crate::rule::{Answer, ChoiceSpec, Condition, RuleSpec};
use crate::speech::Speech;
use crate::version::in_range;
use crate::{ComposerSpec, ConversationSpec, Preset};

/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1000;
/// Most patterns of one agent.
pub(crate) const MAX_PATTERNS: usize = 500;
/// Most memory for one pattern's program, in bytes.
pub(crate) const MAX_PROGRAM: usize = 1 << 20;
/// What may be remembered of rows that were matched against all patterns. If that is too little, a slower engine is used.
const SET_CACHE: usize = 8 << 20;
/// Deepest nesting of conditions.
const MAX_DEPTH: usize = 8;

/// Something is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct RuleError {
    /// The field, from the top of the file.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl RuleError {
    #[expect(clippy::needless_pass_by_value, reason = "errors and texts are made for it")]
    fn new(field: impl Into<String>, reason: impl ToString) -> Self {
        Self { field: field.into(), reason: reason.to_string() }
    }
}

/// The rules for one version of an agent, ready for use.
#[derive(Debug, Default)]
pub struct RuleBook {
    pub(crate) set: RegexSet,
    /// Those of which it counts where in a row they match.
    precise: HashMap<usize, Regex>,
    pub(crate) rules: Vec<Rule>,
    /// Patterns of which more counts than that they match.
    pub(crate) telling: Vec<usize>,
    /// Patterns of signs of work that agents in general show.
    pub(crate) hints: Vec<usize>,
    pub(crate) composer: Option<ComposerPatterns>,
    speech: Option<Speech>,
    /// What the agent says with its status when only its own background work goes on.
    watching: Option<Regex>,
    /// What a row says that refuses a command.
    refused: Option<Regex>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) id: Arc<str>,
    pub(crate) state: State,
    pub(crate) kind: Option<Arc<str>>,
    pub(crate) general: bool,
    pub(crate) certain: bool,
    pub(crate) answered: bool,
    pub(crate) test: Test,
    /// Where the end of a limit is told.
    pub(crate) until: Option<(Region, usize)>,
}

impl Rule {
    /// Whether it says that agents in general look so at work.
    pub(crate) fn is_hint_of_work(&self) -> bool {
        self.general && self.state == State::Working
    }

    /// Whether it shows that a turn came to nothing.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self.state, State::Limited | State::Error)
    }

    /// Whether it matters that the rows it sees are others than before.
    pub(crate) fn is_told_apart(&self) -> bool {
        self.is_failure() || self.answered
    }
}

/// Indices of patterns.
#[derive(Debug)]
pub(crate) struct ComposerPatterns {
    pub(crate) row: usize,
    pub(crate) above: Option<usize>,
    pub(crate) below: Option<usize>,
    pub(crate) more: Option<usize>,
    pub(crate) empty: Option<usize>,
    pub(crate) has_cursor: bool,
    pub(crate) shows_cursor: bool,
    pub(crate) wide: bool,
}

#[derive(Debug)]
pub(crate) enum Test {
    Row { region: Region, pattern: usize },
    All(Vec<Test>),
    Any(Vec<Test>),
    None(Vec<Test>),
    Composer(bool),
    Draft(bool),
    CursorVisible(bool),
    CursorApart(bool),
    CursorHint(bool),
    CursorInComposer(bool),
    BracketedPaste(bool),
    AlternateScreen(bool),
}

impl Test {
    /// Adds the patterns of which a match speaks for it.
    fn patterns(&self, patterns: &mut Vec<usize>) {
        match self {
            Self::Row { pattern, .. } => patterns.push(*pattern),
            Self::All(tests) | Self::Any(tests) => tests.iter().for_each(|test| test.patterns(patterns)),
            _ => {}
        }
    }
}

impl RuleBook {
    /// Makes the rules of an agent ready that are for this version; all of them if it is not known.
    ///
    /// `general` are the rules that hold for agents in general.
    pub fn new(
        preset: &Preset,
        general: Option<&Preset>,
        version: Option<&Version>,
    ) -> Result<Self, RuleError> {
        let mut compiler = Compiler::default();
        let composer = compiler.composer(&preset.composer)?;
        let mut rules = Vec::new();
        for (id, spec) in &preset.rules {
            rules.extend(compiler.rule(id, spec, version)?);
        }
        let shared = general.into_iter().flat_map(|preset| &preset.rules);
        for (id, spec) in shared.filter(|(id, spec)| spec.general && !preset.rules.contains_key(*id)) {
            rules.extend(compiler.rule(id, spec, version)?);
        }
        // Equal priorities keep the order of their ids; rules for agents in general come last.
        rules.sort_by_key(|(priority, rule)| (rule.general, std::cmp::Reverse(*priority)));
        let rules: Vec<Rule> = rules.into_iter().map(|(_, rule)| rule).collect();
        let (mut telling, mut hints) = (Vec::new(), Vec::new());
        telling.extend(rules.iter().filter_map(|rule| rule.until).map(|(_, pattern)| pattern));
        rules.iter().filter(|rule| rule.is_told_apart()).for_each(|rule| rule.test.patterns(&mut telling));
        rules.iter().filter(|rule| rule.is_hint_of_work()).for_each(|rule| rule.test.patterns(&mut hints));
        let read = composer.iter().flat_map(|composer| [Some(composer.row), composer.empty]).flatten();
        let told = rules.iter().filter_map(|rule| rule.until).map(|(_, pattern)| pattern);
        let (set, precise) = compiler.finish(&read.chain(told).collect())?;
        let speech = speech(&preset.conversation)?;
        let watching = preset.status.watching.as_deref();
        let watching = watching.map(|source| single("status.watching", source)).transpose()?;
        let refused = preset.input.refused.as_deref();
        let refused = refused.map(|source| single("input.refused", source)).transpose()?;
        Ok(Self { set, precise, rules, telling, hints, composer, speech, watching, refused })
    }

    /// How prompts and replies look on the agent's screen, where that is known.
    pub fn speech(&self) -> Option<&Speech> {
        self.speech.as_ref()
    }

    /// Whether the agent says, with its status, that only its own background work goes on.
    pub(crate) fn is_background_work(&self, message: &str) -> bool {
        self.watching.as_ref().is_some_and(|watching| watching.is_match(message))
    }

    /// Whether it is known what the agent says to a command that it does not know.
    pub fn knows_refusals(&self) -> bool {
        self.refused.is_some()
    }

    /// Whether a row refuses the command of this name: it begins with the words for that, and the name is right behind
    /// them. A prompt or an answer may have both elsewhere.
    pub fn refuses(&self, row: &str, command: &str) -> bool {
        let Some(found) = self.refused.as_ref().and_then(|refused| refused.find(row)) else { return false };
        let named = row[found.end()..].trim_start_matches(|sign: char| !sign.is_alphanumeric());
        let Some(rest) = strip_name(named, command) else { return false };
        let ends = !rest.starts_with(|sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_'));
        ends && !row[..found.start()].contains(char::is_alphanumeric)
    }

    /// Whether the agent's composer can be recognised.
    pub fn knows_composer(&self) -> bool {
        self.composer.is_some()
    }

    /// A pattern of which it counts where in a row it matches.
    pub(crate) fn precise(&self, pattern: usize) -> Option<&Regex> {
        self.precise.get(&pattern)
    }

    /// Whether a row of the composer looks as if nothing was written in it.
    pub(crate) fn is_empty_composer_row(&self, text: &str) -> bool {
        let empty = self.composer.as_ref().and_then(|composer| composer.empty);
        empty.and_then(|empty| self.precise(empty)).is_some_and(|empty| empty.is_match(text))
    }

    /// Where, in the first row of a composer, that begins which was written in it.
    pub(crate) fn prompt_end(&self, text: &str) -> usize {
        let row = self.composer.as_ref().and_then(|composer| self.precise(composer.row));
        row.and_then(|row| row.find(text)).map_or(0, |prompt| prompt.end())
    }

    /// The ids of the rules, in the order in which they count.
    pub fn rule_ids(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| &*rule.id)
    }
}

/// Patterns of answers are used only where a dialog is answered; that they are patterns is known before.
fn check_answer(field: &str, answer: &Answer) -> Result<(), RuleError> {
    let mut compiler = Compiler::default();
    for (name, pattern) in
        [("accept", &answer.accept), ("decline", &answer.decline), ("selected", &answer.selected)]
    {
        if let Some(pattern) = pattern {
            compiler.pattern(&format!("{field}.{name}"), pattern)?;
        }
    }
    Ok(())
}

/// The same for the choices of a dialog.
fn check_choice(field: &str, choice: &ChoiceSpec) -> Result<(), RuleError> {
    let mut compiler = Compiler::default();
    let ChoiceSpec { accept, decline, always, selected, text, buttons, .. } = choice;
    let all = [
        ("accept", accept),
        ("decline", decline),
        ("always", always),
        ("selected", selected),
        ("text", text),
        ("buttons", buttons),
    ];
    for (name, pattern) in all {
        if let Some(pattern) = pattern {
            compiler.pattern(&format!("{field}.{name}"), pattern)?;
        }
    }
    Ok(())
}

/// Patterns that are looked for only when somebody asks, and so are not in the set for all rows.
fn speech(spec: &ConversationSpec) -> Result<Option<Speech>, RuleError> {
    let (prompt, reply) = match (&spec.prompt, &spec.reply) {
        (Some(prompt), Some(reply)) => (prompt, reply),
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(RuleError::new("conversation.reply", "is missing beside `prompt`")),
        (None, Some(_)) => return Err(RuleError::new("conversation.prompt", "is missing beside `reply`")),
    };
    Ok(Some(Speech {
        prompt: single("conversation.prompt", prompt)?,
        reply: single("conversation.reply", reply)?,
    }))
}

/// What comes behind a name, however it is written.
fn strip_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(name.len())?;
    head.eq_ignore_ascii_case(name).then_some(rest)
}

/// A pattern that is not looked for in rows.
fn single(field: &str, source: &str) -> Result<Regex, RuleError> {
    let mut compiler = Compiler::default();
    let index = compiler.pattern(field, source)?;
    Ok(compiler.regexes.swap_remove(index))
}

/// The pattern with every word boundary that of ASCII words.
///
/// The boundaries of all alphabets would be looked for with the slowest of engines, in every row with a frame or a
/// mark in it: that took four fifths of a replay's time.
fn with_plain_boundaries(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut characters = source.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('b')) => {
                characters.next();
                // Of the start or the end of a word alone: `\b{start}`.
                plain.push_str(if characters.peek() == Some(&'{') { r"\b" } else { r"(?-u:\b)" });
            }
            ('\\', Some(escaped)) => {
                plain.extend([character, *escaped]);
                characters.next();
            }
            _ => plain.push(character),
        }
    }
    plain
}

/// Collects patterns, each once.
#[derive(Default)]
struct Compiler {
    sources: Vec<String>,
    regexes: Vec<Regex>,
    known: HashMap<String, usize>,
}

impl Compiler {
    fn pattern(&mut self, field: &str, source: &str) -> Result<usize, RuleError> {
        if let Some(index) = self.known.get(source) {
            return Ok(*index);
        }
        if source.len() > MAX_PATTERN {
            return Err(RuleError::new(field, format!("a pattern may have {MAX_PATTERN} bytes")));
        }
        if self.sources.len() >= MAX_PATTERNS {
            return Err(RuleError::new(field, format!("an agent may have {MAX_PATTERNS} patterns")));
        }
        let plain = with_plain_boundaries(source);
        let regex = RegexBuilder::new(&plain)
            .size_limit(MAX_PROGRAM)
            .nest_limit(50)
            .build()
            .map_err(|error| RuleError::new(field, error))?;
        let index = self.sources.len();
        self.known.insert(source.to_owned(), index);
        self.sources.push(plain);
        self.regexes.push(regex);
        Ok(index)
    }

    fn composer(&mut self, spec: &ComposerSpec) -> Result<Option<ComposerPatterns>, RuleError> {
        let Some(row) = &spec.row else { return Ok(None) };
        let mut optional = |field: &str, source: &Option<String>| {
            source.as_ref().map(|source| self.pattern(field, source)).transpose()
        };
        Ok(Some(ComposerPatterns {
            above: optional("composer.above", &spec.above)?,
            below: optional("composer.below", &spec.below)?,
            more: optional("composer.more", &spec.more)?,
            empty: optional("composer.empty", &spec.empty)?,
            row: self.pattern("composer.row", row)?,
            has_cursor: spec.has_cursor || spec.shows_cursor,
            shows_cursor: spec.shows_cursor,
            wide: spec.wide,
        }))
    }

    fn rule(
        &mut self,
        id: &str,
        spec: &RuleSpec,
        version: Option<&Version>,
    ) -> Result<Option<(i32, Rule)>, RuleError> {
        let field = format!("rules.{id}");
        // What is turned off may have gone from the files below.
        if spec.off && spec.state.is_none() {
            return Ok(None);
        }
        let wanted = spec.versions.as_ref().map(|range| {
            VersionReq::parse(range).map_err(|error| RuleError::new(format!("{field}.versions"), error))
        });
        let wanted = wanted.transpose()?;
        let state = spec.state.ok_or_else(|| RuleError::new(format!("{field}.state"), "is missing"))?;
        if matches!(state, State::Exited | State::Unknown | State::Starting) {
            return Err(RuleError::new(format!("{field}.state"), format!("no screen shows {state}")));
        }
        if spec.answered && state != State::Idle {
            return Err(RuleError::new(format!("{field}.answered"), format!("{state} answers nothing")));
        }
        if let Some(answer) = &spec.answer {
            check_answer(&format!("{field}.answer"), answer)?;
        }
        if let Some(choice) = &spec.choice {
            check_choice(&format!("{field}.choice"), choice)?;
        }
        let mut until = None;
        let test = self.test(&format!("{field}.when"), &spec.when, &mut until, 0)?;
        if spec.off || wanted.zip(version).is_some_and(|(wanted, version)| !in_range(&wanted, version)) {
            return Ok(None);
        }
        let (id, kind) = (Arc::from(id), spec.kind.as_deref().map(Arc::from));
        let RuleSpec { priority, general, certain, answered, .. } = *spec;
        Ok(Some((priority, Rule { id, state, kind, general, certain, answered, test, until })))
    }

    fn test(
        &mut self,
        field: &str,
        condition: &Condition,
        until: &mut Option<(Region, usize)>,
        depth: usize,
    ) -> Result<Test, RuleError> {
        if depth > MAX_DEPTH {
            return Err(RuleError::new(field, "is nested too deeply"));
        }
        let mut tests = Vec::new();
        match (&condition.region, &condition.row) {
            (Some(region), Some(row)) => {
                let region = region.parse().map_err(|error| RuleError::new(format!("{field}.in"), error))?;
                let pattern = self.pattern(&format!("{field}.row"), row)?;
                if self.regexes[pattern].capture_names().any(|name| name == Some("until")) {
                    *until = Some((region, pattern));
                }
                tests.push(Test::Row { region, pattern });
            }
            (None, None) => {}
            (Some(_), None) => return Err(RuleError::new(format!("{field}.row"), "is missing beside `in`")),
            (None, Some(_)) => return Err(RuleError::new(format!("{field}.in"), "is missing beside `row`")),
        }
        let mut list = |name: &str, conditions: &[Condition]| {
            (0..)
                .zip(conditions)
                .map(|(index, condition)| {
                    self.test(&format!("{field}.{name}[{index}]"), condition, until, depth + 1)
                })
                .collect::<Result<Vec<Test>, RuleError>>()
        };
        tests.extend(list("all", &condition.all)?);
        let (any, not) = (list("any", &condition.any)?, list("not", &condition.not)?);
        if !any.is_empty() {
            tests.push(Test::Any(any));
        }
        if !not.is_empty() {
            tests.push(Test::None(not));
        }
        tests.extend(condition.composer.map(Test::Composer));
        tests.extend(condition.draft.map(Test::Draft));
        tests.extend(condition.cursor_visible.map(Test::CursorVisible));
        tests.extend(condition.cursor_apart.map(Test::CursorApart));
        tests.extend(condition.cursor_hint.map(Test::CursorHint));
        tests.extend(condition.cursor_in_composer.map(Test::CursorInComposer));
        tests.extend(condition.bracketed_paste.map(Test::BracketedPaste));
        tests.extend(condition.alternate_screen.map(Test::AlternateScreen));
        if tests.is_empty() {
            return Err(RuleError::new(field, "says nothing, so it would always hold"));
        }
        Ok(Test::All(tests))
    }

    /// All patterns together, and some of them apart.
    fn finish(self, apart: &HashSet<usize>) -> Result<(RegexSet, HashMap<usize, Regex>), RuleError> {
        let set = RegexSetBuilder::new(&self.sources)
            .size_limit(MAX_PROGRAM * 8)
            .dfa_size_limit(SET_CACHE)
            .build()
            .map_err(|error| RuleError::new("rules", error))?;
        let regexes = self.regexes.into_iter().enumerate();
        Ok((set, regexes.filter(|(index, _)| apart.contains(index)).collect()))
    }
}

#[cfg(test)]
mod tests;
