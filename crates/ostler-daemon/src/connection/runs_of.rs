//! What clients ask about runs.

use ostler_protocol::frame::FrameError;
use ostler_protocol::{Problem, Response};
use ostler_store::shared::SharedStore;

use super::Connection;
use crate::runs;

impl Connection {
    /// Answers with a run when it is further than the client knows.
    pub(super) async fn run_status(
        &mut self,
        id: &str,
        after: Option<u64>,
    ) -> Result<Result<Response, Problem>, FrameError> {
        let answer = |run| Ok(Ok(Response::Run(Box::new(run))));
        self.shared.runs.ready().await;
        let Some(mut handle) = self.shared.runs.find(id) else {
            return match runs::recorded(&self.shared, id).await {
                Ok(Some(run)) => answer(run),
                Ok(None) => Ok(Err(runs::unknown(id))),
                Err(problem) => Ok(Err(problem)),
            };
        };
        if let Some(after) = after {
            tokio::select! {
                _ = handle.info.wait_for(|run| run.version > after || run.is_over()) => {}
                left = self.left() => return Err(left),
            }
        }
        let run = handle.info.borrow().clone();
        answer(run)
    }

    pub(super) async fn providers(&self) -> Result<Response, Problem> {
        let providers = runs::providers(&self.shared).await.map_err(|error| runs::trouble(&error))?;
        let store = match self.shared.common.guarantee().await {
            Ok(guarantee) => guarantee.to_string(),
            Err(error) => format!("not known: {error}"),
        };
        Ok(Response::Providers { providers, store })
    }
}
