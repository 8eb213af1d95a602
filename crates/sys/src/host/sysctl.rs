//! Kernel settings: sysctl(8).

use std::fs;

/// The value of a kernel setting by its dotted name, such as `net.core.rmem_max`, without the end of the line.
///
/// `None` for a setting that does not exist or may not be read, and for names with characters other than
/// letters, digits, `_`, `-` and single dots. A dot inside an interface's name is written `/`.
pub fn sysctl(name: &str) -> Option<String> {
    line(&sysctl_path(name)?)
}

fn sysctl_path(name: &str) -> Option<String> {
    let is_valid = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/".contains(&byte);
        !part.is_empty()
            && part.bytes().all(allowed)
            && !part.starts_with('/')
            && !part.ends_with('/')
            && !part.contains("//")
    };
    let parts: Vec<_> = name.split('.').map(|part| part.replace('/', ".")).collect();
    name.split('.')
        .all(is_valid)
        .then(|| format!("/proc/sys/{}", parts.join("/")))
}

/// The only line of a file.
pub(super) fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

/// The value on the first line `key: value`.
pub(super) fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim_end() == key).then(|| value.trim())
    })
}

/// The bytes of a value in kB on the first line `key: value kB` of a file.
pub(super) fn kilobytes_of(path: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let kibibytes = value_of(&text, key)?.strip_suffix("kB")?;
    kibibytes.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_found_by_its_dotted_name_and_nothing_else_is() {
        assert!(sysctl("net.core.rmem_max").unwrap().parse::<u64>().unwrap() > 0);
        for name in [
            "",
            ".",
            "no.such.setting",
            "net..core",
            "../etc/passwd",
            "/etc/passwd",
        ] {
            assert_eq!(sysctl(name), None, "{name}");
        }
        for name in ["net.ipv4.conf.//.x", "net.ipv4./..x", "a.//", "x.\0"] {
            assert_eq!(sysctl_path(name), None, "{name}");
        }
        let path = sysctl_path("net.ipv4.conf.eth0/7.mtu").unwrap();
        assert_eq!(path, "/proc/sys/net/ipv4/conf/eth0.7/mtu");
    }
}
