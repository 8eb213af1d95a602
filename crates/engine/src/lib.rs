//! Traffic: the threads and sockets that carry out a plan.
#![forbid(unsafe_code)]
