//! The command line of nttcp: options of this end, the host, and options of the other end.

use caudal_wire::nttcp::TransferRequest;

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NttcpCommandLine {
    /// The transfer as this end carries it out.
    pub local: TransferRequest,
    /// The other end.
    pub host: Option<String>,
    /// The options of the other end alone.
    pub remote: Vec<String>,
}

impl NttcpCommandLine {
    /// Parses the arguments, after the default options of both ends.
    ///
    /// # Errors
    /// One line that names the argument that makes no sense.
    pub fn parse(
        arguments: &[String],
        local_defaults: &str,
        remote_defaults: &str,
    ) -> Result<Self, String> {
        let mut line = Self::default();
        line.take_defaults(local_defaults)?;
        let remote = remote_defaults.split_whitespace().map(str::to_owned);
        line.remote.extend(remote);
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            let is_option = line
                .local
                .take(argument, &mut arguments)
                .map_err(|error| error.to_string())?;
            if !is_option {
                line.host = Some(argument.to_owned());
                break;
            }
        }
        line.remote.extend(arguments.map(str::to_owned));
        check_remote(&line.remote)?;
        let needs_host = !(line.local.listen || line.local.help || line.local.version);
        if line.host.is_none() && needs_host {
            return Err("a host is needed, or -i to wait for clients".to_owned());
        }
        Ok(line)
    }

    fn take_defaults(&mut self, defaults: &str) -> Result<(), String> {
        let mut defaults = defaults.split_whitespace();
        while let Some(option) = defaults.next() {
            let is_option = self
                .local
                .take(option, &mut defaults)
                .map_err(|error| error.to_string())?;
            if !is_option {
                return Err(format!("NTTCP_LOC_OPT: {option:?} is no option"));
            }
        }
        Ok(())
    }
}

/// Checks the options of the other end, which it would refuse itself.
fn check_remote(options: &[String]) -> Result<(), String> {
    let mut request = TransferRequest::default();
    let mut options = options.iter().map(String::as_str);
    while let Some(option) = options.next() {
        let is_option = request
            .take(option, &mut options)
            .map_err(|error| format!("for the other side: {error}"))?;
        if !is_option {
            return Err(format!(
                "{option:?}: several hosts mean multicast (-m), which is not here"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<NttcpCommandLine, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        NttcpCommandLine::parse(&words, "", "")
    }

    #[test]
    fn options_after_the_host_go_to_the_other_side() {
        let line = read("-T -l8192 -n 100 host -w64").unwrap();
        assert!(line.local.title && line.local.transmit);
        assert_eq!((line.local.length, line.local.count), (8192, 100));
        assert_eq!(line.host.as_deref(), Some("host"));
        assert_eq!(line.remote, ["-w64"]);
    }

    #[test]
    fn the_environment_comes_first() {
        let words = ["-n5".to_owned(), "host".to_owned()];
        let line = NttcpCommandLine::parse(&words, "-l100 -n9", "-D").unwrap();
        assert_eq!((line.local.length, line.local.count), (100, 5));
        assert_eq!(line.remote, ["-D"]);
    }

    #[test]
    fn what_is_not_here_is_refused_by_name() {
        for (line, word) in [
            ("-c host", "-c of nttcp"),
            ("-m host", "-m of nttcp"),
            ("host other", "multicast"),
            ("host -R5", "-R of nttcp"),
            ("-q host", "-q"),
            ("-T", "a host is needed"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
