//! `ostler metrics`

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

use ostler_core::pre_context::Kind;
use ostler_protocol::{Metrics, Request, Response};
use serde_json::Value;

use crate::cli::Json;
use crate::error::CommandError;
use crate::{client, output};

/// Names, what they count, and where the count is found.
const COUNTERS: [(&str, &str, &str); 13] = [
    ("ostler_messages_sent_total", "Prompts that were sent", "sent"),
    (
        "ostler_injections_attempted_total",
        "Prompts that were typed, or given to their agent another way",
        "attempted",
    ),
    ("ostler_injections_succeeded_total", "Prompts that are proven to be taken", "submitted"),
    ("ostler_injections_first_try_total", "Prompts that were taken at the first try", "first_try"),
    ("ostler_injections_after_retry_total", "Prompts that were taken after more than one try", "after_retry"),
    ("ostler_injections_acknowledged_total", "Prompts that their agent confirmed", "acknowledged"),
    (
        "ostler_injections_acknowledgement_wanted_total",
        "Prompts whose agent was asked to confirm",
        "ack_wanted",
    ),
    ("ostler_injections_escalated_total", "Prompts that took another way", "escalated"),
    (
        "ostler_injections_escalated_to_file_total",
        "Prompts that were put into the instructions file",
        "escalated_to_file",
    ),
    ("ostler_contexts_total", "Texts that an agent has to know", "contexts"),
    (
        "ostler_contexts_visible_total",
        "Texts that an agent has to know and took, or found in its instructions file",
        "contexts_visible",
    ),
    ("ostler_injections_failed_total", "Prompts that were given up; some may be tried again", "failed"),
    (
        "ostler_injections_uncertain_total",
        "Prompts of which it could not be told when they were given up",
        "uncertain",
    ),
];

pub(crate) fn run(args: &Json) -> Result<ExitCode, CommandError> {
    let Response::Metrics(metrics) = client::call(&Request::Metrics)? else {
        return Err(super::unexpected());
    };
    if args.json {
        output::json(&metrics)?;
    } else {
        output::print(&exposition(&metrics))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The metrics in the text format of Prometheus.
fn exposition(metrics: &Metrics) -> String {
    let mut text = String::new();
    let count = |name: &str| metrics.deliveries.get(name).and_then(Value::as_u64).unwrap_or(0);
    let mut add = |name: &str, kind: &str, help: &str, value: &str| {
        let _ = write!(text, "# HELP {name} {help}.\n# TYPE {name} {kind}\n{name} {value}\n");
    };
    for (name, help, key) in COUNTERS {
        add(name, "counter", help, &count(key).to_string());
    }
    add("ostler_messages_waiting", "gauge", "Prompts that wait", &count("waiting").to_string());
    #[expect(clippy::cast_precision_loss, reason = "for people and graphs")]
    let mean = |sum: u64| sum as f64 / count("submitted").max(1) as f64;
    let attempts = format!("{:.3}", mean(count("attempts")));
    add("ostler_injection_attempts_mean", "gauge", "Times a prompt was given until it was taken", &attempts);
    let seconds = format!("{:.3}", mean(count("elapsed_ms")) / 1e3);
    add("ostler_injection_seconds_mean", "gauge", "Time from sending to being taken", &seconds);
    for (rate, name, help) in [
        (
            "first_try",
            "ostler_injection_first_try_ratio",
            "Prompts taken at the first try, of those that came to an end",
        ),
        (
            "overall",
            "ostler_injection_success_ratio",
            "Prompts that were taken, of those that came to an end",
        ),
        (
            "acknowledged",
            "ostler_injection_acknowledged_ratio",
            "Prompts that were confirmed, of those that should be",
        ),
        ("visible", "ostler_context_visible_ratio", "Contexts that their agent took or could read, of all"),
    ] {
        if let Some(rate) = output::rate(&metrics.deliveries, rate) {
            add(name, "gauge", help, &format!("{rate:.4}"));
        }
    }
    // What never happened is shown as such: a graph begins at zero.
    let mut injections = metrics.context_injections.clone();
    for kind in Kind::ALL {
        injections.entry(kind.as_str().to_owned()).or_insert(0);
    }
    let mut add = |name: &str, kind: &str, help: &str, label: &str, counts: &BTreeMap<String, u64>| {
        let _ = write!(text, "# HELP {name} {help}.\n# TYPE {name} {kind}\n");
        for (value, count) in counts {
            let _ = writeln!(text, "{name}{{{label}=\"{value}\"}} {count}");
        }
    };
    add("ostler_sessions", "gauge", "Running sessions by state", "state", &metrics.sessions);
    let (name, help) =
        ("ostler_context_injection_count", "Prompts of runs with context before them, by its kind");
    add(name, "counter", help, "type", &injections);
    // The same by the names of those who wrote down first what should be counted.
    let count = |kind: Kind| (kind.metric().to_owned(), injections.get(kind.as_str()).copied().unwrap_or(0));
    let by_metric = Kind::ALL.map(count).into();
    add("context_injection_count", "counter", help, "type", &by_metric);
    add("ostler_runs_ended_total", "counter", "Ended runs by outcome", "outcome", &metrics.runs);
    text
}
