//! Conditions on a record, ready to be checked.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::error::SpecError;
use super::spec::{Conditions, Scalar, TestSpec, TestTable};
use super::value::{Pointer, text};

/// Bytes that a compiled expression may take: a preset of a stranger cannot make ostler big.
const REGEX_SIZE: usize = 1 << 18;

/// Everything that must be so of a record.
#[derive(Debug, Clone, Default)]
pub(super) struct Tests(Vec<(Pointer, Test)>);

#[derive(Debug, Clone)]
enum Test {
    OneOf(Vec<Scalar>),
    NoneOf(Vec<Scalar>),
    Exists(bool),
    Matches(Regex),
    Lacks(Regex),
    Any(Tests),
    None(Tests),
}

pub(super) fn regex(field: &str, pattern: &str) -> Result<Regex, SpecError> {
    RegexBuilder::new(pattern)
        .size_limit(REGEX_SIZE)
        .dfa_size_limit(REGEX_SIZE)
        .build()
        .map_err(|error| SpecError::Regex { field: field.to_owned(), reason: error.to_string() })
}

impl Tests {
    pub(super) fn new(field: &str, conditions: &Conditions) -> Result<Self, SpecError> {
        let mut tests = Vec::new();
        for (place, spec) in conditions {
            let field = format!("{field}.{place:?}");
            let pointer = Pointer::new(&field, place)?;
            let mut add = |test| tests.push((pointer.clone(), test));
            match spec {
                TestSpec::Is(value) => add(Test::OneOf(vec![value.clone()])),
                TestSpec::OneOf(values) => add(Test::OneOf(values.clone())),
                TestSpec::Table(table) => table_tests(&field, table)?.into_iter().for_each(add),
            }
        }
        Ok(Self(tests))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn hold(&self, record: &Value) -> bool {
        self.0.iter().all(|(pointer, test)| test.holds(pointer.of(record)))
    }
}

fn table_tests(field: &str, table: &TestTable) -> Result<Vec<Test>, SpecError> {
    let mut tests = Vec::new();
    tests.extend(table.exists.map(Test::Exists));
    if !table.not.is_empty() {
        tests.push(Test::NoneOf(table.not.clone()));
    }
    if let Some(pattern) = &table.matches {
        tests.push(Test::Matches(regex(field, pattern)?));
    }
    if let Some(pattern) = &table.lacks {
        tests.push(Test::Lacks(regex(field, pattern)?));
    }
    if !table.any.is_empty() {
        tests.push(Test::Any(Tests::new(field, &table.any)?));
    }
    if !table.none.is_empty() {
        tests.push(Test::None(Tests::new(field, &table.none)?));
    }
    Ok(tests)
}

impl Test {
    fn holds(&self, value: Option<&Value>) -> bool {
        let matches = |regex: &Regex| value.and_then(text).is_some_and(|text| regex.is_match(&text));
        let one_of = |list: &[Scalar]| value.is_some_and(|value| list.iter().any(|scalar| is(scalar, value)));
        let any = |tests: &Tests| {
            value.and_then(Value::as_array).is_some_and(|list| list.iter().any(|element| tests.hold(element)))
        };
        match self {
            Self::OneOf(list) => one_of(list),
            Self::NoneOf(list) => !one_of(list),
            Self::Exists(wanted) => value.is_some() == *wanted,
            Self::Matches(regex) => matches(regex),
            Self::Lacks(regex) => !matches(regex),
            Self::Any(tests) => any(tests),
            Self::None(tests) => !any(tests),
        }
    }
}

fn is(scalar: &Scalar, value: &Value) -> bool {
    match scalar {
        Scalar::Bool(wanted) => value.as_bool() == Some(*wanted),
        Scalar::Int(wanted) => value.as_i64() == Some(*wanted),
        Scalar::Text(wanted) => value.as_str() == Some(wanted),
    }
}
