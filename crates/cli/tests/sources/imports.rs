//! The imports among the files of a crate: an edge from every file to those whose items it names.
//!
//! Names are followed through re-exports to the file that defines them. A parent that re-exports a name and holds code of its own is
//! imported with it; one that only declares and re-exports its children has no edges. The contents of macro calls are not looked into.

use super::crate_sources::{CrateSources, SourceFile};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

type ModulePath = Vec<String>;

/// A module: the file it is in, the items it defines and the names it imports.
struct Module {
    file: usize,
    items: BTreeSet<String>,
    imported: BTreeMap<String, ModulePath>,
    globs: Vec<ModulePath>,
}

/// The imports of a crate.
pub struct Imports<'a> {
    files: &'a [SourceFile],
    modules: BTreeMap<ModulePath, Module>,
    edges: Vec<BTreeSet<usize>>,
}

impl<'a> Imports<'a> {
    pub fn new(sources: &'a CrateSources) -> Self {
        let files = &sources.files;
        let mut modules = BTreeMap::new();
        for (file, source) in files.iter().enumerate() {
            add_module(&mut modules, file, source.module(), &source.items);
        }
        let mut imports = Self {
            files,
            edges: vec![BTreeSet::new(); files.len()],
            modules,
        };
        let names: BTreeSet<ModulePath> = imports.modules.keys().cloned().collect();
        for module in imports.modules.values_mut() {
            for path in module.imported.values_mut().chain(&mut module.globs) {
                resolve_start(path, &names);
            }
        }
        for (file, source) in files.iter().enumerate() {
            let module = source.module();
            imports.add_edges(file, &module, &source.items);
        }
        imports
    }

