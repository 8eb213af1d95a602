//! Files of this machine that are sent.

use super::args::FileArgs;
use super::remote_file::checked_name;
use crate::exit::Failure;
use caudal_core::units::ByteCount;
use caudal_measure::FileContent;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of files sent from a directory.
const MAX_FILES: usize = 100_000;
/// Maximum depth of a directory's tree.
const MAX_DEPTH: usize = 64;
/// The name of standard input at the server.
const STANDARD_INPUT: &str = "stdin";

/// Standard input, under the name that `--to` gives.
///
/// # Errors
/// When it can be no name.
pub(super) fn standard_input(args: &FileArgs) -> Result<FileContent, Failure> {
    let name = match &args.to {
        Some(to) => checked_name("--to", text(to)?)?,
        None => STANDARD_INPUT.to_owned(),
    };
    Ok(FileContent::StandardInput { name })
}

/// The file at this path, or every regular file below the directory there, in the order of their names.
///
/// # Errors
/// When one cannot be read, or there is none.
pub(super) fn local_contents(path: &Path, to: Option<&Path>) -> Result<Vec<FileContent>, Failure> {
    let meta = fs::metadata(path).map_err(|cause| unreadable(path, &cause))?;
    if !meta.is_dir() {
        let named = to.unwrap_or_else(|| path.file_name().map_or(path, Path::new));
        let flag = if to.is_some() { "--to" } else { "--send" };
        let name = checked_name(flag, text(named)?)?;
        return local_file(path, name, &meta).map(|content| vec![content]);
    }
    if to.is_some() {
        return Err(Failure::usage(
            format!("--to names one file, and {} is a directory", path.display()),
            "leave --to out: each file keeps its name below that of the directory",
        ));
    }
    let root = fs::canonicalize(path).map_err(|cause| unreadable(path, &cause))?;
    let top = root.file_name().map_or(Path::new("root"), Path::new);
    let mut contents = Vec::new();
    collect(path, text(top)?, MAX_DEPTH, &mut contents)?;
    if contents.is_empty() {
        return Err(Failure::usage(
            format!("--send: the directory {} has no files", path.display()),
            "name a file, or a directory with files",
        ));
    }
    Ok(contents)
}

/// Adds the regular files below a directory, which has this name at the server. Symbolic links are left out.
fn collect(
    directory: &Path,
    name: &str,
    depth: usize,
    contents: &mut Vec<FileContent>,
) -> Result<(), Failure> {
    let refused = |cause: &dyn std::fmt::Display| unreadable(directory, cause);
    if depth == 0 {
        return Err(refused(&"its tree is too deep"));
    }
    let entries = fs::read_dir(directory).map_err(|cause| refused(&cause))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(|cause| refused(&cause))?;
    paths.sort();
    for path in paths {
        let meta = fs::symlink_metadata(&path).map_err(|cause| unreadable(&path, &cause))?;
        let own = path.file_name().map_or(path.as_path(), Path::new);
        let name = format!("{name}/{}", text(own)?);
        if meta.is_dir() {
            collect(&path, &name, depth - 1, contents)?;
        } else if meta.is_file() {
            let name = checked_name("--send", &name)?;
            contents.push(local_file(&path, name, &meta)?);
        }
        if contents.len() > MAX_FILES {
            return Err(Failure::usage(
                format!("--send: more than {MAX_FILES} files"),
                "send an archive of them instead, from standard input",
            ));
        }
    }
    Ok(())
}

/// A file, when it can be read and has a size.
fn local_file(path: &Path, name: String, meta: &Metadata) -> Result<FileContent, Failure> {
    if !meta.is_file() {
        let why = "it is no regular file; send it with --send - from standard input";
        return Err(unreadable(path, &why));
    }
    File::open(path).map_err(|cause| unreadable(path, &cause))?;
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

/// A path as text, which messages carry.
fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        Failure::usage(
            format!("{} has a name that is not UTF-8", path.display()),
            "rename it, or give it a name with --to",
        )
    })
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

    fn names(contents: &[FileContent]) -> Vec<&str> {
        contents
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
        let found = local_contents(&tree, None).unwrap();
        assert_eq!(names(&found), ["tree/a", "tree/b", "tree/sub/c"]);
        let one = local_contents(&tree.join("a"), Some(Path::new("other/name"))).unwrap();
        assert_eq!(names(&one), ["other/name"]);
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
            let failure = local_contents(&path, None).unwrap_err();
            assert!(failure.message.contains(words), "{failure}");
            assert_eq!(failure.to_string().lines().count(), 1);
        }
        let empty = place.join("empty");
        fs::create_dir(&empty).unwrap();
        let failure = local_contents(&empty, None).unwrap_err();
        assert!(failure.message.contains("has no files"), "{failure}");
        assert!(local_contents(&empty, Some(Path::new("x"))).is_err());
        fs::remove_dir_all(place).unwrap();
    }
}
