//! What agents' hooks report.

use ostler_protocol::{HookReport, Problem};

use crate::hook_reports::HookReports;

/// Takes a report; returns what the hook is to print for its agent, instead of the usual.
pub(crate) async fn report(
    hook_reports: &HookReports,
    report: HookReport,
    payload: Vec<u8>,
) -> Result<Option<String>, Problem> {
    hook_reports.receive(report, payload).await
}
