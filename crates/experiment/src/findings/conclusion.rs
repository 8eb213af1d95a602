//! Conclusions: the sentences that follow from the results.

use serde::{Deserialize, Serialize};

use super::lookup::StudyLookup;
use crate::expression::{EvaluationError, Expression, Template};

/// A sentence that follows from the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The question it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// The sentence.
    pub text: String,
}

/// Draws the conclusions; one whose condition cannot be evaluated is left out, unless it answers a question.
pub(super) fn draw_conclusions(study: &StudyLookup<'_>) -> Vec<Conclusion> {
    let lookup = study.outside_cases();
    let mut conclusions = Vec::new();
    for conclude in &study.campaign.experiment.conclude {
        let condition = conclude.condition.as_deref().map(Expression::condition);
        let holds = match condition {
            None => Ok(true),
            Some(Ok(condition)) => condition.holds(&lookup),
            Some(Err(_)) => continue,
        };
        let text = match holds {
            Ok(true) => Some(&conclude.say),
            Ok(false) => conclude.otherwise.as_ref(),
            // A question is answered, even if only with the reason why there is no answer.
            Err(EvaluationError(why)) => {
                if conclude.answers.is_some() {
                    conclusions.push(Conclusion {
                        answers: conclude.answers.clone(),
                        text: format!("This cannot be determined: {why}."),
                    });
                }
                continue;
            }
        };
        if let Some(Ok(template)) = text.map(|text| Template::parse(text)) {
            conclusions.push(Conclusion {
                answers: conclude.answers.clone(),
                text: template.fill(|expression| lookup.display(expression)),
            });
        }
    }
    conclusions
}
