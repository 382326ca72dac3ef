//! Pictures: what a screen shows, and the golden images of what it should.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context as _, Result, ensure};

/// A picture in colour.
#[derive(PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    /// Red, green, blue.
    pixels: Vec<u8>,
}

/// Not its pixels.
impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({}×{})", self.width, self.height)
    }
}

impl Picture {
    /// Reads a PNG.
    ///
    /// # Errors
    /// The file system's, or it is none of three colours.
    pub fn read(file: &Path) -> Result<Self> {
        let mut decoder =
            png::Decoder::new(BufReader::new(File::open(file).with_context(|| file.display().to_string())?));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info()?;
        let mut pixels = vec![0; reader.output_buffer_size().context("too large")?];
        let info = reader.next_frame(&mut pixels)?;
        ensure!(info.color_type == png::ColorType::Rgb, "{}: {:?}", file.display(), info.color_type);
        pixels.truncate(info.buffer_size());
        Ok(Self { width: info.width, height: info.height, pixels })
    }

    /// The golden image of this name, 320×240.
    ///
    /// # Errors
    /// There is none.
    pub fn golden(name: &str) -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../firmware/core/tests/golden");
        Self::read(&folder.join(format!("{name}-320x240.png")))
    }
}
