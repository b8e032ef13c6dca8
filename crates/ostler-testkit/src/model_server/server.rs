//! The server as a thing that runs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::http::{self, Shared};
use super::log::Log;
use super::settings::Settings;
use super::turns::Turns;

/// A scripted model server on loopback. It ends when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    log: Log,
    /// Its tasks live here.
    _runtime: Runtime,
}

impl ModelServer {
    /// Starts a server on a port of loopback; 0 takes one that is free. The log is kept in a file too if one is
    /// named.
    pub fn start(port: u16, settings: Settings, log: Option<&Path>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))?;
        let address = listener.local_addr()?;
        let log = Log::create(log)?;
        let shared = Shared {
            log: log.clone(),
            settings,
            turns: Mutex::new(Turns::default()),
            exchanges: AtomicU64::new(0),
        };
        let router = http::router(Arc::new(shared));
        runtime.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, log, _runtime: runtime })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it did so far.
    pub fn log(&self) -> &Log {
        &self.log
    }
}
