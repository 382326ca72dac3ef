//! Companions as their owner has them listed.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{TestHub, client::text, eventually};

impl TestHub {
    /// The companion of this name, as `gatepost companion list` shows it.
    ///
    /// # Errors
    /// The hub refused, or there is none.
    pub fn listed(&self, name: &str) -> Result<Value> {
        let all = self.cli(&["companion", "list", "--json"])?.json()?;
        let found = all.as_array().context("a list")?.iter().find(|one| text(one, "name") == name);
        found.cloned().with_context(|| format!("{name} is not in {all}"))
    }

    /// The same once it is as wanted.
    ///
    /// # Errors
    /// It did not become so.
    pub fn listed_when(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(&format!("the list shows {name} so"), || Ok(Some(self.listed(name)?).filter(&wanted)))
    }

    /// The same once it is here and can be asked, or cannot.
    ///
    /// # Errors
    /// It did not become so.
    pub fn listed_as_able(&self, name: &str, able: bool) -> Result<Value> {
        self.listed_when(name, |one| one["online"] == true && one["able"] == able)
    }
}
