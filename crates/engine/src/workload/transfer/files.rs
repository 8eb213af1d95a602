//! The files of both ends: what is sent, and where it is put.

use super::mover_thread::MoverTask;
use crate::options::TransferLocalOptions;
use caudal_core::plan::{Direction, TransferContent, TransferPlan, TransferSink};
use caudal_core::units::ByteCount;
use caudal_flow::{RunError, SessionLimits, TransferFileError};
use caudal_transfer::{ContentDestination, ContentToSend, stored_name};

/// The task of the client. The plan is the one that both ends hold.
///
/// # Errors
/// When its file cannot be read or stored, or is not the one of the plan.
pub(super) fn client_task(
    plan: &TransferPlan,
    files: &TransferLocalOptions,
) -> Result<MoverTask, TransferFileError> {
    match plan.direction {
        Direction::Up => {
            let content = match &files.content {
                Some(content) if content.content() == plan.content => {
                    Some(ContentToSend::Ready(content.clone()))
                }
                Some(_) => None,
                None => ContentToSend::generated(&plan.content, files.store.clone()),
            };
            content
                .map(MoverTask::Send)
                .ok_or(TransferFileError::NoContent)
        }
        Direction::Down => {
            if plan.sink == TransferSink::Discard {
                return Ok(MoverTask::Receive(ContentDestination::Discard));
            }
            let store = files.store.as_ref();
            let store = store.ok_or(TransferFileError::NoDirectory)?;
            let name = |name: &str| stored_name(name, files.store_as.as_deref()).to_owned();
            let resume = plan.resume_from.get() > 0;
            let destination = ContentDestination::of_plan(plan, store, name, resume)?;
            if destination.resume_from() != plan.resume_from.get() {
                return Err(TransferFileError::Changed {
                    name: "the partial file".to_owned(),
                });
            }
            Ok(MoverTask::Receive(destination))
        }
    }
}

/// The task of the server, which completes the plan: the changes, as text for the client.
///
/// # Errors
/// Why it refuses the plan.
pub(super) fn server_task(
    plan: &mut TransferPlan,
    files: &TransferLocalOptions,
    limits: &SessionLimits,
) -> Result<(MoverTask, Vec<String>), RunError> {
    let mut changed = Vec::new();
    let task = match plan.direction {
        Direction::Up => {
            check_size(plan, limits)?;
            MoverTask::Receive(destination(plan, files, &mut changed)?)
        }
        Direction::Down => {
            let content = content(plan, files, &mut changed)?;
            check_size(plan, limits)?;
            MoverTask::Send(content)
        }
    };
    plan.check()?;
    Ok((task, changed))
}

/// The content that the server sends.
fn content(
    plan: &mut TransferPlan,
    files: &TransferLocalOptions,
    changed: &mut Vec<String>,
) -> Result<ContentToSend, TransferFileError> {
    let asked = match &plan.content {
        TransferContent::File(asked) => asked,
        TransferContent::Archive(_) => return Err(TransferFileError::NoContent),
        // Nothing is written where no files are stored.
        TransferContent::Generated {
            from_file: true, ..
        } if files.store.is_none() => return Err(TransferFileError::StoresNone),
        content => {
            let generated = ContentToSend::generated(content, files.store.clone());
            return generated.ok_or(TransferFileError::NoContent);
        }
    };
    let served = files.served.as_ref();
    let file = served
        .ok_or(TransferFileError::ServesNone)?
        .file(&asked.name)?;
    let identity = file.identity();
    let is_same = (identity.bytes, identity.modified_ns) == (asked.bytes, asked.modified_ns);
    if plan.resume_from.get() > 0 && !is_same {
        plan.resume_from = ByteCount::new(0);
        changed.push("the file has changed: it is sent from its first byte on".to_owned());
    }
    plan.content = TransferContent::File(identity);
    Ok(ContentToSend::File(file))
}

/// Where the server puts what it receives.
fn destination(
    plan: &mut TransferPlan,
    files: &TransferLocalOptions,
    changed: &mut Vec<String>,
) -> Result<ContentDestination, TransferFileError> {
    plan.resume_from = ByteCount::new(0);
    if plan.sink == TransferSink::Discard {
        return Ok(ContentDestination::Discard);
    }
    let Some(store) = &files.store else {
        // What somebody sends to be kept is not thrown away with a note.
        if matches!(
            plan.content,
            TransferContent::File(_) | TransferContent::Archive(_)
        ) {
            return Err(TransferFileError::StoresNone);
        }
        plan.sink = TransferSink::Discard;
        changed.push(format!(
            "{}: what arrives is discarded",
            TransferFileError::StoresNone
        ));
        return Ok(ContentDestination::Discard);
    };
    let destination = ContentDestination::of_plan(plan, store, str::to_owned, plan.resume)?;
    plan.resume_from = ByteCount::new(destination.resume_from());
    Ok(destination)
}

fn check_size(plan: &TransferPlan, limits: &SessionLimits) -> Result<(), RunError> {
    match (plan.content.bytes(), limits.max_bytes) {
        (Some(bytes), Some(max)) if bytes > max => Err(RunError::LargeFile { bytes, max }),
        _ => Ok(()),
    }
}
