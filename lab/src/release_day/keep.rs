//! The release in the files that name releases.

use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;

/// Names a release in the files of its agent: it is the first that is played, and in the range that the preset is for.
pub fn name_release(repository: &Path, agent: &str, version: &str) -> Result<()> {
    for (file, edit) in [
        (format!("conformance/agents/{agent}.toml"), first as fn(&str, &str) -> Option<String>),
        (format!("crates/ostler-agents/agents/{agent}.toml"), widened),
    ] {
        let path = repository.join(&file);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {file}"))?;
        let edited = edit(&text, version).with_context(|| format!("{file} names no releases"))?;
        std::fs::write(&path, edited)?;
    }
    Ok(())
}

/// The file with this release in the place of the first; the others stay, so that an older one is played beside it.
fn first(text: &str, version: &str) -> Option<String> {
    let list = Regex::new(r"(?m)^versions = \[(.*)\]$").ok()?;
    let inner = list.captures(text)?.get(1)?;
    let quoted = format!("{version:?}");
    let mut versions: Vec<&str> = inner.as_str().split(',').map(str::trim).collect();
    versions.retain(|known| *known != quoted);
    if versions.len() > 1 {
        versions.remove(0);
    }
    versions.insert(0, &quoted);
    Some(format!("{}{}{}", &text[..inner.start()], versions.join(", "), &text[inner.end()..]))
}

/// The file with a range of versions that this one is in. What is above the range begins with the next minor release.
fn widened(text: &str, version: &str) -> Option<String> {
    let range = Regex::new(r#"checked = ">=([\d.]+), <([\d.]+)""#).ok()?;
    let Some(found) = range.captures(text) else { return Some(text.to_owned()) };
    let end = found.get(2)?;
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    let this = numbers(version);
    if this < numbers(end.as_str()) {
        return Some(text.to_owned());
    }
    let next = format!("{}.{}", this.first()?, this.get(1)? + 1);
    Some(format!("{}{next}{}", &text[..end.start()], &text[end.end()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_played_first_and_an_older_one_stays() {
        let edited = |text: &str| first(text, "3").unwrap();
        assert_eq!(edited("# x\nversions = [\"2\", \"1\"]\ny\n"), "# x\nversions = [\"3\", \"1\"]\ny\n");
        assert_eq!(edited("versions = [\"2\"]\n"), "versions = [\"3\", \"2\"]\n");
        assert_eq!(edited("versions = [\"3\", \"1\"]\n"), "versions = [\"3\", \"1\"]\n");
        assert_eq!(first("no list", "3"), None);
    }

    #[test]
    fn a_range_grows_only_where_it_has_to() {
        let text = |end: &str| format!("identity = {{ checked = \">=0.166, <{end}\" }}\n");
        for (end, version, widened_to) in
            [("0.170", "0.169.0", "0.170"), ("0.170", "0.170.0", "0.171"), ("0.170", "1.2.3-rc.1", "1.3")]
        {
            assert_eq!(widened(&text(end), version).unwrap(), text(widened_to), "{version}");
        }
        assert_eq!(widened("nothing", "1.0.0").unwrap(), "nothing");
    }
}
