//! k-map, delta-presence and risks against attackers who know a population.

mod flags;
mod http;
mod naive;
mod worked;

use kindred::anonymize::table::Population;
use uuid::Uuid;

use crate::tables::Data;

/// The dataset that a population comes from.
pub(crate) const POPULATION: Uuid = Uuid::from_u128(7);

/// The table, compared with a population.
pub(crate) fn within(mut data: Data, population: Data) -> Data {
    let Data { schema, table, .. } = population;
    let population = Population::new(POPULATION, table, &schema, &data.schema);
    let population = population.expect("it covers the quasi-identifiers");
    data.table.populations.push(population);
    data
}
