//! The server on standard input and output.

use std::io;
use std::sync::Arc;

use ostler_protocol::{ToolAnswer, ToolCall};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::tools::INSTRUCTIONS;
use crate::{in_words, read_call, tools};

/// Longest line that is read: a call with the longest arguments, however they are escaped.
const MAX_LINE: usize = 1 << 20;

/// Where calls are answered. It may wait.
pub trait Desk: Send + Sync + 'static {
    /// Whether there is anybody to answer for. Otherwise no tools are listed: they would cost context for nothing.
    fn is_open(&self) -> bool;
    /// Answers a call, or says why it cannot, in words for a model.
    fn answer(&self, call: ToolCall) -> Result<ToolAnswer, String>;
}

/// Serves an agent until it leaves.
pub async fn serve(
    desk: impl Desk,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE);
    match serve_server(Server { desk: Arc::new(desk) }, transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // It left, or said something else, before it asked for anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

struct Server<D> {
    desk: Arc<D>,
}

impl<D: Desk> ServerHandler for Server<D> {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ostler", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = if self.desk.is_open() { tools() } else { Vec::new() };
        Ok(ListToolsResult::with_all_items(offered.into_iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let read = read_call(&request.name, &request.arguments.unwrap_or_default());
        let (call, misuse) = match read {
            Ok(call) => (call, None),
            Err(misuse) => (ToolCall::Misunderstood {}, Some(misuse)),
        };
        let desk = self.desk.clone();
        let answered = tokio::task::spawn_blocking(move || desk.answer(call)).await;
        let answer = answered.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let said = |text: String| vec![ContentBlock::text(text)];
        // What a model is to read and mend is a result; errors of the protocol are not shown to it.
        Ok(CallToolResponse::Complete(match (misuse, answer) {
            (Some(misuse), _) => CallToolResult::error(said(misuse)),
            (None, Ok(answer)) => CallToolResult::success(said(in_words(&answer))),
            (None, Err(reason)) => CallToolResult::error(said(reason)),
        }))
    }
}

fn listed(tool: crate::ToolText) -> Tool {
    let arguments = match tool.arguments {
        Value::Object(arguments) => arguments,
        _ => serde_json::Map::new(),
    };
    let hints = ToolAnnotations::new().read_only(tool.reads).destructive(false).open_world(false);
    Tool::new(tool.name, tool.description, arguments).with_annotations(hints)
}
