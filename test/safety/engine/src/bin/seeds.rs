//! `seeds <folder>`: writes what the fuzzer begins with, a folder for each target.

use std::path::Path;
use std::{env, fs, io};
use varve_safety::fuzz::{TARGETS, seeds};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).ok_or_else(|| io::Error::other("name a folder"))?;
    for (name, _) in TARGETS {
        let corpus = Path::new(&folder).join(name);
        fs::create_dir_all(&corpus)?;
        for (number, bytes) in seeds(name).iter().enumerate() {
            fs::write(corpus.join(format!("seed-{number}")), bytes)?;
        }
    }
    Ok(())
}
