//! A declaration made ready for use: attributes with compiled hierarchies.

use std::sync::Arc;

use crate::anonymize::hierarchy::Hierarchy;
use crate::declaration::{AttributeDeclaration, DatasetDeclaration, Role};
use crate::fault::Fault;

/// One attribute.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// As declared.
    pub declaration: AttributeDeclaration,
    /// Of quasi-identifying attributes always (two levels where none is declared); of others where declared.
    pub hierarchy: Option<Arc<Hierarchy>>,
}

/// The attributes of a dataset in declared order.
#[derive(Debug, Clone)]
pub struct Schema {
    attributes: Vec<Attribute>,
}

impl Schema {
    /// Compiles a declaration.
    ///
    /// # Errors
    /// Every fault of every hierarchy, with pointer, column, label and line.
    pub fn compile(declaration: &DatasetDeclaration) -> Result<Self, Vec<Fault>> {
        let mut attributes = Vec::with_capacity(declaration.attributes.len());
        let mut faults = Vec::new();
        for (position, attribute) in declaration.attributes.iter().enumerate() {
            let wanted = attribute.hierarchy.is_some() || attribute.role == Role::QuasiIdentifying;
            let hierarchy = match wanted.then(|| {
                Hierarchy::compile(attribute, &format!("/attributes/{position}/hierarchy"))
            }) {
                None => None,
                Some(Ok(hierarchy)) => Some(Arc::new(hierarchy)),
                Some(Err(found)) => {
                    faults.extend(found);
                    None
                }
            };
            attributes.push(Attribute {
                declaration: attribute.clone(),
                hierarchy,
            });
        }
        if faults.is_empty() {
            Ok(Self { attributes })
        } else {
            Err(faults)
        }
    }

    /// All attributes, in declared order.
    #[must_use]
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Position of an attribute by name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.attributes
            .iter()
            .position(|attribute| attribute.declaration.name == name)
    }

    /// Positions of the attributes of a role, in declared order.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = usize> {
        self.attributes
            .iter()
            .enumerate()
            .filter(move |(_, attribute)| attribute.declaration.role == role)
            .map(|(position, _)| position)
    }

    /// Positions of the quasi-identifiers: the order of every level vector.
    #[must_use]
    pub fn quasi_identifiers(&self) -> Vec<usize> {
        self.with_role(Role::QuasiIdentifying).collect()
    }

    /// Position of the subject column.
    #[must_use]
    pub fn subject(&self) -> Option<usize> {
        self.attributes
            .iter()
            .position(|attribute| attribute.declaration.subject)
    }

    /// Which columns an engine loads: every one that may be released.
    #[must_use]
    pub fn releasable(&self) -> Vec<bool> {
        self.attributes
            .iter()
            .map(|attribute| attribute.declaration.role != Role::Identifying)
            .collect()
    }

    /// Level count of each quasi-identifier, from the declaration.
    #[must_use]
    pub fn level_counts(&self) -> Vec<usize> {
        self.quasi_identifiers()
            .into_iter()
            .filter_map(|position| self.attributes[position].hierarchy.as_ref())
            .map(|hierarchy| hierarchy.levels())
            .collect()
    }
}
