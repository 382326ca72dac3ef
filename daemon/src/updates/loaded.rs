//! Releases in memory: read and verified when a companion is to have one, kept while a session serves it.

use std::{
    collections::HashMap,
    sync::{Arc, MutexGuard, PoisonError, Weak},
};

use super::{Updates, package::Package, roots::Roots, store::Release};

/// A release on its way into memory, where it stays while a session serves it.
pub(super) enum Loading {
    /// It is being read.
    Begun,
    /// It was read, and nobody has taken it yet.
    Ready(Arc<Package>),
    /// Sessions have it.
    Taken(Weak<Package>),
    /// It cannot be read, or is not what was added.
    Broken(String),
}

/// A release that sessions can be served, or will be.
pub(super) enum InMemory {
    /// It is being read, and [`Updates::changed`] says when that has ended.
    Soon,
    /// It is there.
    Ready(Arc<Package>),
}

impl Updates {
    /// A release in memory; [`None`] if it cannot be.
    pub(super) fn package(&self, release: &Release) -> Option<InMemory> {
        let mut packages = self.packages();
        match packages.get(&release.seq) {
            Some(Loading::Ready(package)) => {
                let package = Arc::clone(package);
                packages.insert(release.seq, Loading::Taken(Arc::downgrade(&package)));
                return Some(InMemory::Ready(package));
            }
            Some(Loading::Taken(package)) => {
                if let Some(package) = package.upgrade() {
                    return Some(InMemory::Ready(package));
                }
            }
            Some(Loading::Begun) => return Some(InMemory::Soon),
            Some(Loading::Broken(_)) => return None,
            None => {}
        }
        packages.insert(release.seq, Loading::Begun);
        drop(packages);
        let (updates, release) = (self.clone(), release.clone());
        // Hashing takes a while, and companions are served meanwhile.
        tokio::task::spawn_blocking(move || updates.load(&release));
        Some(InMemory::Soon)
    }

    fn load(&self, release: &Release) {
        loop {
            let roots = self.roots();
            let latest = roots.as_ref().ok().and_then(latest_of);
            let known = roots.map_err(|error| error.to_string());
            let loaded = known.and_then(|known| self.0.releases.load(release, known.as_ref()));
            let loading = match loaded {
                Ok(package) => Loading::Ready(Arc::new(package)),
                Err(why) => {
                    let (board, version) = (&release.board, release.version);
                    tracing::error!(board, %version, why, "a release cannot be offered: add it again (gatepost ota add)");
                    Loading::Broken(why)
                }
            };
            let mut packages = self.packages();
            // A root that came meanwhile may have replaced the one that signed it.
            if self.roots().ok().as_ref().and_then(latest_of) == latest {
                packages.insert(release.seq, loading);
                break;
            }
        }
        self.is_changed();
    }

    pub(super) fn packages(&self) -> MutexGuard<'_, HashMap<i64, Loading>> {
        self.0.packages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The version of the root by which releases are taken.
fn latest_of(roots: &Option<Roots>) -> Option<u32> {
    roots.as_ref().map(|roots| roots.latest().version())
}
