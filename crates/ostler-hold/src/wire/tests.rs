use super::*;
use crate::exit::ExitRecord;
use proptest::prelude::*;

fn request(request: &Request<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    request.encode(&mut out);
    out
}

fn reply(reply: &Reply<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    reply.encode(&mut out);
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
        .collect()
}

/// Holders of an older build must understand these for as long as they live.
#[test]
fn golden_requests() {
    let token = *b"0123456789abcdef";
    let table = [
        (Request::Hello { version: 1, token }, "17000000014f535448010030313233343536373839616263646566"),
        (Request::Subscribe { from: 258, paced: true }, "0a00000002020100000000000001"),
        (
            Request::Input { lane: Lane::Keys, epoch: 7, seq: 9, crc: 0xCBF4_3926, bytes: b"hi" },
            "1800000003010700000000000000090000000000000026 39f4cb6869",
        ),
        (Request::Resize { cols: 120, rows: 40 }, "050000000478002800"),
        (Request::Query, "0100000005"),
        (Request::Stop { grace_ms: 5000 }, "050000000688130000"),
        (Request::Release, "0100000007"),
    ];
    for (value, golden) in table {
        let golden = golden.replace(' ', "");
        assert_eq!(hex(&request(&value)), golden, "{value:?}");
        let bytes = request(&value);
        let (frame, rest) = split_frame(&bytes).unwrap().unwrap();
        assert!(rest.is_empty());
        assert_eq!(Request::decode(frame), Ok(value));
    }
}

const STATUS: Status = Status {
    child: 513,
    running: true,
    written: 300_000,
    oldest: 37_856,
    epoch: 4,
    seqs: [1, 2, 3],
    pending: 5,
    cols: 80,
    rows: 24,
    canonical: true,
    echo: false,
    signals: true,
    foreground: 514,
};

#[test]
fn golden_replies() {
    let exit = ExitRecord { status: Some(3), written: 16, ..ExitRecord::default() };
    let status = "010200000be093040000000000e0930000000000000400000000000000010000000000000002000000000000000300000000000000\
                  050000005000180002020000";
    let table = [
        (Reply::Welcome { version: 1, status: STATUS }, format!("44000000810100{status}")),
        (Reply::Output { offset: 16, bytes: b"ab" }, "0b0000008210000000000000006162".to_owned()),
        (
            Reply::Gap { from: 1, resumed: 2, modes: b"\x1b[?2004h" },
            "1d0000008301000000000000000200000000000000 08000000 1b5b3f3230303468".to_owned(),
        ),
        (
            Reply::Gap { from: 1, resumed: 2, modes: b"" },
            "150000008301000000000000000200000000000000 00000000".to_owned(),
        ),
        (
            Reply::Input { lane: Lane::Message, seq: 2, outcome: Outcome::Duplicate, offset: 3 },
            "1300000084000200000000000000010300000000000000".to_owned(),
        ),
        (Reply::Status(STATUS), format!("4200000085{status}")),
        (Reply::Exited(exit), format!("34000000860103001000000000000000{}", "0000000000000000".repeat(5))),
        (Reply::Refused { reason: "no" }, "0700000087020000006e6f".to_owned()),
    ];
    for (value, golden) in table {
        let bytes = reply(&value);
        assert_eq!(hex(&bytes), golden.replace(' ', ""), "{value:?}");
        let (frame, _) = split_frame(&bytes).unwrap().unwrap();
        assert_eq!(Reply::decode(frame), Ok(Some(value)));
    }
}

#[test]
fn fields_of_a_newer_version_are_ignored() {
    let mut bytes = request(&Request::Resize { cols: 3, rows: 4 });
    bytes.push(99);
    bytes[0] += 1;
    let (frame, _) = split_frame(&bytes).unwrap().unwrap();
    assert_eq!(Request::decode(frame), Ok(Request::Resize { cols: 3, rows: 4 }));
    assert_eq!(Reply::decode(&[200, 1, 2]), Ok(None));
    assert_eq!(Request::decode(&[99]), Err(WireError::UnknownType(99)));
}

#[test]
fn a_gap_of_an_older_holder_tells_no_modes() {
    let old = [&[131, 1][..], &[0; 7], &[2], &[0; 7]].concat();
    assert_eq!(Reply::decode(&old), Ok(Some(Reply::Gap { from: 1, resumed: 2, modes: b"" })));
    let newer = [&old[..], &[1, 0, 0, 0, b'm'], b"and more"].concat();
    assert_eq!(Reply::decode(&newer), Ok(Some(Reply::Gap { from: 1, resumed: 2, modes: b"m" })));
}

proptest! {
    #[test]
    fn junk_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = split_frame(&bytes);
        let _ = Request::decode(&bytes);
        let _ = Reply::decode(&bytes);
    }

    #[test]
    fn frames_come_apart_wherever_they_are_cut(body in proptest::collection::vec(any::<u8>(), 0..300), cut in 0usize..400) {
        let mut stream = request(&Request::Query);
        stream.extend(request(&Request::Input { lane: Lane::Message, epoch: 1, seq: 1, crc: 0, bytes: &body }));
        let cut = cut.min(stream.len());
        let mut seen = 0;
        let mut buffer = stream[..cut].to_vec();
        for more in [&stream[cut..], &[]] {
            while let Some((frame, rest)) = split_frame(&buffer).unwrap() {
                prop_assert!(Request::decode(frame).is_ok());
                buffer = rest.to_vec();
                seen += 1;
            }
            buffer.extend_from_slice(more);
        }
        prop_assert_eq!(seen, 2);
    }
}
