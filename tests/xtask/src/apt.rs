//! A repository of Debian packages in one folder, as apt reads it without more structure
//! (<https://wiki.debian.org/DebianRepository/Format#Flat_Repository_Format>).
//!
//! Clients ignore a `Release` that is older than the one that they have, so it is as old as the index and not as its commit.
//! Nothing is signed here: whoever has the key makes `InRelease` of `Release`, elsewhere.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::deb::{compress, date, said};

/// A file as `Release` lists it.
struct Listed {
    name: &'static str,
    bytes: Vec<u8>,
}

/// Writes `Packages`, `Packages.gz` and `Release` of the packages in a folder.
pub(crate) fn index(folder: &Path) -> Result<()> {
    let mut packages: Vec<_> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    packages.retain(|path| path.extension().is_some_and(|end| end == "deb"));
    packages.sort();
    ensure!(!packages.is_empty(), "{}: there is no package", folder.display());
    let mut list = String::new();
    let mut architectures = Vec::new();
    for package in &packages {
        let name = package.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        ensure!(
            is_a_package(name),
            "{}: a package is called NAME_VERSION_ARCHITECTURE.deb, of letters, digits and +-.~",
            package.display()
        );
        let fields = said(Command::new("dpkg-deb").arg("--field").arg(package))?;
        let architecture = field(&fields, "Architecture").context("a package has an architecture")?;
        if !architectures.contains(&architecture) {
            architectures.push(architecture);
        }
        list += &stanza(&fields, name, &fs::read(package)?)?;
    }
    fs::write(folder.join("Packages"), &list)?;
    compress(&folder.join("Packages"), &["--keep", "--force"])?;
    let listed = [
        Listed { name: "Packages", bytes: list.into_bytes() },
        Listed { name: "Packages.gz", bytes: fs::read(folder.join("Packages.gz"))? },
    ];
    let date = date(&made_at()?, "-R")?;
    fs::write(folder.join("Release"), release(&architectures.join(" "), &date, &listed)?)?;
    println!("{}: {} packages; sign Release as InRelease", folder.display(), packages.len());
    println!("{}", folder.display());
    Ok(())
}

/// When it is made, or the time that somebody wants in it: seconds since 1970.
fn made_at() -> Result<String> {
    if let Ok(epoch) = env::var("SOURCE_DATE_EPOCH") {
        return Ok(epoch);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    Ok(now.as_secs().to_string())
}

/// Whether a file is called as `dpkg-deb` calls packages. What is not might write fields of its own into the list.
fn is_a_package(name: &str) -> bool {
    let parts = name.strip_suffix(".deb").map(|name| name.split('_').collect::<Vec<_>>());
    let is_plain = |part: &&str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric())
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.~".contains(letter))
    };
    parts.is_some_and(|parts| parts.len() == 3 && parts.iter().all(is_plain))
}

fn field(fields: &str, name: &str) -> Option<String> {
    let value = fields.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value.map(str::to_owned)
}

/// What `Packages` says of a package: its own fields, and which bytes it is.
fn stanza(fields: &str, name: &str, bytes: &[u8]) -> Result<String> {
    let mut text = fields.trim_end().to_owned();
    write!(text, "\nFilename: ./{name}\nSize: {}\nSHA256: {:x}\n\n", bytes.len(), Sha256::digest(bytes))?;
    Ok(text)
}

fn release(architectures: &str, date: &str, listed: &[Listed]) -> Result<String> {
    let mut text = format!(
        "Origin: Gatepost\nLabel: Gatepost\nSuite: stable\nArchitectures: {architectures}\nDate: {}\nSHA256:\n",
        // apt wants the zone by its name.
        date.replace("+0000", "UTC")
    );
    for Listed { name, bytes } in listed {
        writeln!(text, " {:x} {} {name}", Sha256::digest(bytes), bytes.len())?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_name_would_write_fields_into_the_list_is_no_package() {
        for name in ["gatepost_1.0.0~rc.1-1_arm64.deb", "libc6_2.36-9+deb12u10_amd64.deb"] {
            assert!(is_a_package(name), "{name}");
        }
        for name in [
            "gatepost_1_arm64\nFilename: evil.deb",
            "gatepost.deb",
            "a_b_c_d.deb",
            "_1_arm64.deb",
            "a_1_b c.deb",
        ] {
            assert!(!is_a_package(name), "{name}");
        }
    }

    #[test]
    fn a_package_is_listed_with_its_bytes_and_the_list_with_its_own() {
        let stanza =
            stanza("Package: gatepost\nArchitecture: arm64\n", "gatepost_1_arm64.deb", b"abc").unwrap();
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(stanza.ends_with(&format!("Filename: ./gatepost_1_arm64.deb\nSize: 3\nSHA256: {hash}\n\n")));
        assert_eq!(field(&stanza, "Architecture").as_deref(), Some("arm64"));
        let listed = [Listed { name: "Packages", bytes: b"abc".to_vec() }];
        let release = release("arm64", "Thu, 26 Nov 2026 06:00:00 +0000", &listed).unwrap();
        assert!(release.contains("Date: Thu, 26 Nov 2026 06:00:00 UTC\n"));
        assert!(release.ends_with(&format!("SHA256:\n {hash} 3 Packages\n")));
    }
}
