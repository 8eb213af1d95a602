//! `caudal watch` as it runs: one test at a time, whichever is due first.

use super::alert::{AlertChange, AlertMargin, AlertRule, PathAlert};
use super::args::WatchArgs;
use super::budget::DailyBudget;
use super::hook::{HookFacts, run_hook};
use super::log::WatchLog;
use super::measurement::{WatchedEnding, measure};
use super::reading;
use super::schedule::WatchSchedule;
use super::watch_file::{WatchPlan, read_watch_file};
use super::watched::WatchedPath;
use crate::exit::{Exit, Failure};
use crate::metrics::MetricsServer;
use caudal_core::run::Run;
use caudal_core::units::ByteCount;
use caudal_report::stored_text::entry_result;
use caudal_store::{Filter, Store, StoreEntry, StoredDocument, StoredItem};
use caudal_sys::clock::realtime_ns;
use caudal_sys::host::hostname;
use caudal_sys::signal::Interrupt;
use caudal_views::watch::{PathMetrics, SkipReason, path_exposition};
use jiff::Zoned;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The longest sleep between two looks at a signal.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum number of the day's runs whose bytes are counted at the start.
const MAX_COUNTED: usize = 100_000;

/// Runs `caudal watch`.
///
/// # Errors
/// When something asked for is wrong, the store cannot be used, or the address of the metrics is taken.
pub fn watch(args: &WatchArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let plan = plan(args)?;
    let store = store_path(args)?;
    // Before anything is measured: a store that cannot be used costs no test.
    drop(Store::open(&store)?);
    let mut watch = Watch::new(args, plan, store, interrupt)?;
    let metrics = watch.serve_metrics()?;
    let at = metrics.as_ref().map(|server| server.local().to_string());
    watch.log.watching(watch.paths.len(), at.as_deref());
    watch.run()
}

/// What is watched: a file, or hosts with the tests of the flags.
fn plan(args: &WatchArgs) -> Result<WatchPlan, Failure> {
    let is_file = |what: &str| Path::new(what).extension().is_some_and(|end| end == "toml");
    let mut plan = match args.what.as_slice() {
        [file] if is_file(file) => read_watch_file(Path::new(file), args.every, args.jitter)?,
        what if what.iter().any(|what| is_file(what)) => {
            return Err(Failure::usage(
                "a file and something else to watch",
                "give one file, or hosts",
            ));
        }
        hosts => hosts_plan(args, hosts)?,
    };
    plan.quiet_hours.extend(&args.quiet_hours);
    plan.max_bytes = args.max_bytes.or(plan.max_bytes);
    Ok(plan)
}

fn hosts_plan(args: &WatchArgs, hosts: &[String]) -> Result<WatchPlan, Failure> {
    let mut paths: Vec<WatchedPath> = Vec::new();
    for host in hosts {
        for test in &args.test {
            let mut words: Vec<String> = test.split_whitespace().map(str::to_owned).collect();
            words.insert(words.len().min(1), host.clone());
            let mut path = WatchedPath::new(None, words, args.every, args.jitter)?;
            // Several tests of one host by one command are told apart by a number.
            let name = path.name.clone();
            let is_taken = |name: &str| paths.iter().any(|known| known.name == name);
            let mut numbered = (2..).map(|number| format!("{name}.{number}"));
            while is_taken(&path.name) {
                path.name = numbered.next().unwrap_or_default();
            }
            paths.push(path);
        }
    }
    Ok(WatchPlan {
        paths,
        ..WatchPlan::default()
    })
}

fn store_path(args: &WatchArgs) -> Result<PathBuf, Failure> {
    Store::locate(args.store.as_deref()).ok_or_else(|| {
        Failure::usage(
            "watch records its runs, and there is no store",
            "name one with --store FILE",
        )
    })
}

/// A path with what becomes of it.
struct PathState {
    path: WatchedPath,
    schedule: WatchSchedule,
    alert: PathAlert,
    /// The bytes of its last test, which the next is expected to move.
    last_bytes: u64,
    /// Tests carried out.
    count: u64,
}

struct Watch<'a> {
    args: &'a WatchArgs,
    paths: Vec<PathState>,
    metrics: Arc<Mutex<Vec<PathMetrics>>>,
    plan: WatchPlan,
    budget: DailyBudget,
    store: PathBuf,
    log: WatchLog,
    began: Instant,
    interrupt: &'static Interrupt,
}

