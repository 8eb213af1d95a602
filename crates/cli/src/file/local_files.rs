//! Files of this machine that are sent.

use super::args::FileArgs;
use super::remote_file::checked_name;
use crate::exit::Failure;
use caudal_core::plan::{check_file_name, file_name};
use caudal_core::units::ByteCount;
use caudal_measure::{FileContent, leads_within};
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Maximum number of files sent from a directory.
const MAX_FILES: usize = 100_000;
/// Maximum depth of a directory's tree.
const MAX_DEPTH: usize = 64;
/// What was found in a directory.
#[derive(Debug, Default)]
pub(super) struct LocalContents {
    /// The files that are sent.
    pub(super) files: Vec<FileContent>,
    /// Directories in which there is nothing.
    pub(super) directories: Vec<LocalDirectory>,
    /// All directories, the lower ones first, where they keep their attributes.
    pub(super) kept: Vec<LocalDirectory>,
    /// Symbolic links that are sent as such.
    pub(super) links: Vec<LocalLink>,
    /// What is left out.
    pub(super) left_out: Vec<LeftOut>,
    /// The name of the directory; empty where it is none.
    pub(super) top: String,
}

/// A directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalDirectory {
    /// Its path.
    pub(super) path: PathBuf,
    /// Its name at the server.
    pub(super) name: String,
}

/// A symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalLink {
    /// Its path.
    pub(super) path: PathBuf,
    /// Its name at the server.
    pub(super) name: String,
    /// Where it leads.
    pub(super) target: PathBuf,
}

/// What is sent of a directory beside its files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DirectoryChoice {
    /// `true` for symbolic links as links; they are left out otherwise.
    pub(super) links: bool,
    /// `true` for the permissions and times of the directories.
    pub(super) keeps_directories: bool,
}

/// Something in a directory that is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Its path below the directory's.
    pub(super) path: PathBuf,
    /// Why.
    pub(super) reason: String,
}

/// The name of standard input at the server.
const STANDARD_INPUT: &str = "stdin";

/// Standard input, under the name that `--to` gives.
///
/// # Errors
/// When it can be no name.
pub(super) fn standard_input(args: &FileArgs) -> Result<FileContent, Failure> {
    let name = match &args.to {
        Some(to) => checked_name("--to", &name_of(to))?,
        None => STANDARD_INPUT.to_owned(),
    };
    Ok(FileContent::StandardInput { name })
}

/// The file at this path, or every regular file below the directory there that can be sent, in the order of their names.
///
/// # Errors
/// When the file or the directory cannot be read, or the directory has nothing that can be sent.
pub(super) fn local_contents(
    path: &Path,
    to: Option<&Path>,
    choice: DirectoryChoice,
) -> Result<LocalContents, Failure> {
    let meta = fs::metadata(path).map_err(|cause| unreadable(path, &cause))?;
    if !meta.is_dir() {
        let named = to.unwrap_or_else(|| path.file_name().map_or(path, Path::new));
        let flag = if to.is_some() { "--to" } else { "--send" };
        let name = checked_name(flag, &name_of(named))?;
        let file = local_file(path, name, &meta).map_err(|reason| unreadable(path, &reason))?;
        return Ok(LocalContents {
            files: vec![file],
            ..LocalContents::default()
        });
    }
    if to.is_some() {
        return Err(Failure::usage(
            format!("--to names one file, and {} is a directory", path.display()),
            "leave --to out: each file keeps its name below that of the directory",
        ));
    }
    let root = fs::canonicalize(path).map_err(|cause| unreadable(path, &cause))?;
    let top = root.file_name().map_or(Path::new("root"), Path::new);
    let mut contents = LocalContents {
        top: name_of(top),
        ..LocalContents::default()
    };
    collect(path, &name_of(top), (MAX_DEPTH, choice), &mut contents)?;
    if contents.files.is_empty() && contents.links.is_empty() {
        let contents = contents.without_archives();
        let about = match contents.left_out.first() {
            Some(LeftOut { path, reason }) => {
                format!(" that can be sent: {} is {reason}", path.display())
            }
            None => String::new(),
        };
        return Err(Failure::usage(
            format!(
                "--send: the directory {} has no files{about}",
                path.display()
            ),
            "name a file, or a directory with files",
        ));
    }
    Ok(contents)
}

