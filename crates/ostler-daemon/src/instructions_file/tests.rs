use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Barrier;

use super::*;

fn id(text: &str) -> BlockId {
    BlockId::new(text).unwrap()
}

fn project() -> (tempfile::TempDir, InstructionsFile) {
    let dir = tempfile::tempdir().unwrap();
    let file = InstructionsFile::new(dir.path(), "NOTES.md");
    (dir, file)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_comes_and_goes_with_its_blocks() {
    let (dir, file) = project();
    assert!(file.put(&id("a"), "hello").unwrap());
    assert!(!file.put(&id("a"), "hello").unwrap());
    assert!(file.put(&id("b"), "there").unwrap());
    assert_eq!(names(dir.path()), ["NOTES.md"]);
    assert_eq!(file.remove(Some(&id("c"))).unwrap(), Removed::default());
    assert_eq!(file.remove(Some(&id("a"))).unwrap(), Removed { blocks: 1, deleted: false });
    assert_eq!(file.remove(None).unwrap(), Removed { blocks: 1, deleted: true });
    assert_eq!(names(dir.path()), Vec::<String>::new());
    assert_eq!(file.remove(None).unwrap(), Removed::default());
}

#[test]
fn a_persons_file_is_given_back_as_it_was() {
    let (dir, file) = project();
    let bytes = b"\xef\xbb\xbf# Mine\r\n\xff\xfe no end of line";
    fs::write(file.path(), bytes).unwrap();
    fs::set_permissions(file.path(), Permissions::from_mode(0o640)).unwrap();
    // What a killed process left is no obstacle.
    fs::write(dir.path().join(".NOTES.md.ostler-new"), "half").unwrap();
    file.put(&id("a"), "context").unwrap();
    let with = fs::read(file.path()).unwrap();
    assert!(with.starts_with(bytes) && with.len() > bytes.len());
    assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o7777, 0o640);
    file.remove(Some(&id("a"))).unwrap();
    assert_eq!(fs::read(file.path()).unwrap(), bytes);
    assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o7777, 0o640);
    assert_eq!(names(dir.path()), ["NOTES.md"]);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("NOTES.md"), "secret\n").unwrap();
    let refused = |make: &dyn Fn(&Path), name: &str, words: &str| {
        let dir = tempfile::tempdir().unwrap();
        make(dir.path());
        let file = InstructionsFile::new(dir.path(), name);
        let before = names(dir.path());
        let error = file.put(&id("a"), "x").unwrap_err();
        assert!(error.to_string().contains(words), "{name}: {error}");
        assert_eq!(names(dir.path()), before);
    };
    let target = outside.path().to_owned();
    refused(
        &|dir| symlink(target.join("NOTES.md"), dir.join("NOTES.md")).unwrap(),
        "NOTES.md",
        "symbolic link",
    );
    refused(&|dir| symlink("nowhere", dir.join("NOTES.md")).unwrap(), "NOTES.md", "symbolic link");
    refused(&|dir| symlink(&target, dir.join("sub")).unwrap(), "sub/NOTES.md", "symbolic link");
    refused(&|dir| fs::create_dir(dir.join("NOTES.md")).unwrap(), "NOTES.md", "not a regular file");
    refused(&|_| {}, "../NOTES.md", "is not beneath");
    refused(&|_| {}, "/etc/NOTES.md", "is not beneath");
    refused(&|_| {}, "sub/NOTES.md", "No such file or directory");
    refused(&|_| {}, "..", "is no file");
    refused(
        &|dir| {
            fs::write(dir.join("other"), "x").unwrap();
            fs::hard_link(dir.join("other"), dir.join("NOTES.md")).unwrap();
        },
        "NOTES.md",
        "hard links",
    );
    refused(
        &|dir| File::create(dir.join("NOTES.md")).unwrap().set_len(MAX_BYTES + 1).unwrap(),
        "NOTES.md",
        "too large",
    );
    refused(
        &|dir| {
            fs::write(dir.join("NOTES.md"), "x").unwrap();
            fs::set_permissions(dir.join("NOTES.md"), Permissions::from_mode(0o400)).unwrap();
        },
        "NOTES.md",
        "read-only",
    );
    refused(&|dir| fs::write(dir.join("NOTES.md"), b"\xff\xfea\0").unwrap(), "NOTES.md", "UTF-16");
    assert_eq!(fs::read(outside.path().join("NOTES.md")).unwrap(), b"secret\n");
    assert_eq!(names(outside.path()), ["NOTES.md"]);
}

#[test]
fn what_is_put_in_can_be_taken_out_again_however_large_the_file_is() {
    let (_dir, file) = project();
    let nearly = "x".repeat(usize::try_from(MAX_BYTES).unwrap() - 200) + "\n";
    fs::write(file.path(), &nearly).unwrap();
    let error = file.put(&id("a"), &"y".repeat(instructions::MAX_BODY)).unwrap_err();
    assert!(error.to_string().contains("would be too large"), "{error}");
    assert_eq!(fs::read_to_string(file.path()).unwrap(), nearly);
    file.put(&id("a"), "short").unwrap();
    // People write on.
    let grown = fs::read_to_string(file.path()).unwrap() + &nearly;
    fs::write(file.path(), grown).unwrap();
    assert_eq!(file.remove(Some(&id("a"))).unwrap().blocks, 1);
    assert_eq!(fs::read_to_string(file.path()).unwrap(), nearly.repeat(2));
}

#[test]
fn a_file_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (_dir, file) = project();
    fs::write(file.path(), "x").unwrap();
    std::os::unix::fs::chown(file.path(), Some(12_345), None).unwrap();
    let error = file.put(&id("a"), "x").unwrap_err();
    assert!(error.to_string().contains("another user"), "{error}");
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: usize = 8;
    let (_dir, file) = project();
    fs::write(file.path(), "mine\n").unwrap();
    let start = Barrier::new(WRITERS);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (file, start) = (&file, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..10 {
                    file.put(&id(&format!("w{writer}")), &format!("round {round}")).unwrap();
                }
                if writer % 2 == 0 {
                    file.remove(Some(&id(&format!("w{writer}")))).unwrap();
                }
            });
        }
    });
    let text = fs::read(file.path()).unwrap();
    let mut left = instructions::ids(&text);
    left.sort();
    assert_eq!(left, ["w1", "w3", "w5", "w7"]);
    assert_eq!(String::from_utf8_lossy(&text).matches("round 9").count(), 4);
    file.remove(None).unwrap();
    assert_eq!(fs::read(file.path()).unwrap(), b"mine\n");
}

#[test]
fn a_change_meanwhile_is_not_overwritten() {
    let (_dir, file) = project();
    fs::write(file.path(), "one\n").unwrap();
    let changed = std::cell::Cell::new(false);
    // An editor saves between our look and our change.
    file.change(MAX_BYTES, |before| {
        let after = instructions::put(before, &id("a"), "x").unwrap();
        if !changed.replace(true) {
            fs::write(file.path(), "two\n").unwrap();
        }
        Ok((Edit::Write(after), ()))
    })
    .unwrap();
    file.remove(None).unwrap();
    assert_eq!(fs::read(file.path()).unwrap(), b"two\n");
    let round = std::cell::Cell::new(0);
    let error = file.change(MAX_BYTES, |_| {
        round.set(round.get() + 1);
        fs::write(file.path(), format!("round {}", round.get())).unwrap();
        Ok((Edit::Delete, ()))
    });
    assert!(matches!(error, Err(InstructionsError::Changing(_))), "{error:?}");
    assert_eq!(fs::read(file.path()).unwrap(), format!("round {TRIES}").as_bytes());
}