    /// A circle for each group of files that import one another: the paths of its files, the first once more at its end.
    pub fn circles(&self) -> Vec<Vec<&'a str>> {
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for file in 0..self.files.len() {
            if let Some(circle) = self.shortest_circle(file)
                && !circle.iter().any(|member| seen.contains(member))
            {
                seen.extend(circle.iter().copied());
                let paths = circle
                    .iter()
                    .map(|&member| self.files[member].path.as_str());
                circles.push(paths.collect());
            }
        }
        circles
    }

    fn shortest_circle(&self, start: usize) -> Option<Vec<usize>> {
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(file) = queue.pop_front() {
            for &next in &self.edges[file] {
                if next == start {
                    let mut circle = vec![start, file];
                    while let Some(&earlier) = before.get(circle.last()?) {
                        circle.push(earlier);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if let Entry::Vacant(unseen) = before.entry(next) {
                    unseen.insert(file);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    fn add_edges(&mut self, file: usize, module: &[String], items: &[Item]) {
        let mut named = NamedPaths::default();
        for item in items {
            match item {
                Item::Mod(inner) => {
                    if let Some((_, items)) = &inner.content {
                        let mut path = module.to_vec();
                        path.push(inner.ident.to_string());
                        self.add_edges(file, &path, items);
                    }
                }
                // A re-export is no use of what it names.
                Item::Use(item) if !matches!(item.vis, syn::Visibility::Inherited) => {}
                Item::Use(item) => named.paths.extend(use_paths(&item.tree)),
                other => named.visit_item(other),
            }
        }
        for path in named.paths {
            let mut targets = self.files_of(module, &path);
            targets.remove(&file);
            self.edges[file].extend(targets);
        }
    }

    /// The file that defines what `path`, as written in `module`, names, with those that re-export it and hold code; none for other
    /// crates and for whole modules.
    fn files_of(&self, module: &[String], path: &[String]) -> BTreeSet<usize> {
        let mut through = BTreeSet::new();
        let defines = self
            .absolute_path(module, path)
            .and_then(|path| self.resolve(&path, 0, &mut through));
        match defines {
            Some(file) => through.into_iter().chain([file]).collect(),
            None => BTreeSet::new(),
        }
    }

    fn absolute_path(&self, module: &[String], path: &[String]) -> Option<ModulePath> {
        if let Some(path) = absolute(module, path) {
            return Some(path);
        }
        // The first name is a child module, or was imported.
        let here = self.modules.get(module)?;
        let first = path.first()?;
        let mut child = module.to_vec();
        child.push(first.clone());
        let start = if self.modules.contains_key(&child) {
            child
        } else {
            here.imported.get(first)?.clone()
        };
        Some(start.into_iter().chain(path[1..].iter().cloned()).collect())
    }

    /// The file that defines what an absolute path names; those that re-export it and hold code are added to `through`.
    fn resolve(
        &self,
        path: &[String],
        depth: usize,
        through: &mut BTreeSet<usize>,
    ) -> Option<usize> {
        let length = (0..=path.len())
            .rev()
            .find(|&length| self.modules.contains_key(&path[..length]))?;
        let module = &self.modules[&path[..length]];
        let name = path.get(length)?;
        if module.items.contains(name) || depth > 8 {
            return Some(module.file);
        }
        if !module.items.is_empty() {
            through.insert(module.file);
        }
        if let Some(target) = module.imported.get(name) {
            let target: ModulePath = target.iter().chain(&path[length + 1..]).cloned().collect();
            // What cannot be followed any further belongs to another crate.
            return self.resolve(&target, depth + 1, through);
        }
        module.globs.iter().find_map(|glob| {
            let target: ModulePath = glob.iter().chain(&path[length..]).cloned().collect();
            self.resolve(&target, depth + 1, through)
        })
    }
}

/// The path from the root of the crate, where it is written as one from there, from this module or from its parent.
fn absolute(module: &[String], path: &[String]) -> Option<ModulePath> {
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module.split_last()?.1.to_vec(),
        _ => return None,
    };
    let mut rest = &path[1..];
    while rest.first().is_some_and(|name| name == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

fn add_module(
    modules: &mut BTreeMap<ModulePath, Module>,
    file: usize,
    path: ModulePath,
    items: &[Item],
) {
    let mut module = Module {
        file,
        items: BTreeSet::new(),
        imported: BTreeMap::new(),
        globs: Vec::new(),
    };
    let mut inner = Vec::new();
    for item in items {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Macro(syn::ItemMacro {
                ident: Some(name), ..
            }) => name,
            Item::Mod(item) => {
                if let Some((_, items)) = &item.content {
                    let mut path = path.clone();
                    path.push(item.ident.to_string());
                    inner.push((path, items));
                }
                continue;
            }
            Item::Use(item) => {
                add_imports(&mut module, &path, &item.tree);
                continue;
            }
            _ => continue,
        };
        module.items.insert(name.to_string());
    }
    modules.insert(path, module);
    for (path, items) in inner {
        add_module(modules, file, path, items);
    }
}

fn add_imports(module: &mut Module, here: &[String], tree: &UseTree) {
    let mut pending = vec![(Vec::new(), tree)];
    while let Some((mut prefix, tree)) = pending.pop() {
        let located = |path: &[String]| {
            absolute(here, path).unwrap_or_else(|| {
                // A child module, or another crate: told apart when all modules are known.
                here.iter()
                    .chain(["?".to_owned()].iter())
                    .chain(path)
                    .cloned()
                    .collect()
            })
        };
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                pending.push((prefix, &path.tree));
            }
            UseTree::Name(name) if name.ident == "self" => {
                if let Some(last) = prefix.last().cloned() {
                    module.imported.insert(last, located(&prefix));
                }
            }
            UseTree::Name(name) => {
                prefix.push(name.ident.to_string());
                module
                    .imported
                    .insert(name.ident.to_string(), located(&prefix));
            }
            UseTree::Rename(rename) => {
                prefix.push(rename.ident.to_string());
                module
                    .imported
                    .insert(rename.rename.to_string(), located(&prefix));
            }
            UseTree::Glob(_) => module.globs.push(located(&prefix)),
            UseTree::Group(group) => {
                pending.extend(group.items.iter().map(|tree| (prefix.clone(), tree)));
            }
        }
    }
}

/// Replaces the mark behind a module's own path by nothing where a child module follows, and the path by an empty crate name else.
fn resolve_start(path: &mut ModulePath, modules: &BTreeSet<ModulePath>) {
    let Some(mark) = path.iter().position(|name| name == "?") else {
        return;
    };
    path.remove(mark);
    let child = path.get(..=mark).unwrap_or(path);
    if !modules.contains(child) {
        *path = vec![String::new()];
    }
}

/// The paths of all items that a `use` names; of modules as well.
fn use_paths(tree: &UseTree) -> Vec<ModulePath> {
    match tree {
        UseTree::Path(path) => {
            let mut paths = use_paths(&path.tree);
            for below in &mut paths {
                below.insert(0, path.ident.to_string());
            }
            paths
        }
        UseTree::Name(name) if name.ident == "self" => vec![Vec::new()],
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(rename) => vec![vec![rename.ident.to_string()]],
        UseTree::Glob(_) => vec![Vec::new()],
        UseTree::Group(group) => group.items.iter().flat_map(use_paths).collect(),
    }
}

/// The paths of more than one name in code.
#[derive(Default)]
struct NamedPaths {
    paths: Vec<ModulePath>,
}

impl<'ast> Visit<'ast> for NamedPaths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 && path.leading_colon.is_none() {
            let names = path.segments.iter();
            self.paths
                .push(names.map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.paths.extend(use_paths(&item.tree));
    }
}
