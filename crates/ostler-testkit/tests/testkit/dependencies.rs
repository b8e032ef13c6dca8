//! Licences, sources and bans of every dependency, by the rules in deny.toml.
//!
//! cargo-deny checks the same and takes minutes to compile. This test reads the same file and needs only cargo. It fails on
//! a rule that it does not know, so that no rule is believed to hold without being checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Licenses {
    allow: BTreeSet<String>,
    #[serde(rename = "unused-allowed-license")]
    _unused_allowed_license: Level,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: Level,
    #[serde(default)]
    deny: Vec<Banned>,
    /// Crates of which several versions are accepted, with the reason.
    #[serde(default)]
    skip: Vec<Banned>,
    #[serde(rename = "wildcards")]
    _wildcards: Level,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    #[serde(rename = "reason")]
    _reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: Level,
    unknown_git: Level,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Level {
    Allow,
    Warn,
    Deny,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn rules() -> Rules {
    toml::from_str(&std::fs::read_to_string(root().join("deny.toml")).unwrap())
        .expect("deny.toml has only rules known here")
}

/// The packages that a build for this target uses, tests and build scripts included.
fn packages(target: &str) -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let Metadata { mut packages, resolve } = serde_json::from_slice(&output.stdout).unwrap();
    let used: BTreeSet<String> = resolve.nodes.into_iter().map(|node| node.id).collect();
    packages.retain(|package| used.contains(&package.id));
    packages
}

/// Lists what a package has against the rules.
fn offences(package: &Package, rules: &Rules) -> Vec<String> {
    let mut found = Vec::new();
    match &package.license {
        None => found.push("names no licence".to_owned()),
        Some(expression) if !is_allowed(expression, &rules.licenses.allow) => {
            found.push(format!("licence {expression:?} is not allowed"));
        }
        Some(_) => {}
    }
    match package.source.as_deref() {
        None if !package.manifest_path.starts_with(root()) => {
            found.push("lies outside the repository".to_owned());
        }
        None | Some("registry+https://github.com/rust-lang/crates.io-index") => {}
        Some(source) => {
            let level = if source.starts_with("git+") {
                rules.sources.unknown_git
            } else {
                rules.sources.unknown_registry
            };
            if level == Level::Deny {
                found.push(format!("comes from {source}"));
            }
        }
    }
    if rules.bans.deny.iter().any(|banned| banned.name == package.name) {
        found.push("is banned".to_owned());
    }
    found.into_iter().map(|offence| format!("{} {} {offence}", package.name, package.version)).collect()
}

/// Lists the crates that are there in several versions.
fn duplicates(packages: &[Package], rules: &Rules) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    versions.retain(|name, versions| {
        versions.len() > 1 && !rules.bans.skip.iter().any(|skip| skip.name == *name)
    });
    versions.into_iter().map(|(name, versions)| format!("{name} is there in versions {versions:?}")).collect()
}

/// Whether a licence expression can be satisfied with allowed licences alone.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut words = words.as_slice();
    any_of(&mut words, allowed) && words.is_empty()
}

fn any_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut result = all_of(words, allowed);
    while let Some(("OR", rest)) = words.split_first().map(|(first, rest)| (*first, rest)) {
        *words = rest;
        result |= all_of(words, allowed);
    }
    result
}

fn all_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut result = one(words, allowed);
    while let Some(("AND", rest)) = words.split_first().map(|(first, rest)| (*first, rest)) {
        *words = rest;
        result &= one(words, allowed);
    }
    result
}

fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    match **words {
        ["(", ref rest @ ..] => {
            *words = rest;
            let result = any_of(words, allowed);
            match **words {
                [")", ref rest @ ..] => *words = rest,
                _ => return false,
            }
            result
        }
        [licence, "WITH", exception, ref rest @ ..] => {
            *words = rest;
            allowed.contains(&format!("{licence} WITH {exception}"))
        }
        [licence, ref rest @ ..] => {
            *words = rest;
            allowed.contains(licence)
        }
        [] => false,
    }
}

#[test]
fn every_dependency_obeys_deny_toml() {
    let rules = rules();
    let mut offending = BTreeSet::new();
    for target in &rules.graph.targets {
        let packages = packages(target);
        assert!(packages.len() > 100, "{target}: cargo lists only {} packages", packages.len());
        offending.extend(packages.iter().flat_map(|package| offences(package, &rules)));
        let duplicates = duplicates(&packages, &rules);
        match rules.bans.multiple_versions {
            Level::Allow => {}
            Level::Warn => duplicates.iter().for_each(|duplicate| eprintln!("{duplicate}")),
            Level::Deny => offending.extend(duplicates),
        }
    }
    assert!(offending.is_empty(), "{offending:#?}");
}

#[test]
fn a_licence_expression_is_weighed_as_spdx_says() {
    let allowed: BTreeSet<String> =
        ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/Apache-2.0",
        "MIT AND ISC",
        "GPL-3.0 AND ISC OR MIT",
        "(MIT OR GPL-3.0) AND ISC",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_allowed(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR ISC) AND GPL-3.0",
        "Apache-2.0",
        "MIT WITH LLVM-exception",
        "(MIT",
        "MIT ISC",
    ] {
        assert!(!is_allowed(bad, &allowed), "{bad}");
    }
}

#[test]
fn what_breaks_a_rule_is_named() {
    let rules: Rules = toml::from_str(
        r#"
        graph.targets = []
        licenses = { allow = ["MIT"], unused-allowed-license = "allow" }
        bans = { multiple-versions = "deny", wildcards = "allow", deny = [{ crate = "left-pad" }], skip = [{ crate = "syn" }] }
        sources = { unknown-registry = "deny", unknown-git = "deny" }
        "#,
    )
    .unwrap();
    let package = |name: &str, version: &str, license: Option<&str>, source: Option<&str>| Package {
        id: String::new(),
        name: name.to_owned(),
        version: version.to_owned(),
        license: license.map(str::to_owned),
        source: source.map(str::to_owned),
        manifest_path: PathBuf::from("/elsewhere/Cargo.toml"),
    };
    let crates_io = Some("registry+https://github.com/rust-lang/crates.io-index");
    let offences = |package: &Package| offences(package, &rules).join("; ");
    assert_eq!(offences(&package("a", "1", Some("MIT"), crates_io)), "");
    assert_eq!(offences(&package("a", "1", None, crates_io)), "a 1 names no licence");
    assert_eq!(
        offences(&package("a", "1", Some("GPL-3.0"), crates_io)),
        r#"a 1 licence "GPL-3.0" is not allowed"#
    );
    assert_eq!(offences(&package("a", "1", Some("MIT"), None)), "a 1 lies outside the repository");
    assert_eq!(
        offences(&package("a", "1", Some("MIT"), Some("git+https://x/y"))),
        "a 1 comes from git+https://x/y"
    );
    assert_eq!(offences(&package("a", "1", Some("MIT"), Some("registry+x"))), "a 1 comes from registry+x");
    assert_eq!(offences(&package("left-pad", "1", Some("MIT"), crates_io)), "left-pad 1 is banned");

    let several = ["a", "a", "syn", "syn"].into_iter().zip(["1", "2", "1", "2"]);
    let several: Vec<Package> = several.map(|(name, version)| package(name, version, None, None)).collect();
    assert_eq!(duplicates(&several, &rules), [r#"a is there in versions {"1", "2"}"#]);
}
