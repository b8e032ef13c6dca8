use std::fs;
use std::os::unix::fs::symlink;

use ostler_agents::terms::terms;

use super::*;

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn later() -> Steady {
    clock::steady().plus(Duration::from_mins(1))
}

fn earlier() -> Steady {
    clock::steady().minus(Duration::from_secs(1))
}

fn found(dir: &Path, task: &str) -> Vec<String> {
    let found = run(dir, &terms(task), &["NOTES.md".into()], later());
    found.places.iter().map(|place| format!("{}:{}: {}", place.file, place.line, place.text)).collect()
}

#[test]
fn rare_terms_come_first_and_ignored_files_not_at_all() {
    let common = "use retry;\n".repeat(30);
    let dir = project(&[
        ("src/a.rs", &format!("{common}fn send_all() {{\n    retry(max_retries)\n}}\n")),
        ("src/b.rs", "\n// Retrying\nfn other() {}\n"),
        ("target/c.rs", "max_retries"),
        (".gitignore", "target/\n"),
        (".hidden/d.rs", "max_retries"),
        ("NOTES.md", "max_retries"),
        ("Cargo.lock", "max_retries"),
        ("image.bin", "max_retries\0"),
    ]);
    symlink("/etc/passwd", dir.path().join("link.rs")).unwrap();
    let found = found(dir.path(), "Fix max_retries of retry in src/b.rs");
    assert_eq!(found[0], "src/b.rs:2: // Retrying");
    assert_eq!(found[1], "src/a.rs:32: retry(max_retries)");
    assert_eq!(found.iter().filter(|line| line.starts_with("src/a.rs")).count(), PER_FILE);
    assert!(found.iter().all(|line| line.starts_with("src/")), "{found:?}");
}

#[test]
fn a_search_is_bounded() {
    let dir =
        project(&[("a.txt", &"needle in a line\n".repeat(5_000)), ("b.txt", "a haystack_of needles\n")]);
    let found = found(dir.path(), "needle haystack_of");
    assert_eq!(found, ["b.txt:1: a haystack_of needles"], "a word that is everywhere says nothing");
    let late = run(dir.path(), &terms("needle"), &[], earlier());
    assert!(late.cut && late.places.is_empty(), "{late:?}");
    assert_eq!(run(dir.path(), &[], &[], later()), Found::default());
    assert_eq!(run(Path::new("/nonexistent"), &terms("needle"), &[], later()), Found::default());
}

#[test]
fn what_is_passed_over_is_bounded_too() {
    let empty = project(&[]);
    fs::create_dir(empty.path().join("directory")).unwrap();
    let linked = project(&[]);
    symlink("nowhere", linked.path().join("link")).unwrap();
    let large = project(&[("large.rs", "")]);
    File::options().write(true).open(large.path().join("large.rs")).unwrap().set_len(LARGEST + 1).unwrap();
    for dir in [empty, linked, large] {
        assert!(run(dir.path(), &terms("needle"), &[], earlier()).cut);
        assert!(!run(dir.path(), &terms("needle"), &[], later()).cut);
    }
}

#[test]
fn what_is_passed_over_counts() {
    let dir = project(&[("z.rs", "needle_name\n")]);
    for number in 0..ENTRIES {
        symlink("nowhere", dir.path().join(format!("a{number}"))).unwrap();
    }
    let found = run(dir.path(), &terms("needle_name"), &[], later());
    assert_eq!(found, Found { places: Vec::new(), cut: true });
}

#[test]
fn a_file_that_is_too_large_is_passed_over() {
    let text = "needle_name\n";
    let dir = project(&[("a.rs", text), ("b.rs", &text.repeat((1 << 20) / text.len() + 1))]);
    assert_eq!(found(dir.path(), "needle_name"), ["a.rs:1: needle_name"]);
}

#[test]
fn long_and_odd_lines_are_cut() {
    let long = format!("let needle_name = \"{}\";\n", "é".repeat(1_000));
    let dir = project(&[("a.rs", &long)]);
    fs::write(dir.path().join("b.rs"), b"\xff\xfe needle_name\x80\n").unwrap();
    let found = found(dir.path(), "needle_name");
    assert!(found[0].len() < 300 && !found.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_pipe_in_the_project_holds_up_nothing() {
    let dir = project(&[("a.rs", "needle_name\n")]);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join("pipe.rs"), mode).unwrap();
    let found = search(dir.path().to_owned(), terms("needle_name"), Vec::new()).await;
    assert_eq!(found.places.len(), 1);
    rustix::fs::mkfifoat(rustix::fs::CWD, dir.path().join(".gitignore"), mode).unwrap();
    let found = search(dir.path().to_owned(), terms("needle_name"), Vec::new()).await;
    assert!(found.cut || found.places.len() == 1, "{found:?}");
}