impl<'a> Watch<'a> {
    fn new(
        args: &'a WatchArgs,
        plan: WatchPlan,
        store: PathBuf,
        interrupt: &'static Interrupt,
    ) -> Result<Self, Failure> {
        let source = hostname().unwrap_or_else(|| "this-host".to_owned());
        let paths: Vec<PathState> = plan
            .paths
            .iter()
            .map(|path| PathState {
                schedule: WatchSchedule::new(path.every, path.jitter),
                path: path.clone(),
                alert: PathAlert::default(),
                last_bytes: 0,
                count: 0,
            })
            .collect();
        let metrics = plan.paths.iter();
        let metrics = metrics.map(|path| PathMetrics::new(&source, &path.name, path.protocol()));
        let max = plan.max_bytes.map(ByteCount::get);
        let used = match max {
            Some(_) => used_today(&store, &plan.paths)?,
            None => 0,
        };
        Ok(Self {
            args,
            paths,
            metrics: Arc::new(Mutex::new(metrics.collect())),
            plan,
            budget: DailyBudget::new(max, Zoned::now().date(), used),
            store,
            log: WatchLog {
                is_json: args.json_log,
            },
            began: Instant::now(),
            interrupt,
        })
    }

    /// Begins to serve the last results: a scrape never begins a test.
    fn serve_metrics(&self) -> Result<Option<MetricsServer>, Failure> {
        let Some(address) = self.args.prometheus else {
            return Ok(None);
        };
        let metrics = Arc::clone(&self.metrics);
        let text = move || {
            let metrics = metrics.lock().unwrap_or_else(PoisonError::into_inner);
            path_exposition(&metrics)
        };
        let names = &self.args.prometheus_host;
        MetricsServer::start(address, &[], names, Box::new(text))
            .map(Some)
            .map_err(|cause| {
                Failure::new(
                    Exit::NotPermitted,
                    format!("cannot serve metrics on {address}: {cause}"),
                    "give --prometheus another port or address",
                )
            })
    }

    fn run(&mut self) -> Result<Exit, Failure> {
        let interrupts = self.interrupt.count();
        loop {
            let open = |state: &PathState| self.args.count.is_none_or(|max| state.count < max);
            let next = (0..self.paths.len())
                .filter(|&at| open(&self.paths[at]))
                .min_by_key(|&at| self.paths[at].schedule.due());
            let Some(next) = next else {
                return Ok(Exit::Done);
            };
            let due = self.paths[next].schedule.due();
            while self.began.elapsed() < due {
                if self.interrupt.count() > interrupts {
                    return Ok(Exit::Done);
                }
                thread::sleep(LOOK.min(due.saturating_sub(self.began.elapsed())));
            }
            if self.interrupt.count() > interrupts {
                return Ok(Exit::Done);
            }
            match self.reason_to_skip(next) {
                Some(reason) => self.skip(next, reason),
                None => {
                    if !self.test(next) {
                        return Ok(Exit::Done);
                    }
                    let is_raised = self.paths[next].alert.is_raised();
                    if is_raised && self.args.exit_on_alert {
                        return Ok(Exit::Unmet);
                    }
                }
            }
            let state = &mut self.paths[next];
            state.schedule.advance(self.began.elapsed(), chance());
        }
    }

    fn reason_to_skip(&mut self, at: usize) -> Option<SkipReason> {
        let now = Zoned::now();
        let is_quiet = self
            .plan
            .quiet_hours
            .iter()
            .any(|hours| hours.contain(now.time()));
        if is_quiet {
            return Some(SkipReason::QuietHours);
        }
        let fits = self.budget.allows(now.date(), self.paths[at].last_bytes);
        (!fits).then_some(SkipReason::Budget)
    }

    fn skip(&mut self, at: usize, reason: SkipReason) {
        self.with_metrics(at, |metrics| metrics.skip(reason));
        let why = match reason {
            SkipReason::QuietHours => "quiet hours",
            SkipReason::Budget => "the bytes of the day are used up (--max-bytes)",
        };
        self.log.skipped(&self.paths[at].path.name, why);
        // A path that is only ever left out ends with --count, too.
        self.paths[at].count += 1;
    }

    /// Carries out a test: `false` when the watch was interrupted.
    fn test(&mut self, at: usize) -> bool {
        let began_s = realtime_ns() as f64 / 1e9;
        let path = self.paths[at].path.clone();
        self.paths[at].count += 1;
        let failed = match measure(&path, &self.store, self.args.max_time, self.interrupt) {
            WatchedEnding::Interrupted => return false,
            WatchedEnding::Failed(why) => Some(why),
            // A store that cannot be used for a while costs its tests, not the watch.
            WatchedEnding::Done => match self.read_result(at, &path, began_s) {
                Ok(true) => None,
                Ok(false) => Some("its run was not recorded".to_owned()),
                Err(failure) => Some(failure.message),
            },
        };
        if let Some(why) = failed {
            self.with_metrics(at, |metrics| metrics.fail(began_s));
            self.log.failed(&path.name, &why);
        }
        true
    }

