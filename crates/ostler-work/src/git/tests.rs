use super::*;

fn set(repository: &Path, settings: &[(&str, &str)]) {
    for (name, value) in settings {
        let mut command = Command::new("git");
        command.args(["config", name, value]).current_dir(repository);
        assert!(command.status().unwrap().success());
    }
}

async fn empty() -> (tempfile::TempDir, Repository) {
    let dir = tempfile::tempdir().unwrap();
    assert!(Command::new("git").args(["init", "--quiet"]).arg(dir.path()).status().unwrap().success());
    let repository = Repository::open(dir.path().to_owned()).await.unwrap();
    (dir, repository)
}

#[test]
fn git_is_not_found_on_a_relative_path() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("git");
    fs::write(&file, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let relative = crate::names::relative(&std::env::current_dir().unwrap(), dir.path());
    assert!(relative.join("git").is_file());
    let path = std::env::join_paths([Path::new("."), Path::new(""), &relative, dir.path()]).unwrap();
    assert_eq!(program_on(&path), Some(file.clone()));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(program_on(&path), None);
}

/// Older versions do not know the variable that keeps git from fetching what is missing.
#[tokio::test]
async fn an_object_that_is_missing_is_not_fetched_by_any_git() {
    let (dir, repository) = empty().await;
    let fetched = dir.path().join("fetched");
    let url = format!("ext::touch {}", fetched.display());
    set(
        dir.path(),
        &[
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", &url),
            ("protocol.ext.allow", "always"),
        ],
    );
    let mut command = repository.command("cat-file", None);
    command.args(["-p", &"1".repeat(40)]).env_remove("GIT_NO_LAZY_FETCH");
    let answer = repository.whole("cat-file", command).await;
    assert!(matches!(answer, Err(GitError::Failed { .. })), "{answer:?}");
    assert!(!fetched.exists());
}

#[tokio::test]
async fn the_repository_of_another_user_is_not_trusted() {
    let (dir, _) = empty().await;
    let limit = Duration::from_secs(30);
    Repository::open_trusted(dir.path().to_owned(), limit).await.unwrap();
    let nobody = 65_534;
    // Only root can give files away.
    if std::os::unix::fs::chown(dir.path().join(".git"), Some(nobody), None).is_err() {
        return;
    }
    let opened = Repository::open_trusted(dir.path().to_owned(), limit).await;
    assert!(matches!(opened, Err(GitError::Failed { .. })), "{opened:?}");
}
