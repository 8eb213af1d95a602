//! Kernel settings: sysctl(8).

use super::proc_file::line;

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
