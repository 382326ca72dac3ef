//! Pictures: what a screen shows, and the golden images of what it should.

use std::{convert::Infallible, fs::File, io::BufReader, ops::Range, path::Path};

use anyhow::{Context as _, Result, ensure};
use embedded_graphics_core::{
    Pixel,
    draw_target::DrawTarget,
    geometry::{OriginDimensions, Size},
    pixelcolor::{Rgb565, Rgb888, RgbColor as _},
};
use gatepost_companion::{Painter, Screen};

const WIDTH: usize = 320;
const HEIGHT: usize = 240;

/// A picture in colour.
#[derive(PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
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
        Ok(Self { width: info.width as usize, height: info.height as usize, pixels })
    }

    /// The golden image of this name, 320×240.
    ///
    /// # Errors
    /// There is none.
    pub fn golden(name: &str) -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../firmware/core/tests/golden");
        Self::read(&folder.join(format!("{name}-320x240.png")))
    }

    /// What a colour display of 320×240 should show.
    ///
    /// # Errors
    /// The screen is larger.
    pub fn of(screen: &Screen) -> Result<Self> {
        let mut picture = Self { width: WIDTH, height: HEIGHT, pixels: vec![0; 3 * WIDTH * HEIGHT] };
        Painter::new().paint(screen, &mut picture)?;
        Ok(picture)
    }

    /// How many lines of pixels it has.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The pixels of some of its lines.
    pub fn lines(&self, lines: Range<usize>) -> &[u8] {
        self.pixels.get(3 * self.width * lines.start..3 * self.width * lines.end).unwrap_or_default()
    }
}

impl OriginDimensions for Picture {
    fn size(&self) -> Size {
        Size::new(self.width as u32, self.height as u32)
    }
}

/// In the colours that a board's display has.
impl DrawTarget for Picture {
    type Color = Rgb565;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb565>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(point, colour) in pixels {
            let (Ok(x), Ok(y)) = (usize::try_from(point.x), usize::try_from(point.y)) else { continue };
            if x < self.width && y < self.height {
                let (at, colour) = (3 * (y * self.width + x), Rgb888::from(colour));
                self.pixels[at..at + 3].copy_from_slice(&[colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
    }
}
