//! Connections on which something was sent and not answered: who waits for a model waits so.
//!
//! The kernel tells when each connection last sent and last received data, but only for the network namespace that
//! we are in. For programs in another one there is a weaker sign: data that the other side has not even taken.
//! Whatever cannot be found out is no evidence.

use std::collections::HashSet;
use std::fs;
use std::io;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// What is sent so soon after something came is no question: protocols acknowledge and keep house.
const HOUSEKEEPING_MS: u32 = 50;
/// Who was not answered for so long does not wait any more: some connections are only kept open.
const PATIENCE_MS: u32 = 300_000;
/// Most that is read of a machine's connections; one that has more gives no evidence.
const MAX_BYTES: usize = 4 << 20;

/// `SOCK_DIAG_BY_FAMILY`
const BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`
const DUMP: u16 = 0x301;
const IPPROTO_TCP: u8 = 6;
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;
/// `INET_DIAG_INFO`
const INFO: u16 = 2;
/// Length of `struct inet_diag_msg`.
const MESSAGE: usize = 72;

/// A connection, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Connection {
    state: u8,
    local_port: u16,
    inode: u64,
    traffic: Option<Traffic>,
}

/// What went over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Traffic {
    /// Milliseconds since data was sent, and since some came.
    sent_ago: u32,
    received_ago: u32,
    /// Segments with data, so far.
    sent: u32,
    received: u32,
}

impl Traffic {
    /// Whether something was sent that waits for an answer.
    fn is_unanswered(self) -> bool {
        if self.sent == 0 || self.sent_ago > PATIENCE_MS {
            return false;
        }
        self.received == 0 || self.received_ago.saturating_sub(self.sent_ago) > HOUSEKEEPING_MS
    }
}

/// Whether one of the processes waits for an answer from the network.
pub(super) fn await_answer(pids: &[u32]) -> bool {
    let [first, ..] = pids else { return false };
    let own: HashSet<u64> = pids.iter().flat_map(|pid| inodes(*pid)).collect();
    if own.is_empty() {
        return false;
    }
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let theirs = namespace(&first.to_string());
    if theirs.is_some() && theirs == namespace("self") {
        return connections().is_ok_and(|all| asks(&all, &own));
    }
    ["tcp", "tcp6"].iter().any(|table| {
        fs::read_to_string(format!("/proc/{first}/net/{table}"))
            .is_ok_and(|text| text.lines().skip(1).any(|line| is_untaken(line, &own)))
    })
}

/// Sockets that a process has.
fn inodes(pid: u32) -> Vec<u64> {
    let Ok(handles) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let inode = |handle: fs::DirEntry| {
        let target = fs::read_link(handle.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    handles.flatten().filter_map(inode).collect()
}

/// Whether one of our own connections waits for an answer. On those that others made to us, they do.
fn asks(all: &[Connection], own: &HashSet<u64>) -> bool {
    let served: HashSet<u16> =
        all.iter().filter(|one| one.state == LISTEN).map(|one| one.local_port).collect();
    all.iter().any(|one| {
        one.state == ESTABLISHED
            && own.contains(&one.inode)
            && !served.contains(&one.local_port)
            && one.traffic.is_some_and(Traffic::is_unanswered)
    })
}

/// Whether a line of `/proc/net/tcp` is a connection of ours with data that was not taken.
fn is_untaken(line: &str, own: &HashSet<u64>) -> bool {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, state, queues, _, _, _, _, inode, ..] = fields[..] else { return false };
    let waiting = queues.split(':').next().and_then(|sent| u64::from_str_radix(sent, 16).ok());
    state == "01"
        && waiting.is_some_and(|waiting| waiting > 0)
        && inode.parse().is_ok_and(|inode| own.contains(&inode))
}

/// All connections and listeners of our network namespace.
fn connections() -> io::Result<Vec<Connection>> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    let mut found = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        sendto(&socket, &request(family), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let (mut buffer, mut total) = (vec![0; 64 << 10], 0);
        // The kernel writes its answer when it is read: there is nothing to wait for.
        while let (count, _) = recv(&socket, buffer.as_mut_slice(), RecvFlags::DONTWAIT)?
            && let Some(more) = read(&buffer[..count])?
        {
            total += count;
            if total > MAX_BYTES {
                return Err(io::Error::other("too many connections"));
            }
            found.extend(more);
        }
    }
    Ok(found)
}

/// Asks for all connections and listeners of a family, with their traffic.
fn request(family: AddressFamily) -> Vec<u8> {
    const LENGTH: u32 = 16 + 56;
    let mut bytes = Vec::new();
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    let states = (1_u32 << ESTABLISHED) | (1 << LISTEN);
    // Behind the number and the sender of the request.
    bytes.resize(24, 0);
    bytes[16..20].copy_from_slice(&[family.as_raw().to_le_bytes()[0], IPPROTO_TCP, 1 << (INFO - 1), 0]);
    bytes[20..24].copy_from_slice(&states.to_ne_bytes());
    bytes.resize(16 + 56, 0);
    bytes
}

/// The connections in one piece of an answer; nothing at its end.
fn read(mut bytes: &[u8]) -> io::Result<Option<Vec<Connection>>> {
    let mut found = Vec::new();
    while let Some((length, kind)) = u32_at(bytes, 0).zip(u16_at(bytes, 4)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (Some(message), true) = (bytes.get(16..length), length >= 16) else { break };
        match kind {
            NLMSG_DONE => return Ok(None),
            NLMSG_ERROR => return Err(io::Error::other("the kernel does not tell")),
            _ => found.extend(connection(message)),
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(Some(found))
}

fn connection(message: &[u8]) -> Option<Connection> {
    let mut attributes = message.get(MESSAGE..)?;
    let mut traffic = None;
    while let Some((length, kind)) = u16_at(attributes, 0).zip(u16_at(attributes, 2)) {
        let length = usize::from(length).max(4);
        if kind == INFO {
            // struct tcp_info
            traffic = attributes.get(4..length).and_then(|info| {
                Some(Traffic {
                    sent_ago: u32_at(info, 44)?,
                    received_ago: u32_at(info, 52)?,
                    received: u32_at(info, 152)?,
                    sent: u32_at(info, 156)?,
                })
            });
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Connection {
        state: *message.get(1)?,
        local_port: u16::from_be_bytes([*message.get(4)?, *message.get(5)?]),
        inode: u32_at(message, 68)?.into(),
        traffic,
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn what_was_sent_after_the_last_answer_is_unanswered() {
        let table = [
            ("nothing went over it", 10, 10, 0, 0, false),
            ("a greeting came", 500, 400, 0, 1, false),
            ("the first question", 900, 910, 1, 0, true),
            ("it was answered", 3_548, 3_040, 5, 9, false),
            ("the next question", 3_868, 7_364, 6, 9, true),
            ("an acknowledgement of what came", 3_000, 3_010, 6, 9, false),
            ("a connection that is kept open", 400_000, 900_000, 6, 9, false),
        ];
        for (what, sent_ago, received_ago, sent, received, unanswered) in table {
            let traffic = Traffic { sent_ago, received_ago, sent, received };
            assert_eq!(traffic.is_unanswered(), unanswered, "{what}");
        }
    }

    #[test]
    fn only_our_own_questions_count() {
        let traffic = Some(Traffic { sent_ago: 10, received_ago: 1_000, sent: 2, received: 2 });
        let one = Connection { state: ESTABLISHED, local_port: 40_000, inode: 7, traffic };
        let listener = |local_port| Connection { state: LISTEN, local_port, inode: 8, traffic: None };
        let own = HashSet::from([7]);
        assert!(asks(&[one, listener(80)], &own));
        assert!(!asks(&[one, listener(40_000)], &own));
        assert!(!asks(&[Connection { inode: 9, ..one }], &own));
        assert!(!asks(&[Connection { traffic: None, ..one }], &own));
    }

    #[test]
    fn another_namespace_shows_what_was_not_taken() {
        let line = |state, queues, inode| {
            format!(
                " 3: 0100007F:B6C2 0100007F:20CF {state} {queues} 00:00000000 00000000 0 0 {inode} 1 0 20 4"
            )
        };
        let own = HashSet::from([7]);
        assert!(is_untaken(&line("01", "0000001F:00000000", 7), &own));
        assert!(!is_untaken(&line("01", "00000000:0000001F", 7), &own));
        assert!(!is_untaken(&line("0A", "0000001F:00000000", 7), &own));
        assert!(!is_untaken(&line("01", "0000001F:00000000", 8), &own));
        assert!(!is_untaken("sl local_address", &own));
    }

    #[test]
    fn damaged_answers_are_no_evidence() {
        assert_eq!(read(&[]).unwrap(), Some(vec![]));
        assert_eq!(read(&[0xff; 100]).unwrap(), Some(vec![]));
        assert_eq!(read(&[0; 100]).unwrap(), Some(vec![]));
        assert_eq!(connection(&[0; MESSAGE - 1]), None);
        // An attribute that claims no length at all does not hold up the rest.
        assert!(connection(&[0; MESSAGE + 64]).is_some());
    }

    /// Both ends of a connection are ours here; the listener tells which one asks.
    #[test]
    fn a_real_question_is_seen_until_it_is_answered() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut asking = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut answering, _) = listener.accept().unwrap();
        let all = || connections().unwrap();
        let own = HashSet::from([
            rustix::fs::fstat(asking.as_fd()).unwrap().st_ino,
            rustix::fs::fstat(answering.as_fd()).unwrap().st_ino,
        ]);
        assert!(own.iter().all(|inode| inodes(std::process::id()).contains(inode)));
        assert_eq!(all().iter().filter(|one| own.contains(&one.inode) && one.traffic.is_some()).count(), 2);
        assert!(!asks(&all(), &own), "nothing was asked");
        asking.write_all(b"question").unwrap();
        assert!(asks(&all(), &own));
        answering.read_exact(&mut [0; 8]).unwrap();
        answering.write_all(b"answer").unwrap();
        asking.read_exact(&mut [0; 6]).unwrap();
        assert!(!asks(&all(), &own), "it was answered");
    }
}
