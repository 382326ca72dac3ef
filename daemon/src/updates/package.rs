//! A release in memory, for as long as a companion is offered it: verified once more when its file is read.

use std::ops::Range;

use gatepost_link::{
    frame::Part,
    update::{
        ImageId, Manifest, image_id,
        package::Package as Layout,
        root::{MAX_FILE_BYTES, RootFile},
    },
};

use super::roots::{Roots, RootsError};

/// A release whose signatures hold.
#[derive(Debug)]
pub struct Package {
    /// Its row.
    pub release: i64,
    /// The version of the root whose keys signed it.
    pub root: u32,
    /// What was signed.
    pub manifest: Manifest,
    roots: Vec<(u32, Vec<u8>)>,
    file: Vec<u8>,
    signed: Range<usize>,
    list: Range<usize>,
    image: Range<usize>,
}

impl Package {
    /// Reads a file that these roots must vouch for. `release`: its row.
    ///
    /// # Errors
    /// It is not a release, or not one that they vouch for.
    pub fn verified(file: Vec<u8>, known: &Roots, release: i64) -> Result<Self, RootsError> {
        let layout = Layout::read(&file)?;
        let judged = known.judge(&layout)?;
        let (root, manifest) = (judged.root.version(), *judged.verified.manifest());
        // What is not in the file, the hub may have from another one.
        let roots = layout.roots().chain(known.files()[1..].iter().cloned());
        let roots = roots.map(|root| (root.unverified().version(), to_bytes(&root))).collect();
        let (signed, list, image) = (layout.signed().len(), layout.list().len(), layout.image().len());
        // The image ends the file, and the list and the manifest stand before it.
        let end = file.len();
        let (image, list, signed) = (
            end - image..end,
            end - image - list..end - image,
            end - image - list - signed..end - image - list,
        );
        Ok(Self { release, root, manifest, roots, signed, list, image, file })
    }

    /// The file of the root of this version, if it came with the release or the hub knows it.
    pub fn root_file(&self, version: u32) -> Option<&[u8]> {
        let (_, bytes) = self.roots.iter().find(|(of, _)| *of == version)?;
        Some(bytes)
    }

    /// The manifest with its signatures, as it travels.
    pub fn signed(&self) -> &[u8] {
        &self.file[self.signed.clone()]
    }

    /// The name of its image in frames.
    pub fn image_id(&self) -> ImageId {
        image_id(&self.manifest.image)
    }

    /// Its image.
    pub fn image(&self) -> &[u8] {
        &self.file[self.image.clone()]
    }

    /// At most `length` bytes of a part from `offset` on; fewer at its end, and [`None`] behind it.
    pub fn block(&self, part: Part, offset: u32, length: usize) -> Option<&[u8]> {
        let part = match part {
            Part::List => &self.file[self.list.clone()],
            Part::Image => &self.file[self.image.clone()],
        };
        let rest = part.get(usize::try_from(offset).ok()?..)?;
        (!rest.is_empty()).then(|| &rest[..rest.len().min(length)])
    }
}

fn to_bytes(root: &RootFile) -> Vec<u8> {
    root.to_bytes(&mut [0; MAX_FILE_BYTES]).to_vec()
}
