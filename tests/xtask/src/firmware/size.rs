//! How much flash and RAM a program takes, by its sections.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use object::{Object as _, ObjectSection as _, SectionFlags, SectionKind, elf::SHF_ALLOC};

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Code, constants, and what variables begin with.
    pub(crate) flash: u64,
    /// Variables, the heap among them, and code that runs from RAM; not the stack.
    pub(crate) ram: u64,
}

impl Size {
    /// Of an ELF file whose RAM begins and ends at these addresses.
    pub(crate) fn of(program: &Path, ram: &[(u64, u64)]) -> Result<Self> {
        let bytes = fs::read(program).with_context(|| program.display().to_string())?;
        let file = object::File::parse(&*bytes).with_context(|| program.display().to_string())?;
        let mut size = Self { flash: 0, ram: 0 };
        for section in file.sections() {
            let kept = matches!(section.flags(), SectionFlags::Elf { sh_flags } if sh_flags & u64::from(SHF_ALLOC) != 0);
            // Some sections only keep a place free in one of two views of the same memory.
            let apart = section.name().is_ok_and(|name| name == ".stack" || name.contains("dummy"));
            if !kept || apart {
                continue;
            }
            if section.kind() != SectionKind::UninitializedData {
                size.flash += section.size();
            }
            if ram.iter().any(|&(start, end)| (start..end).contains(&section.address())) {
                size.ram += section.size();
            }
        }
        Ok(size)
    }
}