/// Adds what is below a directory, which has this name at the server. One file that cannot be sent does not keep back the others.
///
/// # Errors
/// When the directory itself cannot be read, or there are too many files.
fn collect(
    directory: &Path,
    name: &str,
    (depth, choice): (usize, DirectoryChoice),
    contents: &mut LocalContents,
) -> Result<(), Failure> {
    let mut paths = entries(directory).map_err(|cause| unreadable(directory, &cause))?;
    paths.sort();
    if paths.is_empty() {
        match check_file_name(name) {
            Ok(()) => contents.directories.push(LocalDirectory {
                path: directory.to_owned(),
                name: name.to_owned(),
            }),
            Err(cause) => contents.leave_out(directory, &unnamable(&cause)),
        }
    }
    let is_allowed = check_file_name(name).is_ok();
    for path in paths {
        if let Err(reason) = add(&path, name, (depth, choice), contents)? {
            contents.leave_out(&path, &reason);
        }
        let count = contents.files.len() + contents.directories.len() + contents.links.len();
        if count > MAX_FILES {
            return Err(Failure::usage(
                format!("--send: more than {MAX_FILES} files"),
                "send an archive of them instead, from standard input",
            ));
        }
    }
    if choice.keeps_directories && is_allowed {
        contents.kept.push(LocalDirectory {
            path: directory.to_owned(),
            name: name.to_owned(),
        });
    }
    Ok(())
}

fn entries(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect()
}

/// Adds what is at a path in a directory of this name, or says what keeps it from being sent.
fn add(
    path: &Path,
    directory: &str,
    (depth, choice): (usize, DirectoryChoice),
    contents: &mut LocalContents,
) -> Result<Result<(), String>, Failure> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(cause) => return Ok(Err(format!("unreadable: {cause}"))),
    };
    let own = path.file_name().unwrap_or(path.as_os_str());
    let name = format!("{directory}/{}", file_name(own.as_bytes()));
    if meta.is_dir() {
        if depth <= 1 {
            return Ok(Err(format!("more than {MAX_DEPTH} directories deep")));
        }
        return match entries(path) {
            Ok(_) => collect(path, &name, (depth - 1, choice), contents).map(Ok),
            Err(cause) => Ok(Err(format!("unreadable: {cause}"))),
        };
    }
    let file = match check_file_name(&name) {
        Ok(()) if meta.is_symlink() && choice.links => {
            let link = local_link(path, name);
            return Ok(link.map(|link| contents.links.push(link)));
        }
        Ok(()) => local_file(path, name, &meta),
        Err(cause) => Err(unnamable(&cause)),
    };
    Ok(file.map(|file| contents.files.push(file)))
}

fn unnamable(cause: &dyn std::fmt::Display) -> String {
    format!("of a name that no server takes: {cause}")
}

impl LocalContents {
    /// The same without empty directories and links, which only go with small files.
    pub(super) fn without_archives(mut self) -> Self {
        for directory in std::mem::take(&mut self.directories) {
            self.leave_out(&directory.path, "an empty directory");
        }
        self.kept.clear();
        for link in std::mem::take(&mut self.links) {
            self.leave_out(&link.path, "a symbolic link");
        }
        self.left_out
            .sort_by(|one, other| one.path.cmp(&other.path));
        self
    }