    /// Takes the result of a test from the store: `false` where it has none.
    fn read_result(
        &mut self,
        at: usize,
        path: &WatchedPath,
        began_s: f64,
    ) -> Result<bool, Failure> {
        let store = Store::open_to_read(&self.store)?;
        let Some((entry, run)) = newest(&store, &path.tag(), began_s)? else {
            return Ok(false);
        };
        self.take(at, &store, &entry, &run, began_s)?;
        Ok(true)
    }

    fn take(
        &mut self,
        at: usize,
        store: &Store,
        entry: &StoreEntry,
        run: &Run,
        began_s: f64,
    ) -> Result<(), Failure> {
        let series = store.series(&entry.id)?;
        self.with_metrics(at, |metrics| reading::take(metrics, run, &series, began_s));
        let bytes = reading::payload_bytes(run);
        self.paths[at].last_bytes = bytes;
        self.budget.spend(Zoned::now().date(), bytes);
        let path = self.paths[at].path.clone();
        self.log.tested(&path.name, &entry.id, &entry_result(entry));
        let rule = AlertRule {
            recent: usize::from(self.args.recent),
            baseline: usize::from(self.args.baseline),
        };
        let margin = AlertMargin {
            margin: self.args.margin,
            confidence: 0.95,
        };
        let change = self.paths[at]
            .alert
            .update(store, &path.tag(), rule, margin)?;
        let is_raised = self.paths[at].alert.is_raised();
        self.with_metrics(at, |metrics| metrics.has_alert = is_raised);
        let (what, message) = match change {
            AlertChange::Same => return Ok(()),
            AlertChange::Raised(how) => ("worse", how),
            AlertChange::Resolved => ("resolved", "no longer worse than before".to_owned()),
        };
        self.log.alert(&path.name, &entry.id, what, &message);
        if let Some(command) = &self.args.on_alert {
            let facts = HookFacts {
                alert: what,
                path: &path.name,
                run: &entry.id,
                message: &message,
            };
            if let Err(why) = run_hook(command, facts) {
                self.log.fault(&format!("--on-alert: {why}"));
            }
        }
        Ok(())
    }

    fn with_metrics(&self, at: usize, change: impl FnOnce(&mut PathMetrics)) {
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(metrics) = metrics.get_mut(at) {
            change(metrics);
        }
    }
}

/// The newest run with a tag, begun at this time or later.
fn newest(
    store: &Store,
    tag: &str,
    began_s: f64,
) -> Result<Option<(StoreEntry, Box<Run>)>, Failure> {
    let filter = Filter {
        tag: Some(tag.to_owned()),
        since_ns: Some((began_s * 1e9) as i64),
        limit: Some(1),
        ..Filter::default()
    };
    let Some(entry) = store.list(&filter)?.into_iter().next() else {
        return Ok(None);
    };
    match store.find(&entry.id)? {
        StoredItem::Run(stored) => match stored.document {
            StoredDocument::Run(run) => Ok(Some((entry, run))),
            _ => Ok(None),
        },
        StoredItem::Study(_) => Ok(None),
    }
}

/// The bytes that tests of these paths have moved today, as the store has them.
fn used_today(store: &Path, paths: &[WatchedPath]) -> Result<u64, Failure> {
    let store = Store::open_to_read(store)?;
    let midnight = Zoned::now().start_of_day().ok();
    let since =
        midnight.and_then(|midnight| i64::try_from(midnight.timestamp().as_nanosecond()).ok());
    let mut used = 0_u64;
    for path in paths {
        let filter = Filter {
            tag: Some(path.tag()),
            since_ns: since,
            limit: Some(MAX_COUNTED),
            ..Filter::default()
        };
        for entry in store.list(&filter)? {
            if let StoredItem::Run(stored) = store.find(&entry.id)?
                && let StoredDocument::Run(run) = &stored.document
            {
                used = used.saturating_add(reading::payload_bytes(run));
            }
        }
    }
    Ok(used)
}

/// A random number between 0 and 1.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without random numbers tests come at the beginning of their slots.
    if getrandom::fill(&mut bytes).is_err() {
        return 0.0;
    }
    f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX)
}
