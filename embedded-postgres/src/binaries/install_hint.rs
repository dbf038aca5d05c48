//! The command that installs a PostgreSQL server on this platform.

/// `os` as in [`std::env::consts::OS`], `os_release` the text of `/etc/os-release`.
pub(super) fn command(os: &str, os_release: &str) -> String {
    if os == "macos" {
        return "brew install postgresql@17".to_owned();
    }
    let ids = ids(os_release);
    let known = ids.iter().find_map(|id| match id.as_str() {
        "debian" | "ubuntu" => Some("apt-get install postgresql"),
        "fedora" | "rhel" | "centos" | "rocky" | "almalinux" => {
            Some("dnf install postgresql-server")
        }
        "alpine" => Some("apk add postgresql"),
        "arch" => Some("pacman -S postgresql"),
        "suse" | "opensuse" => Some("zypper install postgresql-server"),
        _ => None,
    });
    known
        .unwrap_or("see https://www.postgresql.org/download/")
        .to_owned()
}

/// `ID` and then the words of `ID_LIKE`, without quotes.
fn ids(os_release: &str) -> Vec<String> {
    let values = |key: &'static str| {
        os_release
            .lines()
            .filter_map(move |line| line.strip_prefix(key)?.strip_prefix('='))
            .flat_map(|value| value.trim_matches(['"', '\'']).split_whitespace())
            .map(str::to_owned)
    };
    values("ID").chain(values("ID_LIKE")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_gets_its_own_command() {
        for (os, os_release, expected) in [
            ("linux", "NAME=x\nID=debian\n", "apt-get install postgresql"),
            (
                "linux",
                "ID=linuxmint\nID_LIKE=\"ubuntu debian\"",
                "apt-get install postgresql",
            ),
            ("linux", "ID=fedora", "dnf install postgresql-server"),
            (
                "linux",
                "ID=\"ol\"\nID_LIKE=\"fedora\"",
                "dnf install postgresql-server",
            ),
            ("linux", "ID=alpine", "apk add postgresql"),
            ("linux", "ID='arch'", "pacman -S postgresql"),
            ("linux", "", "see https://www.postgresql.org/download/"),
            ("macos", "", "brew install postgresql@17"),
        ] {
            assert_eq!(command(os, os_release), expected, "{os} {os_release}");
        }
    }
}