    fn leave_out(&mut self, path: &Path, reason: &str) {
        self.left_out.push(LeftOut {
            path: path.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

/// A symbolic link, when it stays in the directory that is sent; otherwise why it cannot be sent.
fn local_link(path: &Path, name: String) -> Result<LocalLink, String> {
    let target = fs::read_link(path).map_err(|cause| format!("unreadable: {cause}"))?;
    if !leads_within(&name, &target) {
        return Err("a symbolic link that leads out of the directory".to_owned());
    }
    Ok(LocalLink {
        path: path.to_owned(),
        name,
        target,
    })
}

/// A file, when it can be read and has a size; otherwise what it is.
fn local_file(path: &Path, name: String, meta: &Metadata) -> Result<FileContent, String> {
    let kind = meta.file_type();
    let special = [
        (kind.is_symlink(), "a symbolic link (--links sends it)"),
        (kind.is_fifo(), "a named pipe"),
        (kind.is_socket(), "a socket"),
        (kind.is_char_device() || kind.is_block_device(), "a device"),
    ];
    if let Some((_, what)) = special.into_iter().find(|(is_it, _)| *is_it) {
        return Err(format!("{what}, no regular file"));
    }
    File::open(path).map_err(|cause| format!("unreadable: {cause}"))?;
    Ok(FileContent::Local {
        path: path.to_owned(),
        name,
        // A file without blocks may be one of those that the kernel makes as they are read, whose size it does not tell.
        bytes: (meta.blocks() > 0).then(|| ByteCount::new(meta.len())),
    })
}

fn unreadable(path: &Path, cause: &dyn std::fmt::Display) -> Failure {
    Failure::usage(
        format!("--send {} cannot be read: {cause}", path.display()),
        "name a file or a directory that can be read",
    )
}

/// The name of a file at this path, which messages carry.
fn name_of(path: &Path) -> String {
    file_name(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("caudal-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn names(contents: &LocalContents) -> Vec<&str> {
        contents
            .files
            .iter()
            .map(|content| match content {
                FileContent::Local { name, .. } => name.as_str(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_directory_is_its_regular_files_in_order() {
        let place = place("tree");
        let tree = place.join("tree");
        fs::create_dir_all(tree.join("sub")).unwrap();
        for file in ["b", "a", "sub/c"] {
            fs::write(tree.join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", tree.join("link")).unwrap();
        let found = local_contents(&tree, None, DirectoryChoice::default()).unwrap();
        assert_eq!(names(&found), ["tree/a", "tree/b", "tree/sub/c"]);
        let one = local_contents(
            &tree.join("a"),
            Some(Path::new("other/name")),
            DirectoryChoice::default(),
        )
        .unwrap();
        assert_eq!(names(&one), ["other/name"]);
        std::os::unix::fs::symlink("../a", tree.join("sub/up")).unwrap();
        let everything = DirectoryChoice {
            links: true,
            keeps_directories: true,
        };
        let with_links = local_contents(&tree, None, everything).unwrap();
        let links = with_links.links.iter();
        let links: Vec<_> = links
            .map(|link| (link.name.as_str(), link.target.as_path()))
            .collect();
        assert_eq!(links, [("tree/sub/up", Path::new("../a"))]);
        assert!(with_links.left_out[0].reason.contains("leads out of"));
        let kept = with_links.kept.iter().map(|one| one.name.as_str());
        assert_eq!(kept.collect::<Vec<_>>(), ["tree/sub", "tree"]);
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn what_cannot_be_sent_of_a_directory_is_told_and_keeps_nothing_back() {
        let place = place("mixed");
        let tree = place.join("tree");
        fs::create_dir_all(tree.join("empty")).unwrap();
        fs::write(tree.join("good"), "x").unwrap();
        fs::write(tree.join("new\nline"), "x").unwrap();
        fs::write(tree.join(std::ffi::OsStr::from_bytes(b"z\xff")), "x").unwrap();
        std::os::unix::fs::symlink("good", tree.join("link")).unwrap();
        let pipe = std::os::unix::net::UnixListener::bind(tree.join("socket")).unwrap();
        let found = local_contents(&tree, None, DirectoryChoice::default())
            .unwrap()
            .without_archives();
        assert_eq!(names(&found), ["tree/good", "tree/z\u{f7ff}"]);
        let left_out: Vec<(String, &str)> = found
            .left_out
            .iter()
            .map(|one| {
                let name = one.path.file_name().unwrap().to_string_lossy();
                (name.into_owned(), one.reason.as_str())
            })
            .collect();
        assert_eq!(
            left_out
                .iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            ["empty", "link", "new\nline", "socket"]
        );
        for ((_, reason), words) in left_out.iter().zip([
            "an empty directory",
            "a symbolic link",
            "control characters",
            "a socket",
        ]) {
            assert!(reason.contains(words), "{reason}");
        }
        drop(pipe);
        // With nothing else there is nothing to send.
        fs::remove_file(tree.join("good")).unwrap();
        fs::remove_file(tree.join(std::ffi::OsStr::from_bytes(b"z\xff"))).unwrap();
        let failure = local_contents(&tree, None, DirectoryChoice::default()).unwrap_err();
        assert!(failure.message.contains("an empty directory"), "{failure}");
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn what_cannot_be_sent_is_one_line() {
        let place = place("refused");
        fs::write(place.join("new\nline"), "x").unwrap();
        let cases = [
            (place.join("missing"), "cannot be read"),
            (place.join("new\nline"), "control character"),
            (PathBuf::from("/dev/null"), "no regular file"),
        ];
        for (path, words) in cases {
            let failure = local_contents(&path, None, DirectoryChoice::default()).unwrap_err();
            assert!(failure.message.contains(words), "{failure}");
            assert_eq!(failure.to_string().lines().count(), 1);
        }
        let empty = place.join("empty");
        fs::create_dir(&empty).unwrap();
        let failure = local_contents(&empty, None, DirectoryChoice::default()).unwrap_err();
        assert!(failure.message.contains("has no files"), "{failure}");
        assert!(local_contents(&empty, Some(Path::new("x")), DirectoryChoice::default()).is_err());
        fs::remove_dir_all(place).unwrap();
    }
}
