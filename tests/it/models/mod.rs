//! Every privacy model on the whole way: declared, searched, measured, rendered and verified.

mod cases;
mod flags;
mod golden;
mod naive;
mod refused;
mod worked;
