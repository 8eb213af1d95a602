//! Values and arithmetic: units, plans, samples, statistics, predictions. Pure.
#![forbid(unsafe_code)]
